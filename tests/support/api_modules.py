"""The public modules of numtape."""

import types

import numtape


def api_modules(module=numtape, path="numtape"):
    """The public modules reachable from numtape, by name."""
    yield path, module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numtape"):
            yield from api_modules(value, f"{path}.{name}")
