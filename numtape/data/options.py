"""`Options` of a dataset. They are validated and merged; few of them change what numtape does."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self


class AutotuneAlgorithm(enum.Enum):
    """How TensorFlow tunes parallelism. numtape measures the time of elements instead.

    Example:
      >>> tf.data.experimental.AutotuneAlgorithm.HILL_CLIMB.value
      1
    """

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """How TensorFlow shards a dataset among workers. numtape shards with `distribute.shard`.

    Example:
      >>> tf.data.experimental.AutoShardPolicy.DATA.value
      2
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """TensorFlow's policy for datasets that depend on external state.

    Example:
      >>> tf.data.experimental.ExternalStatePolicy.IGNORE.value
      1
    """

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _OptionGroup:
    """Base class of options: attributes of fixed names and types; None is not set.

    Attributes:
      TYPES: The types of the attributes.
      DEFAULTS: The values of attributes that are not None until they are set.
    """

    TYPES: ClassVar[Mapping[str, type]] = {}
    DEFAULTS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        for name, kind in self.TYPES.items():
            is_group = issubclass(kind, _OptionGroup)
            vars(self)[name] = kind() if is_group else None

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name not in type(self).TYPES:
            return object.__getattribute__(self, name)
        value = vars(self)[name]
        return type(self).DEFAULTS.get(name) if value is None else value

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.TYPES.get(name)
        if kind is None:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        if vars(self).get("_is_frozen"):
            raise ValueError(
                "The options of a dataset cannot be changed: make new ones, and use `with_options`."
            )
        if kind is int and isinstance(value, bool):
            value = int(value)
        if value is not None and not isinstance(value, kind):
            raise TypeError(
                f'Property "{name}" must be of type {kind}, got: {value} (type: {type(value)})'
            )
        vars(self)[name] = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(vars(other)[name] == vars(self)[name] for name in self.TYPES)

    def __hash__(self) -> int:
        raise TypeError(f"{type(self).__name__} can change, and are not hashable.")

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self.TYPES})

    def _freeze(self) -> Self:
        """Forbid changes, and return the options."""
        vars(self)["_is_frozen"] = True
        for name, kind in self.TYPES.items():
            if issubclass(kind, _OptionGroup):
                vars(self)[name]._freeze()
        return self

    def _merge(self, other: Self) -> Self:
        """Return these options, overridden by those that are set in others."""
        result = type(self)()
        for name, kind in self.TYPES.items():
            value, override = vars(self)[name], vars(other)[name]
            if issubclass(kind, _OptionGroup):
                vars(result)[name] = value._merge(override)
            else:
                vars(result)[name] = value if override is None else override
        return result


class ThreadingOptions(_OptionGroup):
    """Options of threads: `private_threadpool_size` limits the threads of parallel maps.

    Example:
      >>> options = tf.data.Options()
      >>> options.threading.private_threadpool_size = 2
      >>> tf.data.Dataset.range(3).with_options(options).options().threading.private_threadpool_size
      2
    """

    TYPES: ClassVar[Mapping[str, type]] = {
        "max_intra_op_parallelism": int,
        "private_threadpool_size": int,
    }


class AutotuneOptions(_OptionGroup):
    """Options of TensorFlow's tuning, which have no effect in numtape.

    Example:
      >>> options = tf.data.Options()
      >>> options.autotune.enabled = False
      >>> options.autotune.enabled
      False
    """

    TYPES: ClassVar[Mapping[str, type]] = {
        "autotune_algorithm": AutotuneAlgorithm,
        "cpu_budget": int,
        "enabled": bool,
        "initial_parallelism": int,
        "min_parallelism": int,
        "ram_budget": int,
    }


class DistributeOptions(_OptionGroup):
    """Options of TensorFlow's sharding, which have no effect in numtape.

    Example:
      >>> tf.data.experimental.DistributeOptions().auto_shard_policy.name
      'AUTO'
    """

    TYPES: ClassVar[Mapping[str, type]] = {
        "auto_shard_policy": AutoShardPolicy,
        "num_devices": int,
    }
    DEFAULTS: ClassVar[Mapping[str, Any]] = {"auto_shard_policy": AutoShardPolicy.AUTO}


class OptimizationOptions(_OptionGroup):
    """Options of TensorFlow's rewriting of pipelines, which have no effect in numtape.

    Example:
      >>> options = tf.data.Options()
      >>> options.experimental_optimization.map_fusion = True
      >>> options.experimental_optimization.map_fusion
      True
    """

    TYPES: ClassVar[Mapping[str, type]] = dict.fromkeys(
        (
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
        ),
        bool,
    )


class ServiceOptions(_OptionGroup):
    """Options of TensorFlow's data service, which numtape does not have.

    Example:
      >>> tf.data.experimental.ServiceOptions().pinned is None
      True
    """

    TYPES: ClassVar[Mapping[str, type]] = {"pinned": bool}


class Options(_OptionGroup):
    """Options of a dataset; see `Dataset.with_options`.

    An attribute that is None is not set. `threading.private_threadpool_size` limits the threads of
    parallel maps. All other options are accepted for compatibility with TensorFlow: results never
    depend on threads, and nothing needs to be tuned.

    Example:
      >>> options = tf.data.Options()
      >>> options.deterministic = True
      >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
      True
    """

    TYPES: ClassVar[Mapping[str, type]] = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_threading": ThreadingOptions,
        "experimental_warm_start": bool,
        "framework_type": list,
        "threading": ThreadingOptions,
    }
    _ALIASES: ClassVar[Mapping[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(Options._ALIASES.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self._ALIASES.get(name, name), value)

    def merge(self, options: Options) -> Options:
        """Return these options, overridden by those that are set in others.

        Args:
          options: Other options.

        Returns:
          New `Options`.

        Example:
          >>> first, second = tf.data.Options(), tf.data.Options()
          >>> first.deterministic, second.autotune.enabled = True, False
          >>> merged = first.merge(second)
          >>> merged.deterministic, merged.autotune.enabled
          (True, False)
        """
        return self._merge(options)
