"""Hints for attributes and keywords that NumPy, PyTorch and TensorFlow 1 spell differently.

The errors of functions that are wrapped in `suggest_keywords` name the right keyword, at the cost
of one more Python call. These functions also take composite values, see `composite`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from .composite import recover

Function = TypeVar("Function", bound=Callable[..., Any])

# Keywords of other libraries, and what they may be called here.
SPELLINGS = {
    "a_max": "clip_value_max",
    "a_min": "clip_value_min",
    "axes": "axis perm",
    "bias": "use_bias",
    "condition": "pred",
    "dim": "axis",
    "dimension": "axis",
    "dims": "axis perm shape",
    "end": "limit stop",
    "fill_value": "value",
    "high": "maxval",
    "in_features": "units",
    "keep_dims": "keepdims",
    "keepdim": "keepdims",
    "loc": "mean",
    "low": "minval",
    "lr": "learning_rate",
    "max": "maxval clip_value_max maxlen",
    "min": "minval clip_value_min",
    "nb_epoch": "epochs",
    "newshape": "shape",
    "num_classes": "depth",
    "num_filters": "filters",
    "out_channels": "filters",
    "out_features": "units",
    "output_dim": "units",
    "output_shape": "shape target_shape",
    "p": "rate ord",
    "pad": "paddings padding",
    "pad_width": "paddings",
    "permute": "perm",
    "predictions": "y_pred logits",
    "prob": "rate",
    "reduction_indices": "axis",
    "reps": "multiples",
    "scale": "stddev",
    "sections": "num_or_size_splits",
    "seed_value": "seed",
    "shifts": "shift",
    "sigma": "stddev",
    "start_dim": "axis",
    "std": "stddev",
    "step": "delta",
    "steps": "num",
    "stop": "limit",
    "stride": "strides",
    "targets": "labels y_true y",
    "type": "dtype",
    "units": "filters",
    "y_hat": "y_pred",
}


def hint(name: str, parameters: Iterable[str]) -> str:
    """Return the end of an error message that names a similar keyword, if there is one."""
    parameter_names = [*parameters]
    for candidate in SPELLINGS.get(name, "").split():
        if candidate in parameter_names:
            return f": write {candidate}="
    close_matches = difflib.get_close_matches(name, parameter_names, 1) or [
        x for x in parameter_names if len(name) > 2 and (name in x or name.startswith(x + "_"))
    ]
    return f": did you mean {close_matches[0]}=?" if close_matches else ""


def suggest_keywords(function: Function) -> Function:
    """Extend Python's errors about arguments by a suggested keyword (a decorator)."""
    return name_in_errors(function, lambda args: function.__name__.rstrip("_"))


