"""Keywords as NumPy, PyTorch and TensorFlow 1 spell them: an error names the right one.

Functions that are wrapped in `suggest_keywords` cost a call of Python more. Reductions and the like have
``**wrong`` instead, which costs less, and do not show it in their signatures.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# What others call an argument, and what it may be called here.
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
    "size": "shape num_or_size_splits",
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


def hide_wrong_keywords(function: Function) -> Function:
    """A decorator that takes ``**wrong`` out of a function's signature."""
    signature = inspect.signature(function)
    parameters = [x for x in signature.parameters.values() if x.kind is not x.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def hint(name: str, parameters: Iterable[str]) -> str:
    """What to write instead of a keyword, for the end of an error; empty if nothing is near."""
    parameter_names = [*parameters]
    for candidate in SPELLINGS.get(name, "").split():
        if candidate in parameter_names:
            return f": write {candidate}="
    close_matches = difflib.get_close_matches(name, parameter_names, 1) or [
        x for x in parameter_names if len(name) > 2 and (name in x or name.startswith(x + "_"))
    ]
    return f": did you mean {close_matches[0]}=?" if close_matches else ""


def raise_unexpected_keyword(function: Callable[..., Any], wrong: Mapping[str, Any]) -> NoReturn:
    """Refuse keywords that a function does not have, in Python's words, with what it has."""
    name = next(iter(wrong))
    suggestion = hint(name, inspect.signature(function).parameters)
    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{suggestion}")


def suggest_keywords(function: Function) -> Function:
    """A decorator: where Python refuses arguments, the error says which keyword was meant."""
    return name_in_errors(function, lambda args: function.__name__.rstrip("_"))


def name_in_errors(function: Function, display_name: Callable[[Any], str], is_bound: bool = False) -> Function:
    """A function whose errors about refused arguments say what was called, and what was meant.

    Args:
      function: A function; what is given back calls it.
      shown: What the program called, from the arguments.
      bound: Whether the first argument is an object that programs do not write as one.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if not is_argument_error(function, error):
                raise
            words = _drop_bound_argument(str(error)) if is_bound else str(error)
            parameters = [*inspect.signature(function).parameters][is_bound:]
            raise TypeError(explain_argument_error(words, display_name(args), kwargs, parameters)) from None

    return call  # type: ignore[return-value]


def _drop_bound_argument(error: str) -> str:
    """Python's numbers of arguments, without the object."""
    function, takes, rest = error.partition("() takes ")
    fewer = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) - 1), rest)
    return function + takes + re.sub(r"\b1 positional arguments", "1 positional argument", fewer)


_REFUSAL = re.compile(r"[\w.<>]+\(\) (got (an unexpected|multiple)|missing|takes)")


def is_argument_error(function: Any, error: TypeError) -> bool:
    """Whether Python refused a function's arguments, before it began. Its caller asks."""
    assert error.__traceback__ is not None
    tb = error.__traceback__.tb_next
    if tb is not None and hasattr(function, "__wrapped__"):  # a wrapper passed them on
        tb = tb.tb_next if tb.tb_frame.f_code is function.__code__ else tb
    # Without frames of ours an error of another function's arguments looks the same: so its name.
    is_named = str(error).startswith(f"{inspect.unwrap(function).__qualname__}() ")
    return tb is None and is_named and _REFUSAL.match(str(error)) is not None


def explain_argument_error(error: str, display_name: str, keywords: Iterable[str], parameters: Iterable[str]) -> str:
    """Python's words about refused arguments, with what the program called, and what it meant.

    Args:
      error: Python's words.
      shown: What the program called.
      given: The keywords of the call.
      parameters: Those that there are.
    """
    parameter_names = [*parameters]
    _, _, rest = error.partition("() ")
    wrong = next((name for name in keywords if name not in parameter_names), None)
    suggestion = hint(wrong, parameter_names) if wrong is not None else ""
    if suggestion:  # Python 3.13 guesses as well
        rest = rest.partition(". Did you mean ")[0]
    if suggestion and f"'{wrong}'" not in rest:
        return f"{display_name}() got an unexpected keyword argument '{wrong}'{suggestion}"
    return f"{display_name}() {rest}{suggestion}"
