"""What `Checkpoint.restore` returns: whether everything was found."""

from __future__ import annotations

from typing import Any, NoReturn

from .parts import parts
from .restoring import Restoration


def _with_dots(key: str) -> str:
    return key.partition("/.ATTRIBUTES")[0].replace("/", ".")


class CheckpointLoadStatus:
    """How values were put back. Its methods check that, and return it.

    Args:
      restoration: The reads.
      checkpoint: The checkpoint that it is for.
    """

    def __init__(self, restoration: Restoration, checkpoint: Any) -> None:
        self._restoration, self._checkpoint = restoration, checkpoint

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Check that every value went into a variable, and every variable got one.

        Returns:
          The status.

        Raises:
          AssertionError: If not.
        """
        self._restoration.complete()
        for key in self._restoration.left:
            raise AssertionError(
                f"Unresolved object in checkpoint (root).{_with_dots(key)}: the program has no "
                f"variable for {key!r}"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Check that every variable of the program got a value.

        Returns:
          The status.

        Raises:
          AssertionError: If not.
        """
        self._restoration.complete()
        counter = getattr(self._checkpoint, "_save_counter", None)
        missing = [v for v in self._restoration.unmatched(self._checkpoint) if v is not counter]
        if missing:
            raise AssertionError(
                f"Found {len(missing)} Python objects that were not bound to checkpointed values, "
                f"likely due to changes in the Python program. Showing {min(10, len(missing))} of "
                f"{len(missing)} unmatched objects: {missing[:10]}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Check that something besides the root was found.

        Returns:
          The status.

        Raises:
          AssertionError: If not.
        """
        self._restoration.complete()
        own = parts(self._checkpoint)
        if not any(name in own for name in self._restoration.nodes[0]):
            raise AssertionError(
                f"Nothing to load. No parts of {self._checkpoint!r} are in "
                f"{self._restoration.where}."
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Say that it need not be complete: nothing is checked, here as everywhere.

        Returns:
          The status.
        """
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Nothing: it is done."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Nothing: it is done."""


class InitializationOnlyStatus:
    """What ``restore(None)`` returns: nothing was read."""

    def _refuse(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = _refuse

    def expect_partial(self) -> InitializationOnlyStatus:
        """Nothing is expected.

        Returns:
          The status.
        """
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Nothing: variables have values."""

    def run_restore_ops(self, session: Any = None) -> NoReturn:
        """Raise AssertionError: nothing was read."""
        self._refuse()
