"""The core: log, ops, transposition, plan, executors. Knows nothing of the API modules."""

# Importing these two completes the core: operators of tensors, and evaluation of logs.
from . import bindings as bindings
from .log import evaluate as evaluate
