"""The results of all probes, and what is off because of them, for ``python -m numtape info``."""

from __future__ import annotations

from collections.abc import Callable

from . import classes, frames, layout, version
from .api import UnsupportedLayout

EXPECTED = "as expected"


def report() -> tuple[str, dict[str, str]]:
    """Return why nothing is probed, or "", and by probe `EXPECTED` or what is off and why."""
    reason = layout.unsupported_reason()

    def result(error: str, consequence: str) -> str:
        if error:
            return consequence if error == reason else f"{error}: {consequence}"
        return EXPECTED

    results = {
        name: result(reason or _error(probe), "ops are recorded and replayed by Python")
        for name, probe in layout.PROBES.items()
    }
    results["frames"] = result(frames.unsupported_reason(), "functions are not replayed")
    results["handlers"] = result(
        version.unknown_reason(), "tracebacks show numtape's own functions"
    )
    results["classes"] = result(
        reason or ("" if classes.has_class_versions() else "classes have no versions"),
        "guards compare the attributes of classes in Python",
    )
    results["buffers"] = result(
        reason or _error(classes.check_buffer_slot), "memoryview(tensor) is a TypeError"
    )
    return reason, results


def _error(probe: Callable[[], object]) -> str:
    try:
        probe()
    except UnsupportedLayout as error:
        return str(error)
    return ""
