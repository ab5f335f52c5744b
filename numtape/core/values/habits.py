"""Hints for attributes that NumPy and PyTorch have, but TensorFlow does not.

TensorFlow's tensors, variables, modules and optimizers do not have these attributes. Here reading
one raises an `AttributeError` that names the replacement. So ``hasattr`` is False, and libraries
that check for the attribute take another path.
"""

from __future__ import annotations

from typing import Any, NoReturn

_TAPE = "with tf.GradientTape() as tape: ..., then tape.gradient(loss, x)"
_SAME_DEVICE = "with tf.device('/GPU:0'): ..., or NUMTAPE_DEVICE"
_IN_PLACE = "only a tf.Variable changes: v.assign(value), v.assign_add(value)"

REPLACEMENTS = {
    # NumPy's.
    "T": "tf.transpose(x)",
    "mT": "tf.linalg.matrix_transpose(x)",
    "all": "tf.reduce_all(x)",
    "any": "tf.reduce_any(x)",
    "argmax": "tf.argmax(x, axis)",
    "argmin": "tf.argmin(x, axis)",
    "argsort": "tf.argsort(x)",
    "astype": "tf.cast(x, dtype)",
    "clip": "tf.clip_by_value(x, low, high)",
    "conj": "tf.math.conj(x)",
    "copy": "tf.identity(x)",
    "cumprod": "tf.math.cumprod(x)",
    "cumsum": "tf.cumsum(x)",
    "data": "x.numpy().data",
    "diagonal": "tf.linalg.diag_part(x)",
    "dot": "x @ y, or tf.tensordot(x, y, 1)",
    "fill": _IN_PLACE,
    "flat": "tf.reshape(x, [-1])",
    "flatten": "tf.reshape(x, [-1])",
    "imag": "tf.math.imag(x)",
    "item": "float(x), int(x) or x.numpy()",
    "max": "tf.reduce_max(x)",
    "mean": "tf.reduce_mean(x)",
    "min": "tf.reduce_min(x)",
    "nbytes": "x.numpy().nbytes",
    "nonzero": "tf.where(x)",
    "prod": "tf.reduce_prod(x)",
    "ravel": "tf.reshape(x, [-1])",
    "real": "tf.math.real(x)",
    "repeat": "tf.repeat(x, n)",
    "reshape": "tf.reshape(x, shape)",
    "round": "tf.round(x)",
    "size": "tf.size(x)",
    "sort": "tf.sort(x)",
    "squeeze": "tf.squeeze(x)",
    "std": "tf.math.reduce_std(x)",
    "sum": "tf.reduce_sum(x)",
    "swapaxes": "tf.transpose(x, perm)",
    "take": "tf.gather(x, i)",
    "tobytes": "x.numpy().tobytes()",
    "tolist": "x.numpy().tolist()",
    "trace": "tf.linalg.trace(x)",
    "transpose": "tf.transpose(x, perm)",
    "var": "tf.math.reduce_variance(x)",
    # PyTorch's.
    "abs": "tf.abs(x)",
    "add": "x + y",
    "add_": _IN_PLACE,
    "backward": _TAPE,
    "bmm": "tf.matmul(x, y)",
    "bool": "tf.cast(x, tf.bool)",
    "chunk": "tf.split(x, n)",
    "clamp": "tf.clip_by_value(x, low, high)",
    "clone": "tf.identity(x)",
    "contiguous": "x itself: values are laid out in order",
    "copy_": _IN_PLACE,
    "cos": "tf.cos(x)",
    "cuda": _SAME_DEVICE,
    "detach": "tf.stop_gradient(x)",
    "dim": "x.ndim",
    "div": "x / y",
    "double": "tf.cast(x, tf.float64)",
    "exp": "tf.exp(x)",
    "expand": "tf.broadcast_to(x, shape)",
    "fill_": _IN_PLACE,
    "float": "tf.cast(x, tf.float32)",
    "gather": "tf.gather(x, i)",
    "grad": _TAPE,
    "half": "tf.cast(x, tf.float16)",
    "index_select": "tf.gather(x, i, axis)",
    "int": "tf.cast(x, tf.int32)",
    "is_leaf": _TAPE,
    "log": "tf.math.log(x)",
    "log_softmax": "tf.nn.log_softmax(x)",
    "long": "tf.cast(x, tf.int64)",
    "masked_fill": "tf.where(mask, value, x)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "mul": "x * y",
    "mul_": _IN_PLACE,
    "mv": "tf.linalg.matvec(x, y)",
    "neg": "-x",
    "norm": "tf.norm(x)",
    "numel": "tf.size(x)",
    "permute": "tf.transpose(x, perm)",
    "pow": "x ** n",
    "relu": "tf.nn.relu(x)",
    "requires_grad": "tape.watch(x), or a tf.Variable",
    "requires_grad_": "tape.watch(x), or a tf.Variable",
    "retain_grad": _TAPE,
    "sigmoid": "tf.sigmoid(x)",
    "sin": "tf.sin(x)",
    "softmax": "tf.nn.softmax(x)",
    "split": "tf.split(x, n)",
    "sqrt": "tf.sqrt(x)",
    "sub": "x - y",
    "sub_": _IN_PLACE,
    "t": "tf.transpose(x)",
    "tanh": "tf.tanh(x)",
    "to": "tf.cast(x, dtype); " + _SAME_DEVICE,
    "topk": "tf.math.top_k(x, k)",
    "type": "x.dtype, or tf.cast(x, dtype)",
    "unbind": "tf.unstack(x)",
    "unsqueeze": "tf.expand_dims(x, axis)",
    "view": "tf.reshape(x, shape)",
    "zero_": _IN_PLACE,
}


