"""Where a layer is: the names of the layers that it was built in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from ..core.log import ambient


class LayerPath:
    """The part of `Layer` that knows where it was built."""

    _nt_name: str
    _nt_path: str | None = None

    @property
    def path(self) -> str:
        """The names of the layers that it was built in, and its own: ``"sequential/dense"``."""
        return self._nt_path or self._nt_name

    def _nt_place(self) -> None:
        """Note the path, if that was not done before."""
        if self._nt_path is None:
            outer = ambient.enclosing_layer(self)
            self._nt_path = self._nt_name if outer is None else f"{outer.path}/{self._nt_name}"

    def _nt_inside(self, make: Callable[..., Any], *arguments: Any, **kwargs: Any) -> Any:
        """What a function makes: layers that are built meanwhile are built in this one."""
        self._nt_place()
        return ambient.call_within(
            self, ambient.current_training(), partial(make, *arguments, **kwargs)
        )


def mark_built(build: Callable[..., Any]) -> Callable[..., Any]:
    """``build`` that notes when it is done: the first call does not make the variables again."""

    @wraps(build)
    def building(self: Any, *args: Any, **kwargs: Any) -> None:
        self._nt_check_begun()
        variables = self._nt_trained, self._nt_fixed
        try:
            self._nt_inside(build, self, *args, **kwargs)
        except BaseException:
            self._nt_trained, self._nt_fixed = variables
            raise
        if type(self).build is building:  # else a subclass is not done yet
            self.built = True

    return building
