"""The core: log, ops, transposition, plan, executors. Knows nothing of the API modules."""

from .cpython.version import is_gil_enabled

if not is_gil_enabled():
    # Tables, logs and caches are right because a few bytecode instructions in a row are one step,
    # see native/README.md. The GIL stays on once it is on.
    raise ImportError(
        "numtape needs the global interpreter lock (GIL), which is off in this free-threaded build "
        "of Python: use an ordinary build, or turn it on with PYTHON_GIL=1 or -X gil=1."
    )

# Importing these two completes the core: operators of tensors, and evaluation of logs.
from . import bindings as bindings
from .log import evaluate as evaluate
