"""The public modules of numtape."""

import types

import numtape


def api_modules(module=numtape, path="numtape"):
    """The modules that users reach from numtape, by name."""
    yield path, module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numtape"):
            yield from api_modules(value, f"{path}.{name}")
