"""Hints for keywords that NumPy, PyTorch and TensorFlow 1 spell differently.

The errors of functions that are wrapped in `suggest_keywords` name the right keyword, at the cost
of one more Python call. Reductions and similar functions take ``**wrong`` instead, which costs
less, and hide it from their signatures.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

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
    """Remove ``**wrong`` from a function's signature (a decorator)."""
    signature = inspect.signature(function)
    parameters = [x for x in signature.parameters.values() if x.kind is not x.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


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


def raise_unexpected_keyword(function: Callable[..., Any], wrong: Mapping[str, Any]) -> NoReturn:
    """Raise Python's error for an unexpected keyword argument, with a suggestion."""
    name = next(iter(wrong))
    suggestion = hint(name, inspect.signature(function).parameters)
    raise TypeError(
        f"{function.__name__}() got an unexpected keyword argument {name!r}{suggestion}"
    )


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
        except TypeError as error:
            if not is_argument_error(function, error):
                raise
            words = _drop_bound_argument(str(error)) if is_bound else str(error)
            parameters = [*inspect.signature(function).parameters][is_bound:]
            raise TypeError(
                explain_argument_error(words, display_name(args), kwargs, parameters)
            ) from None

    return call  # type: ignore[return-value]


def _drop_bound_argument(error: str) -> str:
    """Subtract the bound object from the argument counts in an error of Python."""
    function, takes, rest = error.partition("() takes ")
    fewer = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) - 1), rest)
    return function + takes + re.sub(r"\b1 positional arguments", "1 positional argument", fewer)


_REFUSAL = re.compile(r"[\w.<>]+\(\) (got (an unexpected|multiple)|missing|takes)")


def is_argument_error(function: Any, error: TypeError) -> bool:
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
