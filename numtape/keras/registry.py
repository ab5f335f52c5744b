"""Objects by name or configuration, and descriptions of arguments that docstrings share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from ..compat.docstrings import Decorated as Decorated, describe as describe
from ..core.values.arguments import inspect_signature
from ..core.values.dtypes import DType, as_dtype, repr_of
from ..module import snake_case
from .settings import floatx

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike
    from .annotations import Config, Configurable


_OBJECTS: dict[str, Any] = {}
_NAMES: dict[Any, str] = {}


def get_custom_objects() -> dict[str, Any]:
    """Return the dict of custom classes and functions, to which configurations may refer.

    Returns:
      A dict, which may be modified.

    Example:
      >>> tf.keras.utils.get_custom_objects()["scaled"] = lambda x: 2.0 * x
      >>> "scaled" in tf.keras.utils.get_custom_objects()
      True
      >>> del tf.keras.utils.get_custom_objects()["scaled"]
    """
    return _OBJECTS


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that registers a class or function, so that configurations may name it.

    Args:
      package: The prefix of the registered name.
      name: The registered name; None for the object's name.

    Returns:
      A decorator.

    Raises:
      ValueError: If a class has no method ``get_config``.

    Example:
      >>> @tf.keras.utils.register_keras_serializable("mine")
      ... class Error(tf.keras.losses.Loss):
      ...     pass
      >>> tf.keras.utils.get_registered_name(Error)
      'mine>Error'
    """

    def register(obj: Decorated) -> Decorated:
        if inspect.isclass(obj) and not hasattr(obj, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        full = f"{package}>{name or obj.__name__}"
        _OBJECTS[full] = obj
        _NAMES[obj] = full
        return obj

    return register


def get_registered_name(obj: Callable[..., Any]) -> str:
    """Return the registered name of a class or function.

    Args:
      obj: A class or function.

    Returns:
      The registered name, or ``__name__`` if the object is not registered.

    Raises:
      AttributeError: If the object is not registered and has no ``__name__``.

    Example:
      >>> tf.keras.utils.get_registered_name(tf.keras.layers.Dense)
      'Dense'
    """
    can_be_registered = inspect.isclass(obj) or inspect.isroutine(obj)
    return (_NAMES.get(obj) if can_be_registered else None) or str(obj.__name__)


def get_registered_object(
    name: str,
    custom_objects: dict[str, Any] | None = None,
    module_objects: dict[str, Any] | None = None,
) -> Any:
    """Return the class or function that is registered under a name.

    Args:
      name: A name.
      custom_objects: Further objects, by name.
      module_objects: Further objects, which are searched last.

    Returns:
      A class or function; None if the name is unknown.

    Example:
      >>> tf.keras.utils.get_registered_object("nosuch") is None
      True
    """
    for objects in (_OBJECTS, custom_objects or {}, module_objects or {}):
        if name in objects:
            return objects[name]
    return None


@contextmanager
def custom_object_scope(custom_objects: dict[str, Any] | None) -> Iterator[None]:
    """Let configurations in the block refer to custom classes and functions.

    Args:
      custom_objects: Classes and functions, by name; None for no objects.

    Example:
      >>> with tf.keras.utils.custom_object_scope({"halved": lambda x: 0.5 * x}):
      ...     "halved" in tf.keras.utils.get_custom_objects()
      True
    """
    previous_objects = dict(_OBJECTS)
    _OBJECTS.update(custom_objects or {})
    try:
        yield
    finally:
        _OBJECTS.clear()
        _OBJECTS.update(previous_objects)


class SharedObjects:
    """The layers in one file: a layer at several places is written, and created, once.

    Objects of classes of one's own are shared, too. Their configurations have a number under the
    key ``shared_object_id`` at each place.
    """

    def __init__(self, is_written: bool) -> None:
        self._is_written = is_written
        self._written: dict[int, tuple[object, int]] = {}
        self._created: dict[Any, Any] = {}

    def note_written(self, obj: object, config: dict[str, Any]) -> None:
        """Add the number of a shared object to its configuration."""
        if not self._is_written:  # a layer that copies another one while a file is read
            return
        is_custom = not type(obj).__module__.startswith("numtape.")
        if is_custom or hasattr(obj, "get_build_config"):
            entry = self._written.setdefault(id(obj), (obj, len(self._written) + 1))
            config["shared_object_id"] = entry[1]

    def created(self, config: Config) -> Any:
        """Return the object that was created from a configuration with the same id, or None."""
        return self._created.get(config.get("shared_object_id"))

    def note_created(self, config: Config, obj: object) -> None:
        """Remember the object that was created from a configuration."""
        if "shared_object_id" in config:
            self._created[config["shared_object_id"]] = obj


_SHARED: ContextVar[SharedObjects | None] = ContextVar("shared_objects", default=None)


@contextmanager
def sharing_objects(is_written: bool = True) -> Iterator[None]:
    """Write, or create, each layer in the block once. See `SharedObjects`.

    Args:
      is_written: Whether configurations are written, too, not only read.
    """
    token = _SHARED.set(SharedObjects(is_written))
    try:
        yield
    finally:
        _SHARED.reset(token)


def note_written(obj: object, config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of an object, with its number in `sharing_objects`."""
    shared = _SHARED.get()
    if shared is not None:
        shared.note_written(obj, config)
    return config


def create_once(config: Config, create: Callable[[], Any]) -> Any:
    """Create the object of a configuration, or return it if it is shared and exists."""
    shared = _SHARED.get()
    if shared is None:
        return create()
    result = shared.created(config)
    if result is None:
        result = create()
        shared.note_created(config, result)
    return result


# Arguments of Keras that numtape lacks, with the values that have no effect and are dropped.
_UNSUPPORTED_DEFAULTS: dict[str, Any] = {
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
def config_errors() -> Iterator[None]:
    """Turn errors caused by a malformed configuration into a ValueError."""
    try:
        yield
    except (KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"The config is cut or changed, or was not written by numtape or Keras "
            f"({type(error).__name__}: {repr_of(error)})."
        ) from error


def supported_arguments(cls: type, config: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments in a configuration without those that only Keras has.

    Args:
      cls: The class.
      config: A configuration written by numtape or Keras.

    Raises:
      ValueError: If the configuration uses a setting that numtape lacks.
    """
    if not isinstance(config, dict):
        raise ValueError(f"The config of {cls.__name__} must be a dict, got {repr_of(config)}.")
    arguments = plain_dtype(config)
    if not cls.__module__.startswith("numtape."):
        return arguments
    accepted = _accepted_names(cls)
    for name in [
        name for name in arguments if name in _UNSUPPORTED_DEFAULTS and name not in accepted
    ]:
        if arguments[name] != _UNSUPPORTED_DEFAULTS[name]:
            raise ValueError(
                f"{cls.__name__} has no argument {name}={arguments[name]!r} in numtape."
            )
        del arguments[name]
    return arguments


def _accepted_names(cls: type) -> set[str]:
    """Return the parameters of a constructor, including those it passes on as ``**kwargs``."""
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base):
            parameters = inspect_signature(vars(base)["__init__"]).parameters
            names.update(parameters)
            if "kwargs" not in parameters:
                break
    return names


def plain_dtype(config: dict[str, Any]) -> dict[str, Any]:
    """Return a config in which the config of a `DTypePolicy` is replaced by its name."""
    policy = config.get("dtype")
    if not isinstance(policy, dict):
        return dict(config)
    arguments, name = policy.get("config"), policy.get("class_name")
    if name in ("DTypePolicyMap", "QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy"):
        return dict(config)
    if name not in ("DTypePolicy", "FloatDTypePolicy") or not isinstance(arguments, dict):
        raise ValueError(f"dtype must be a name or a DTypePolicy, got {name!r}.")
    return {**config, "dtype": arguments.get("name")}


def keras_dtype(value: DTypeLike | None) -> DType:
    """Convert a value to a dtype like `tf.as_dtype`, except that ``int`` is int64 as in Keras.

    Args:
      value: A dtype, a name or a Python type; None for `keras.config.floatx`. Of a policy it is the
        dtype of computations.

    Raises:
      TypeError: If the dtype does not exist.
    """
    if value is None:
        value = floatx()
    value = getattr(value, "compute_dtype", value)
    if value in ("mixed_float16", "mixed_bfloat16"):
        value = str(value).removeprefix("mixed_")
    return as_dtype(
        "int64" if value is int or (isinstance(value, str) and value == "int") else value
    )


class Configured:
    """Base class of objects whose configuration consists of their constructor arguments.

    Example:
      >>> tf.keras.constraints.MaxNorm(3.0).get_config()
      {'max_value': 3.0, 'axis': 0}
    """

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create an object from its configuration.

        Args:
          config: The result of `get_config`.

        Returns:
          A new object.
        """
        return cls(**config)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({options})"


# Names of the same thing in other libraries and in papers.
_SYNONYMS = {
    "acc": "accuracy",
    "bce_with_logits": "binary_crossentropy",
    "f1": "f1_score",
    "he": "he_normal",
    "identity": "linear",
    "iou": "mean_io_u",
    "kaiming_normal": "he_normal",
    "kaiming_uniform": "he_uniform",
    "kullback_leibler": "kl_divergence",
    "l1": "mean_absolute_error",
    "l2": "mean_squared_error",
    "log_loss": "binary_crossentropy",
    "logistic": "sigmoid",
    "logloss": "binary_crossentropy",
    "lrelu": "leaky_relu",
    "momentum": "sgd",
    "nll": "sparse_categorical_crossentropy",
    "rmse": "root_mean_squared_error",
    "xavier": "glorot_uniform",
    "xavier_normal": "glorot_normal",
    "xavier_uniform": "glorot_uniform",
}
_STOP_WORDS = {"", "error", "loss", "function", "metric", "optimizer"}


def nearest(provided: object, names: Iterable[str]) -> str:
    """Return a hint for an unknown name, as a sentence; empty if no name is similar.

    A name with the same words comes before one with similar letters: ``sparse_crossentropy``
    suggests ``sparse_categorical_crossentropy``.
    """
    if not isinstance(provided, str):
        return ""
    known = [*names]
    closest = _same_meaning(provided, known) or _similar_letters(provided, known)
    return f" Did you mean {closest!r}?" if closest else ""


def _same_meaning(provided: str, names: list[str]) -> str | None:
    """Return the shortest name that contains the words of ``provided``, or a synonym."""
    words = snake_case(provided).lower().replace("cross_entropy", "crossentropy")
    synonym = _SYNONYMS.get(words.replace("-", "_"))
    if synonym in names:
        return synonym
    parts = set(re.split("[^a-z0-9]+", words)) - _STOP_WORDS
    matches = [name for name in names if parts and parts <= set(snake_case(name).split("_"))]
    # Classes are suggested for classes, functions for functions.
    is_function = provided.islower()
    return min(matches, key=lambda name: (name.islower() != is_function, len(name)), default=None)


def _similar_letters(provided: str, names: list[str]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(provided, names, 1)), None) or next(
        iter(difflib.get_close_matches(provided.lower(), names, 1)), None
    )


class ClassRegistry:
    """The known classes of one kind, by their names in CamelCase and snake_case.

    Args:
      word: The name of the kind, such as ``"initializer"``.
      classes: The classes.
      aliases: Classes by further names.
      module: The module in configurations; None for Keras's module of the kind.
    """

    saving: Any = None  # the module `keras.saving.objects`, set there: it imports this module

    def __init__(
        self,
        word: str,
        classes: list[type],
        aliases: dict[str, type] | None = None,
        module: str | None = None,
    ) -> None:
        self.word = word
        self.module = f"keras.{word}s" if module is None else module
        self.classes = {cls.__name__: cls for cls in classes}
        self.known = {
            **self.classes,
            **{snake_case(k): cls for k, cls in self.classes.items()},
        }
        self.known.update(aliases or {})

    def get(self, identifier: object) -> Any:
        """Return the object for a name, a configuration, a class or an object."""
        if identifier is None:
            return None
        result = identifier
        if isinstance(identifier, str):
            result = self.known.get(identifier)
        elif isinstance(identifier, dict):
            result = self.deserialize(identifier)
        if inspect.isclass(result):
            result = result()
        if not callable(result):
            raise self._unknown(identifier)
        return result

    def _unknown(self, identifier: object) -> ValueError:
        names = ", ".join(name for name in self.known if name.islower())
        if isinstance(identifier, dict) and "class_name" in identifier:
            identifier = {"class_name": identifier["class_name"], "config": ...}
        return ValueError(
            f"Could not interpret {self.word} identifier: {repr_of(identifier)}."
            f"{nearest(identifier, self.known)} Known: {names}."
        )

    def serialize(self, obj: object) -> dict[str, Any] | None:
        """Return the configuration of an object, a dict that can be converted to JSON."""
        if obj is None:
            return None
        if not hasattr(obj, "get_config"):
            name = getattr(obj, "__name__", None)
            if name is None:
                raise ValueError(f"This {self.word} has no configuration: {repr_of(obj)}.")
            return {
                "module": "builtins",
                "class_name": "function",
                "config": name,
                "registered_name": name,
            }
        return self.describe(obj)

    def describe(self, obj: Configurable) -> dict[str, Any]:
        """Return the class and arguments of an object that has a method `get_config`."""
        name = type(obj).__name__
        is_builtin = self.classes.get(name) is type(obj)
        config: dict[str, Any] = {
            "module": self.module if is_builtin else type(obj).__module__,
            "class_name": name,
            "config": obj.get_config(),
            "registered_name": None if is_builtin else get_registered_name(type(obj)),
        }
        return note_written(obj, config)

    def deserialize(
        self,
        config: str | Config | None,
        custom_objects: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """Create an object from the result of `serialize`."""
        if config is None:
            return None
        classes = {**self.known, **get_custom_objects(), **(custom_objects or {})}
        if isinstance(config, str):
            config = {"class_name": config, "config": {}}
        if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
            raise self._unknown(config)
        name, arguments = config["class_name"], config.get("config")
        if config.get("registered_name") in get_custom_objects():
            name = config["registered_name"]
        if name == "function" and isinstance(arguments, str):
            name, arguments = arguments, {}
        result = classes.get(name)
        if result is None and config.get("registered_name"):
            raise ValueError(
                f"Could not locate class '{name}'. Make sure custom classes and functions are "
                f"decorated with `@keras.saving.register_keras_serializable()`, and imported, or "
                f"given in `custom_objects={{'{name}': {name}}}`.{nearest(name, classes)}"
            )
        if result is None:
            raise self._unknown(config)
        if not inspect.isclass(result):
            return result
        if arguments is not None and not isinstance(arguments, dict):
            raise self._unknown(config)
        from_config: Any = getattr(result, "from_config", None)
        if from_config is None:
            return result()
        arguments = supported_arguments(result, arguments or {})
        accepts = "custom_objects" in inspect_signature(from_config).parameters
        options = {"custom_objects": custom_objects} if accepts else {}
        return create_once(config, lambda: from_config(arguments, **options))
