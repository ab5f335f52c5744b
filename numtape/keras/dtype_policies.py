"""``tf.keras.dtype_policies``: the dtypes in which layers compute and store variables."""

from __future__ import annotations

import re
import typing as _typing
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from ..compat.names import getter as _getter
from ..core.log.as_tensor import as_tensor as _as_tensor
from ..core.ops.elementwise import cast as _cast
from ..core.values.dtypes import DType as _DType, as_dtype as _as_dtype, repr_of as _repr_of
from ..errors import UnimplementedError
from .registry import keras_dtype as _keras_dtype
from .settings import floatx as _floatx
from .symbolic import KerasTensor as _KerasTensor

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike

__all__ = [
    "AWQDTypePolicy",
    "DTypePolicy",
    "DTypePolicyMap",
    "FloatDTypePolicy",
    "GPTQDTypePolicy",
    "QuantizedDTypePolicy",
    "QuantizedFloat8DTypePolicy",
    "deserialize",
    "get",
    "serialize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
_QUANTIZED = ("int8_from", "float8_from", "int4", "ternary", "gptq", "awq")
_state: dict[str, DTypePolicy | None] = {"policy": None}


class DTypePolicy:
    """The dtypes of a layer: ``compute_dtype`` of activations, ``variable_dtype`` of variables.

    Args:
      name: The name of a dtype, for both; ``"mixed_float16"`` or ``"mixed_bfloat16"`` for
        activations in 16 bits and variables in float32; None for the global policy.

    Raises:
      TypeError: If the name is not a string.
      ValueError: If the name is unknown, or that of a quantized policy.

    Example:
      >>> policy = tf.keras.DTypePolicy("mixed_float16")
      >>> policy.compute_dtype, policy.variable_dtype
      ('float16', 'float32')
    """

    quantization_mode: str | None = None

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = global_policy().name
        if not isinstance(name, str):
            raise TypeError(
                f"'name' must be a string, such as 'mixed_float16'. Received: name={name} "
                f"(of type {type(name)})"
            )
        if name.startswith(_QUANTIZED):
            _refuse_quantized(name)
        compute_name = _MIXED.get(name)
        if compute_name is None:
            try:
                compute_name = variable_name = _keras_dtype(name).name
            except TypeError:
                raise ValueError(
                    f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid policies "
                    f"include 'mixed_float16', 'mixed_bfloat16', and the name of any float dtype "
                    f"such as 'float32'."
                ) from None
        else:
            variable_name = "float32"
        self._name = name
        self._nt_dtypes = _as_dtype(compute_name), _as_dtype(variable_name)

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype of inputs and outputs."""
        return self._nt_dtypes[0].name

    @property
    def variable_dtype(self) -> str:
        """The name of the dtype of variables."""
        return self._nt_dtypes[1].name

    def convert_input(self, x: Any, autocast: bool, dtype: DTypeLike) -> Any:
        """Convert an array to a tensor, and cast floats to a dtype.

        Args:
          x: A tensor, a symbolic tensor or an array; other values are returned unchanged.
          autocast: Whether to cast.
          dtype: The dtype.

        Returns:
          A tensor, a symbolic tensor, or ``x``.

        Example:
          >>> policy = tf.keras.DTypePolicy("float16")
          >>> policy.convert_input(np.ones(2), True, "float16").dtype
          tf.float16
        """
        if not isinstance(x, _KerasTensor):
            if not hasattr(x, "__array__"):
                return x
            x = _as_tensor(x)
        kind, is_float = _keras_dtype(dtype), _keras_dtype(x.dtype).is_floating
        if not autocast or not is_float or x.dtype == kind:
            return x
        return _KerasTensor(x.shape, kind) if isinstance(x, _KerasTensor) else _cast(x, kind)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict.
        """
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a policy from the result of `get_config`.

        Args:
          config: The arguments.

        Returns:
          A policy.
        """
        return cls(**config)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self._name}">'

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DTypePolicyMap):
            return self is other
        return isinstance(other, DTypePolicy) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self._name)


class FloatDTypePolicy(DTypePolicy):
    """The same as `DTypePolicy`.

    Args:
      name: The name of the policy; None for the global policy.

    Example:
      >>> tf.keras.FloatDTypePolicy("float16") == tf.keras.DTypePolicy("float16")
      True
    """


def _refuse_quantized(name: str) -> _typing.NoReturn:
    raise UnimplementedError(
        f"The policy {name!r} is quantized, and numtape has no quantized layers: use a "
        f"`DTypePolicy` such as 'mixed_bfloat16'."
    )


class _QuantizedPolicy(DTypePolicy):
    def __init__(self, mode: str, source_name: str | None = None, **kwargs: Any) -> None:
        _refuse_quantized(str(mode))


class QuantizedDTypePolicy(_QuantizedPolicy):
    """Refused: numtape has no quantized layers.

    Args:
      mode: The kind of quantization.
      source_name: The policy before quantization.
      **kwargs: Further arguments.

    Raises:
      UnimplementedError: Always. Use `DTypePolicy`.

    Example:
      >>> tf.keras.dtype_policies.QuantizedDTypePolicy("int8")
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: The policy 'int8' is quantized, and numtape has no
      quantized layers: use a `DTypePolicy` such as 'mixed_bfloat16'.
    """


class QuantizedFloat8DTypePolicy(_QuantizedPolicy):
    """Refused: numtape has no quantized layers.

    Args:
      mode: The kind of quantization.
      source_name: The policy before quantization.
      **kwargs: Further arguments.

    Raises:
      UnimplementedError: Always. Use `DTypePolicy`.

    Example:
      >>> tf.keras.dtype_policies.QuantizedFloat8DTypePolicy("float8")
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: The policy 'float8' is quantized, and numtape has no
      quantized layers: use a `DTypePolicy` such as 'mixed_bfloat16'.
    """


class GPTQDTypePolicy(_QuantizedPolicy):
    """Refused: numtape has no quantized layers.

    Args:
      mode: The kind of quantization.
      source_name: The policy before quantization.
      **kwargs: Further arguments.

    Raises:
      UnimplementedError: Always. Use `DTypePolicy`.

    Example:
      >>> tf.keras.dtype_policies.GPTQDTypePolicy("gptq/4/-1")
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: The policy 'gptq/4/-1' is quantized, and numtape has no
      quantized layers: use a `DTypePolicy` such as 'mixed_bfloat16'.
    """


class AWQDTypePolicy(_QuantizedPolicy):
    """Refused: numtape has no quantized layers.

    Args:
      mode: The kind of quantization.
      source_name: The policy before quantization.
      **kwargs: Further arguments.

    Raises:
      UnimplementedError: Always. Use `DTypePolicy`.

    Example:
      >>> tf.keras.dtype_policies.AWQDTypePolicy("awq/4/-1")
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: The policy 'awq/4/-1' is quantized, and numtape has no
      quantized layers: use a `DTypePolicy` such as 'mixed_bfloat16'.
    """


class DTypePolicyMap(DTypePolicy, MutableMapping[str, DTypePolicy]):
    """A dict of policies by the path of a layer, or by a regular expression for paths.

    Args:
      default_policy: The policy of other paths; None for the global policy.
      policy_map: A dict of policies.

    Raises:
      ValueError: If the default policy is a map.
      TypeError: If ``policy_map`` is not a dict.

    Example:
      >>> policies = tf.keras.dtype_policies.DTypePolicyMap("float32")
      >>> policies["encoder/.*"] = tf.keras.DTypePolicy("bfloat16")
      >>> policies["encoder/dense"].name, policies["head"].name
      ('bfloat16', 'float32')
    """

    def __init__(
        self,
        default_policy: str | DTypePolicy | None = None,
        policy_map: dict[str, DTypePolicy] | None = None,
    ) -> None:
        if isinstance(default_policy, DTypePolicyMap):
            raise ValueError("`default_policy` cannot be a `DTypePolicyMap`.")
        if policy_map is not None and not isinstance(policy_map, dict):
            raise TypeError(
                f"If specified, `policy_map` must be a dict. Received: policy_map={policy_map} "
                f"of type {type(policy_map)}"
            )
        self._nt_default_argument = default_policy
        self._nt_default = get(default_policy)
        self._nt_policies = dict(policy_map or {})
        self._nt_dtypes = self._nt_default._nt_dtypes
        self._name = f"map_{self._nt_default.name}"

    @property
    def default_policy(self) -> DTypePolicy:
        """The policy of paths without an entry."""
        return self._nt_default

    def __getitem__(self, key: str) -> DTypePolicy:
        if key in self._nt_policies:
            return self._nt_policies[key]
        patterns = [pattern for pattern in self._nt_policies if re.fullmatch(pattern, key)]
        if len(patterns) > 1:
            raise ValueError(
                f"Path '{key}' matches multiple dtype policy specification keys: "
                f"{', '.join(patterns)}. Please make sure each path only matches at most one "
                f"dtype policy specification key in the DTypePolicyMap."
            )
        return self._nt_policies[patterns[0]] if patterns else self._nt_default

    def __setitem__(self, key: str, policy: DTypePolicy) -> None:
        if key in self._nt_policies:
            raise ValueError(
                f"{key} already exist in the DTypePolicyMap with value "
                f"{self._nt_policies[key]}. Please make sure to not use duplicated keys."
            )
        try:
            self._nt_policies[key] = get(policy)
        except (TypeError, ValueError):
            raise ValueError(
                f"Cannot interpret the assigned value by `keras.dtype_policies.get`. Received: "
                f"{_repr_of(policy)}"
            ) from None

    def __delitem__(self, key: str) -> None:
        del self._nt_policies[key]

    def __contains__(self, key: object) -> bool:
        return key in self._nt_policies

    def __len__(self) -> int:
        return len(self._nt_policies)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nt_policies)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return (
            f"<DTypePolicyMap at {hex(id(self))} default_policy={self._nt_default} "
            f"mapping_policies={list(self._nt_policies.items())}>"
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of configs.
        """
        default = self._nt_default_argument
        return {
            "default_policy": serialize(default) if isinstance(default, DTypePolicy) else default,
            "policy_map": {key: serialize(policy) for key, policy in self._nt_policies.items()},
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a map from the result of `get_config`.

        Args:
          config: The configs.

        Returns:
          A map.
        """
        default = config["default_policy"]
        return cls(
            deserialize(default) if isinstance(default, dict) else default,
            {key: deserialize(policy) for key, policy in config["policy_map"].items()},
        )


def global_policy() -> DTypePolicy:
    """Return the policy of layers that are made without ``dtype``.

    Returns:
      A policy.

    Example:
      >>> tf.keras.mixed_precision.global_policy()
      <DTypePolicy "float32">
    """
    return _state["policy"] or DTypePolicy(_floatx())


def set_global_policy(policy: str | DTypePolicy) -> None:
    """Set the policy of layers that are made without ``dtype``.

    Args:
      policy: A policy or its name, such as ``"mixed_bfloat16"``.

    Raises:
      ValueError: If the name is unknown, or the policy is quantized.

    Example:
      >>> tf.keras.mixed_precision.set_global_policy("mixed_float16")
      >>> tf.keras.layers.Dense(2).compute_dtype
      'float16'
      >>> tf.keras.mixed_precision.set_global_policy("float32")
    """
    if not isinstance(policy, DTypePolicy):
        if not isinstance(policy, str):
            raise ValueError(
                f"Invalid `policy` argument. Expected the string name of a policy (such as "
                f"'mixed_float16') or a `DTypePolicy` instance. Received: policy={policy} (of "
                f"type {type(policy)})"
            )
        policy = get(policy)
    is_default = policy.name == "float32" == _floatx() and type(policy) is DTypePolicy
    _state["policy"] = None if is_default else policy


def serialize(dtype_policy: DTypePolicy) -> dict[str, Any]:
    """Return the config of a policy, as Keras writes it.

    Args:
      dtype_policy: A policy.

    Returns:
      A dict.

    Raises:
      TypeError: If it is not a policy.

    Example:
      >>> config = tf.keras.dtype_policies.serialize(tf.keras.DTypePolicy("float16"))
      >>> config["class_name"], config["config"]
      ('DTypePolicy', {'name': 'float16'})
    """
    if not isinstance(dtype_policy, DTypePolicy):
        raise TypeError(f"serialize() takes a DTypePolicy, got {_repr_of(dtype_policy)}.")
    is_map = isinstance(dtype_policy, DTypePolicyMap)
    return {
        "module": "keras.dtype_policies" if is_map else "keras",
        "class_name": type(dtype_policy).__name__,
        "config": dtype_policy.get_config(),
        "registered_name": None,
    }


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """Create a policy from the result of `serialize`.

    Args:
      config: The result of `serialize`.
      custom_objects: Custom classes, by name.

    Returns:
      A policy.

    Raises:
      ValueError: If the class is unknown, or the policy is quantized.

    Example:
      >>> policy = tf.keras.DTypePolicy("float16")
      >>> tf.keras.dtype_policies.deserialize(tf.keras.dtype_policies.serialize(policy))
      <DTypePolicy "float16">
    """
    name = config.get("class_name")
    cls = (custom_objects or {}).get(str(name)) or globals().get(str(name))
    if (name not in __all__ and cls is None) or not isinstance(cls, type):
        raise ValueError(
            f"Could not interpret the dtype policy {_repr_of(name)}: dtype must be a name or a "
            f"DTypePolicy."
        )
    arguments = config.get("config")
    if not isinstance(arguments, dict):
        raise ValueError(f"The config of {name} must be a dict, got {_repr_of(arguments)}.")
    return cls.from_config(arguments)  # type: ignore[attr-defined]


def get(identifier: str | DTypePolicy | dict[str, Any] | DTypeLike | None) -> DTypePolicy:
    """Return a policy.

    Args:
      identifier: A policy, a name, a config, or a dtype; None for the global policy.

    Returns:
      A policy.

    Raises:
      ValueError: If the identifier names no policy, or a quantized one.

    Example:
      >>> tf.keras.dtype_policies.get("mixed_bfloat16").compute_dtype
      'bfloat16'
    """
    if identifier is None:
        return global_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        policy: DTypePolicy = deserialize(identifier)
        return policy
    if isinstance(identifier, str):
        return DTypePolicy(identifier)
    try:
        dtype: _DType = _keras_dtype(identifier)
    except TypeError:
        raise ValueError(
            f"Cannot interpret `dtype` argument. Expected a string or an instance of DTypePolicy. "
            f"Received: dtype={_repr_of(identifier)}"
        ) from None
    return DTypePolicy(dtype.name)
