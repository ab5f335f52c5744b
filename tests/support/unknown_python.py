"""A plugin of pytest's: numtape takes this Python for one whose internals it does not know.

``pytest -p unknown_python`` runs the tests as they run under the next version of Python.
"""

from numtape.core.native import layout
from numtape.core.replay.observe import frames

frames.VERSIONS = layout.VERSIONS = ()
frames.unsupported_reason.cache_clear()
assert frames.unsupported_reason()
assert layout.unsupported_reason()
