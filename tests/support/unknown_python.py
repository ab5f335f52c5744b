"""A pytest plugin that makes numtape treat this Python as one with unknown internals.

``pytest -p unknown_python`` runs the tests as under a future version of Python.
"""

from numtape.core.cpython import frames, layout, version

version.VERSION = (3, 99)
frames.unsupported_reason.cache_clear()
assert frames.unsupported_reason()
assert layout.unsupported_reason()
