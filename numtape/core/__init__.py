"""The core: log, ops, transposition, plan, executors. Knows nothing of the API modules."""

from .cpython.version import is_gil_enabled, is_main_interpreter

if not is_gil_enabled():
    # Tables, logs and caches are right because a few bytecode instructions in a row are one step,
    # see native/README.md. The GIL stays on once it is on.
    raise ImportError(
        "numtape needs the global interpreter lock (GIL), which is off in this free-threaded build "
        "of Python: use an ordinary build, or turn it on with PYTHON_GIL=1 or -X gil=1."
    )

if not is_main_interpreter():
    # NumPy cannot be imported there either. Machine code refers to the objects of one interpreter.
    raise ImportError("numtape cannot be imported in a subinterpreter: use processes or threads.")

# Importing these two completes the core: operators of tensors, and evaluation of logs.
from . import bindings as bindings
from .log import evaluate as evaluate
