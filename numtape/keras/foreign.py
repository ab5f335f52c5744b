"""What Keras writes into configurations, and numtape does not: read, or refused by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.values.dtypes import repr_of

# Arguments that numtape's classes do not have, with the value that makes no difference.
_IDLE: dict[str, Any] = {
    "quantization_config": None,
    "gradient_accumulation_steps": None,
    "loss_scale_factor": None,
    "input_axes": None,
    "output_axes": None,
    "synchronized": False,
    "renorm": False,
    "renorm_clipping": None,
    "renorm_momentum": 0.99,
    "lora_rank": None,
    "lora_alpha": None,
    "gptq_unpacked_column_size": None,
    "build_config": None,
    "sparse": False,
    "ragged": False,
    "seed": None,
    "data_format": None,
    "use_gate": False,
    "flash_attention": None,
    "auto_scale_loss": True,
    "rms_scaling": False,
}


@contextmanager
def readable() -> Iterator[None]:
    """While it lasts, a configuration of another form than it should have is a ValueError."""
    try:
        yield
    except (KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"The config is cut or changed, or none that numtape or Keras wrote "
            f"({type(error).__name__}: {repr_of(error)})."
        ) from error


def own_arguments(kind: type, config: dict[str, Any]) -> dict[str, Any]:
    """A class's arguments, without what only Keras's have.

    Args:
      kind: The class.
      config: A configuration that numtape or Keras wrote.

    Raises:
      ValueError: If it asks for what numtape does not have.
    """
    if not isinstance(config, dict):
        raise ValueError(f"The config of {kind.__name__} is not a dict: {repr_of(config)}.")
    own_arguments = {name: _plain_dtype(x) if name == "dtype" else x for name, x in config.items()}
    if not kind.__module__.startswith("numtape."):
        return own_arguments
    accepted = _accepted_names(kind)
    for name in [name for name in own_arguments if name in _IDLE and name not in accepted]:
        if own_arguments[name] != _IDLE[name]:
            raise ValueError(
                f"{kind.__name__} has no argument {name}={own_arguments[name]!r} in numtape."
            )
        del own_arguments[name]
    return own_arguments


def _accepted_names(kind: type) -> set[str]:
    """The names of the parameters of a class, and of those that it passes on to."""
    names: set[str] = set()
    for one in kind.__mro__:
        if "__init__" in vars(one):
            parameters = inspect.signature(vars(one)["__init__"]).parameters
            names.update(parameters)
            if "kwargs" not in parameters:
                break
    return names


def _plain_dtype(dtype: Any) -> Any:
    """A policy of one dtype by its name."""
    if not isinstance(dtype, dict):
        return dtype
    config = dtype.get("config")
    name = config.get("name") if isinstance(config, dict) else None
    if dtype.get("class_name") != "DTypePolicy" or not isinstance(name, str):
        raise ValueError(f"A dtype is a name or a DTypePolicy, not {dtype.get('class_name')!r}.")
    if name.startswith("mixed_"):
        raise ValueError(
            f"The dtype policy {name!r}: numtape's layers compute in the dtype of their variables."
        )
    return name
