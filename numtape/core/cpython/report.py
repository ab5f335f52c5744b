"""The results of all probes, and what is off because of them, for ``python -m numtape info``."""

from __future__ import annotations

from collections.abc import Callable

from . import frames, layout, types, version
from .api import UnsupportedLayout

EXPECTED = "as expected"


def report() -> dict[str, str]:
    """Return by probe `EXPECTED`, or why it failed and what is off."""
    reason = layout.unsupported_reason()
    results = {
        name: _result(reason or _error(probe), "ops are recorded and replayed by Python")
        for name, probe in layout.PROBES.items()
    }
    results["frames"] = _result(frames.unsupported_reason(), "functions are not replayed")
    results["handlers"] = _result(
        version.unknown_reason(), "tracebacks show numtape's own functions"
    )
    results["classes"] = _result(
        reason or ("" if types.has_class_versions() else "classes have no versions"),
        "guards compare the attributes of classes in Python",
    )
    results["buffers"] = _result(
        reason or _error(types.check_buffer_slot), "memoryview(tensor) is a TypeError"
    )
    return results


def _result(error: str, consequence: str) -> str:
    return f"{error}: {consequence}" if error else EXPECTED


def _error(probe: Callable[[], object]) -> str:
    try:
        probe()
    except UnsupportedLayout as error:
        return str(error)
    return ""