def name_in_errors(
    function: Function, display_name: Callable[[Any], str], is_bound: bool = False
) -> Function:
    """Wrap a function so that errors about its arguments use its public name and hint at keywords.

    Args:
      function: The function to wrap.
      display_name: Returns the public name of the function from the arguments.
      is_bound: Whether the first argument is an object that callers do not pass themselves.

    Returns:
      The wrapped function.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if not (isinstance(error, TypeError) and is_argument_error(function, error)):
                return recover(function, *args, **kwargs)
            words = _drop_bound_argument(str(error)) if is_bound else str(error)
            parameters = [*inspect.signature(function).parameters][is_bound:]
            raise TypeError(
                explain_argument_error(words, display_name(args), kwargs, parameters)
            ) from None

    # `tf.function` binds arguments to the wrapper's own signature.
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _drop_bound_argument(error: str) -> str:
    """Subtract the bound object from the argument counts in an error of Python."""
    function, takes, rest = error.partition("() takes ")
    fewer = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) - 1), rest)
    return function + takes + re.sub(r"\b1 positional arguments", "1 positional argument", fewer)


_REFUSAL = re.compile(r"[\w.<>]+\(\) (got (an unexpected|multiple)|missing|takes)")


def is_argument_error(function: Callable[..., Any], error: TypeError) -> bool:
    """Return whether Python rejected a call's arguments. Only the function's caller may ask."""
    assert error.__traceback__ is not None
    tb = error.__traceback__.tb_next
    if tb is not None and hasattr(function, "__wrapped__"):  # a wrapper passed them on
        tb = tb.tb_next if tb.tb_frame.f_code is function.__code__ else tb
    # Errors about the arguments of other functions look the same, so the name is compared as well.
    is_named = str(error).startswith(f"{inspect.unwrap(function).__qualname__}() ")
    return tb is None and is_named and _REFUSAL.match(str(error)) is not None


def explain_argument_error(
    error: str, display_name: str, keywords: Iterable[str], parameters: Iterable[str]
) -> str:
    """Return Python's error about arguments with the public name and a suggested keyword.

    Args:
      error: The message of Python's error.
      display_name: The public name of the function.
      keywords: The keywords of the call.
      parameters: The names of the parameters.
    """
    parameter_names = [*parameters]
    _, _, rest = error.partition("() ")
    wrong = next((name for name in keywords if name not in parameter_names), None)
    suggestion = hint(wrong, parameter_names) if wrong is not None else ""
    if suggestion:  # Python 3.13 makes its own suggestion
        rest = rest.partition(". Did you mean ")[0]
    if suggestion and f"'{wrong}'" not in rest:
        return f"{display_name}() got an unexpected keyword argument '{wrong}'{suggestion}"
    return f"{display_name}() {rest}{suggestion}"


_TAPE = "with tf.GradientTape() as tape: ..., then tape.gradient(loss, x)"
_SAME_DEVICE = "with tf.device('/GPU:0'): ..., or NUMTAPE_DEVICE"
_IN_PLACE = "only a tf.Variable changes: v.assign(value), v.assign_add(value)"

REPLACEMENTS = {
    # NumPy's.
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
    "index_add_": "tf.tensor_scatter_nd_add(x, [[i]], [value]), or v.scatter_add of a tf.Variable",
    "grad_fn": _TAPE,
    "is_cuda": "x.device",
    "register_hook": "tf.custom_gradient",
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
    # JAX's.
    "at": "tf.tensor_scatter_nd_update(x, [[i]], [value]), or ..._add; of a tf.Variable: "
    "v[i].assign(value)",
    "addressable_data": "x.numpy()",
    "block_until_ready": "x.numpy(), which computes the value",
    "devices": "x.device",
    "weak_type": "x.dtype",
}


def list_working_attributes(instance: object) -> list[str]:
    """Return the names for ``dir(instance)``, without those that only raise an error with a hint.

    An attribute is left out if its class gives it a `MissingAttribute`, or a property or method
    that returns `NoReturn`; those in `CONDITIONAL` if this instance lacks them.
    """
    own = getattr(instance, "__dict__", {})
    return [
        name for name in object.__dir__(instance) if name in own or not _only_raises(instance, name)
    ]


# Properties that only some instances have: matrices, slices of a variable, layers and models that
# were called on symbolic tensors.
CONDITIONAL = (
    *("T", "mT", "assign"),
    *("input", "input_shape", "inputs", "output", "output_shape", "outputs"),
)


def _only_raises(instance: object, name: str) -> bool:
    if name.startswith("__"):
        return False
    if name in CONDITIONAL:
        return not hasattr(instance, name)
    kind = type(instance)
    attribute = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    function = attribute.fget if isinstance(attribute, property) else attribute
    annotations = getattr(function, "__annotations__", {}) if inspect.isfunction(function) else {}
    return isinstance(attribute, MissingAttribute) or annotations.get("return") == "NoReturn"


def missing_attribute(name: str, message: str) -> property:
    """Return a property that raises an AttributeError with this message."""

    def refuse(self: object) -> NoReturn:
        raise AttributeError(message)

    return property(refuse, doc=f"An AttributeError: tensors have no ``{name}``.")


def give_hints(cls: type, display_name: str, item_assignment: str) -> None:
    """Add a hint to a class for each NumPy and PyTorch attribute that it lacks.

    Args:
      cls: The class.
      display_name: The name of the class in errors.
      item_assignment: The replacement for ``x[i] = value``.
    """
    for name, instead in REPLACEMENTS.items():
        if not hasattr(cls, name):
            message = f"{display_name!r} object has no attribute {name!r}: write {instead}"
            setattr(cls, name, missing_attribute(name, message))

    def __setitem__(self: object, key: object, value: object) -> NoReturn:
        raise TypeError(
            f"{display_name!r} object does not support item assignment: write {item_assignment}"
        )

    def __delitem__(self: object, key: object) -> NoReturn:
        raise TypeError(f"{display_name!r} object doesn't support item deletion")

    for function in (__setitem__, __delitem__):
        setattr(cls, function.__name__, function)
    cls.__dir__ = list_working_attributes  # type: ignore[method-assign, assignment]


class MissingAttribute:
    """A missing attribute, which objects may still set; reading it raises an error with a hint.

    Args:
      name: The attribute.
      message: The hint.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name, self.message = name, message

    def __get__(self, thing: object, cls: type) -> NoReturn:
        name = repr(cls.__name__)
        display_name = f"type object {name}" if thing is None else f"{name} object"
        raise AttributeError(f"{display_name} has no attribute {self.name!r}: {self.message}")


def hint_missing_attributes(cls: type, replacements: dict[str, str], verb: str = "write ") -> None:
    """Add hints to a class for attributes that it and its bases lack."""
    for name, message in replacements.items():
        existing = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        if existing is None or isinstance(existing, MissingAttribute):
            setattr(cls, name, MissingAttribute(name, verb + message))
    if "__dir__" not in vars(cls):
        cls.__dir__ = list_working_attributes  # type: ignore[method-assign, assignment]


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
