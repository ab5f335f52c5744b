"""The core: log, ops, transposition, plan, executors. Knows nothing of the API modules."""

# These two complete classes of the core: the operators of tensors, and how logs are evaluated.
from . import bindings as bindings
from .log import evaluate as evaluate