def missing_attribute(name: str, message: str) -> property:
    """Return a property that raises an AttributeError with this message."""

    def refuse(self: Any) -> NoReturn:
        raise AttributeError(message)

    return property(refuse, doc=f"An AttributeError: tensors have no ``{name}``.")


def give_hints(kind: type, display_name: str, item_assignment: str) -> None:
    """Add a hint to a class for each NumPy and PyTorch attribute that it lacks.

    Args:
      kind: The class.
      display_name: The name of the class in errors.
      item_assignment: The replacement for ``x[i] = value``.
    """
    for name, instead in REPLACEMENTS.items():
        if not hasattr(kind, name):
            message = f"{display_name!r} object has no attribute {name!r}: write {instead}"
            setattr(kind, name, missing_attribute(name, message))

    def __setitem__(self: Any, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"{display_name!r} object does not support item assignment: write {item_assignment}"
        )

    def __delitem__(self: Any, key: Any) -> NoReturn:
        raise TypeError(f"{display_name!r} object doesn't support item deletion")

    for refuse in (__setitem__, __delitem__):
        setattr(kind, refuse.__name__, refuse)


class MissingAttribute:
    """A missing attribute, which objects may still set; reading it raises an error with a hint.

    Args:
      name: The attribute.
      message: The hint.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name, self.message = name, message

    def __get__(self, thing: Any, kind: type) -> NoReturn:
        name = repr(kind.__name__)
        display_name = f"type object {name}" if thing is None else f"{name} object"
        raise AttributeError(f"{display_name} has no attribute {self.name!r}: {self.message}")


def hint_missing_attributes(kind: type, replacements: dict[str, str], verb: str = "write ") -> None:
    """Add hints to a class for attributes that it and its bases lack."""
    for name, message in replacements.items():
        existing = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if existing is None or isinstance(existing, MissingAttribute):
            setattr(kind, name, MissingAttribute(name, verb + message))


# Attributes of PyTorch modules, and their replacements.
MODULE_REPLACEMENTS = {
    "children": "x.submodules, or x.layers of a model",
    "cpu": _SAME_DEVICE,
    "cuda": _SAME_DEVICE,
    "device": _SAME_DEVICE,
    "forward": "x(inputs), and call the method `__call__`",
    "load_state_dict": "tf.train.Checkpoint(model=x).restore(path)",
    "modules": "x.submodules",
    "named_parameters": "[(v.name, v) for v in x.trainable_variables]",
    "parameters": "x.trainable_variables",
    "register_buffer": "x.name = tf.Variable(value, trainable=False)",
    "register_parameter": "x.name = tf.Variable(value)",
    "requires_grad_": "tape.gradient(loss, variables), of those that are to be trained",
    "state_dict": "x.variables, or tf.train.Checkpoint(model=x).save(path)",
    "to": _SAME_DEVICE,
    "zero_grad": "nothing: every tape computes new gradients",
}
