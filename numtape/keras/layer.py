"""`Layer`: the base class of layers, whose variables are created on the first call."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compat.missing_names import tell
from ..compat.traceback_filter import warn
from ..core.log import layer_context
from ..core.log.as_tensor import as_tensor
from ..core.log.layer_context import Losses, mask_of, set_mask
from ..core.log.log import local
from ..core.log.variable import Alias, AutocastAlias, Variable, assign_all, original
from ..core.ops.arithmetic import divide_no_nan
from ..core.ops.creation import convert_to_tensor
from ..core.ops.elementwise import cast
from ..core.values.arguments import MethodSignature, inspect_signature, signature_of
from ..core.values.composite import Composite
from ..core.values.dtypes import DType
from ..core.values.hints import hint, hint_missing_attributes
from ..core.values.tensor import Tensor
from ..deferred_restore import notify_changed
from ..errors import OpError
from ..function.pickling import refuse_older
from ..module import Module
from ..nest import flatten, map_structure
from . import constraints, dtype_policies, initializers, regularizers
from .error_context import LAYER, add_location
from .input_spec import assert_input_compatibility
from .registry import keras_dtype, plain_dtype
from .symbolic import (
    KerasTensor,
    Node,
    auto_name,
    infer,
    is_symbolic,
    is_tensor,
    pass_masks,
    shapes_for,
    symbols_of,
    tensors_in,
)

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike
    from .annotations import ConstraintLike, InitializerLike, InputShape, RegularizerLike
    from .dtype_policies import DTypePolicy


class LayerVariable(AutocastAlias):
    """A variable under its name in a layer, such as ``kernel``; tapes use ``dense/kernel:0``.

    Attributes:
      regularizer: A function that returns a loss of the variable's value, or None.
    """

    __slots__ = ("_trained", "regularizer")

    regularizer: Callable[..., Any] | None

    def __init__(
        self,
        of: Variable,
        regularizer: Callable[..., Any] | None = None,
        trained: bool | None = None,
        autocast: bool = True,
    ) -> None:
        super().__init__(of, autocast)
        self.regularizer = regularizer
        self._trained = of.trainable if trained is None else trained

    @property
    def trainable(self) -> bool:
        """Whether the variable is trainable. Settable."""
        return self._trained

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trained = bool(value)
        if value:  # tapes must watch the variable
            self._original._trainable = True

    @property
    def constraint(self) -> Any:
        """A function that optimizers apply to the new value after each step, or None. Settable."""
        return self._original._policy[0]

    @constraint.setter
    def constraint(self, value: Callable[[Tensor], Tensor] | None) -> None:
        self._original._policy = (value, *self._original._policy[1:])

    @property
    def autocast(self) -> bool:
        """Whether a layer with mixed precision reads the variable in its ``compute_dtype``."""
        return self._is_cast

    @property
    def overwrite_with_gradient(self) -> bool:
        """Whether optimizers assign the gradient: False."""
        return False

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        """The value as a tensor: a property as in Keras, where `tf.Variable` has a method."""
        value: Tensor = self.read_value()
        return value

    @property
    def name(self) -> str:
        """The name inside the layer, such as ``kernel``."""
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """The path of the layer or the name of the optimizer, followed by the variable's name."""
        return self._original._name

    def __repr__(self) -> str:
        return (
            f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype.name}, "
            f"value={self.numpy()}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._original, self.regularizer, self._trained, self._is_cast)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return type(self)(
            copy.deepcopy(self._original, memo),
            copy.deepcopy(self.regularizer, memo),
            self._trained,
            self._is_cast,
        )


def operand(variable: Variable) -> Variable:
    """Return what an op of a layer's call reads: the variable itself, unless reads are cast.

    Recording a variable is faster than an alias.
    """
    if local.autocast is not None:
        return variable
    return variable._original if isinstance(variable, Alias) else variable


def wrap_build(build: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``build``: set ``built`` on success, and discard new variables on an error."""

    @wraps(build)
    def build_and_mark(self: Layer, *args: Any, **kwargs: Any) -> None:
        self._nt_check_initialized()
        variables = self._nt_trained, self._nt_fixed
        if type(self).build is build_and_mark:
            self._nt_build_shapes = args, kwargs
        try:
            self._nt_call_within(build, self, *args, **kwargs)
        except BaseException:
            self._nt_trained, self._nt_fixed = variables
            raise
        if type(self).build is build_and_mark:  # else the ``build`` of a subclass is running
            self.built = True

    return build_and_mark


class _Signature:
    """The signature of ``__init__``. Python up to 3.11.3 would use that of ``__new__``."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        result = inspect_signature(owner.__init__)  # type: ignore[misc]
        return result.replace(parameters=list(result.parameters.values())[1:])


def _plain_shapes(shapes: Any) -> Any:
    """Convert shapes, also nested ones, to plain tuples."""
    if isinstance(shapes, dict):
        return {key: _plain_shapes(x) for key, x in shapes.items()}
    if isinstance(shapes, list | tuple):
        if all(n is None or isinstance(n, int) for n in shapes):
            return tuple(None if n is None else int(n) for n in shapes)
        return type(shapes)(map(_plain_shapes, shapes))
    return shapes


def _is_plain(x: object) -> bool:
    """Whether a value consists of None, strings, numbers, and lists and dicts of them."""
    if isinstance(x, list | tuple):
        return all(map(_is_plain, x))
    if isinstance(x, dict):
        return all(map(_is_plain, x.values()))
    return x is None or isinstance(x, str | int | float)


def _collect_layers(layer: Layer, layers: dict[int, Any]) -> None:
    """Add the layers inside a layer to ``layers``, by id, in depth-first order."""
    for inner in layer._nt_layers:
        if id(inner) not in layers:
            layers[id(inner)] = inner
            if inner._nt_held:
                _collect_layers(inner, layers)


def _is_metric(value: object) -> bool:
    methods = ("update_state", "reset_state", "result")
    return all(hasattr(type(value), name) for name in methods)


def _may_hold_variables(value: object) -> bool:
    """Whether an attribute may hold variables, layers or metrics, now or later (a list may)."""
    if type(value) is LayerVariable or isinstance(value, str | int | float) or value is None:
        return False  # the layer's own variables are in `_nt_trained` and `_nt_fixed`
    if isinstance(value, tuple):
        return any(map(_may_hold_variables, value))
    return (
        isinstance(value, Variable | Module | list | dict)
        or hasattr(type(value), "_nt_saved_parts")
        or _is_metric(value)
    )


def _add_leaves(
    value: dict[Any, Any] | list[Any] | tuple[Any, ...],
    result: list[Any],
    enclosing: tuple[int, ...] = (),
) -> None:
    """Append the items of nested lists, tuples and dicts, which may be cyclic, to ``result``."""
    for item in value.values() if isinstance(value, dict) else value:
        if not isinstance(item, list | tuple | dict):
            result.append(item)
        elif id(item) not in enclosing and item is not value:
            _add_leaves(item, result, (*enclosing, id(value)))


_TRAINING = frozenset({"training"})


def _resolve_training(
    signature: MethodSignature, training_argument: bool | None, kwargs: dict[str, Any]
) -> Any:
    """Resolve the ``training`` flag, and add it to ``kwargs`` if ``call`` accepts it."""
    training = local.training if training_argument is None else training_argument
    if training is None:
        training = signature.defaults.get("training")
    if "training" in signature.all and (
        training is not None or "training" not in signature.defaults
    ):
        kwargs["training"] = False if training is None else training
    elif training_argument is not None and signature.takes_any_keyword:
        kwargs["training"] = training
    return training


class Layer(Module):
    """Base class of layers: override ``build(input_shape)`` and ``call(inputs)``.

    The first call creates the variables, once the shape of the inputs is known.

    Args:
      trainable: Whether the variables of the layer are trainable.
      name: The name of the layer; None for the class name in snake case, numbered.
      dtype: The dtype of variables and computations, to which floating-point inputs are cast; or
        a `keras.DTypePolicy` or its name, such as ``"mixed_bfloat16"``; None for the global policy.
      activity_regularizer: A regularizer of the outputs: a function that returns a loss, or a name.
      autocast: Whether to cast floating-point inputs to the policy's ``compute_dtype``.
      **kwargs: ``input_shape``, without the batch axis, or ``input_dim``: for `Sequential`.

    Raises:
      ValueError: If an argument is unknown or has a wrong type.

    Example:
      >>> class Scale(tf.keras.Layer):
      ...     def build(self, input_shape):
      ...         self.scale = self.add_weight(input_shape[-1:], "ones", name="scale")
      ...     def call(self, inputs):
      ...         return inputs * self.scale
      >>> layer = Scale()
      >>> layer(tf.constant([[1.0, 2.0]])).numpy(), layer.trainable_variables[0].name
      (array([[1., 2.]], dtype=float32), 'scale')
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | DTypePolicy | None = None,
        activity_regularizer: RegularizerLike = None,
        autocast: bool = True,
        **kwargs: Any,
    ) -> None:
        if name is None:
            name = auto_name(type(self).__name__)
        elif not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. "
                f"Received: name={name} (of type {type(name)})"
            )
        if not isinstance(trainable, bool):
            raise ValueError(
                f"Expected `trainable` to be a boolean. Received: "
                f"trainable={trainable} (of type {type(trainable)})"
            )
        self._nt_name = name
        self._nt_trainable = trainable
        self._nt_set_policy(dtype)
        self._nt_trained, self._nt_fixed = (), ()
        self._nt_inbound_nodes: list[Any] = []
        self._nt_losses = Losses()
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.autocast = autocast
        self.built = False
        self._nt_pop_input_shape(kwargs)
        self._nt_supports_masking = type(self).compute_mask is not Layer.compute_mask

    # --- The path: the names of the layers in which this one was built ----------------------

    _nt_name: str
    _nt_path: str | None = None

    @property
    def path(self) -> str:
        """The names of the enclosing layers and of this one, such as ``"sequential/dense"``."""
        return self._nt_path or self._nt_name

    def _nt_set_path(self) -> None:
        """Set the path if it is not set yet."""
        if self._nt_path is None:
            outer = layer_context.enclosing_layer(self)
            self._nt_path = self._nt_name if outer is None else f"{outer.path}/{self._nt_name}"

    def _nt_call_within(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with this layer as the enclosing layer."""
        self._nt_set_path()
        return layer_context.call_within(
            self, layer_context.current_training(), partial(function, *args, **kwargs)
        )

    # --- The configuration: the constructor arguments ---------------------------------------

    __signature__ = _Signature()
    _nt_made_with: tuple[tuple[Any, ...], dict[str, Any]]
    _nt_dtype: DType
    _nt_input_shape_arg: tuple[Any, ...]
    _nt_trainable: bool
    activity_regularizer: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Store the arguments for `get_config`."""
        instance = super().__new__(cls)
        instance._nt_made_with = args, kwargs
        return instance

    def _nt_pop_input_shape(self, kwargs: dict[str, Any]) -> None:
        """Pop ``input_shape`` and ``input_dim`` from ``kwargs``; raise if others remain."""
        size = kwargs.pop("input_dim", None)
        shape = kwargs.pop("input_shape", None) if size is None else (size,)
        if shape is not None:
            if not isinstance(shape, list | tuple):
                raise ValueError(
                    f"Cannot convert '{shape}' to a shape: `input_shape` is a tuple, ({shape},) "
                    f"for one axis."
                )
            warn(
                "Do not pass an `input_shape`/`input_dim` argument to a layer. When using "
                "Sequential models, prefer using an `Input(shape)` object as the first layer in "
                "the model instead."
            )
            self._nt_input_shape_arg = tuple(shape)
        if kwargs:
            cls = type(self)
            meant = hint(next(iter(kwargs)), inspect_signature(cls).parameters)
            raise ValueError(
                f"Unrecognized keyword arguments passed to {cls.__name__}: {kwargs}{meant}"
            )

    def _nt_summary_arguments(self) -> dict[str, Any]:
        """The arguments to show in summaries: plain values that differ from the defaults."""
        parameters = dict(inspect_signature(type(self).__init__).parameters)
        args, kwargs = self._nt_made_with
        provided = {**dict(zip(list(parameters)[1:], args, strict=False)), **kwargs}
        result = {}
        for key, value in provided.items():
            default = parameters[key].default if key in parameters else None
            if isinstance(value, Layer):
                value = value._nt_name
            elif callable(value) and hasattr(value, "__name__"):
                value = value.__name__
            if key in ("name", "seed", "dtype", "trainable") or isinstance(value, dict | list):
                continue
            if _is_plain(value) and value not in (default, "linear"):
                result[key] = value
        return result

    @property
    def dtype(self) -> str:
        """The name of the variables' dtype."""
        return self.variable_dtype

    # The policy, unless it is that of one dtype; the dtype of computations is `_nt_dtype`.
    _nt_policy: DTypePolicy | None = None
    _nt_casts = False  # whether variables are cast when they are read in `call`

    def _nt_set_policy(self, value: DTypeLike | DTypePolicy | None) -> None:
        policy = dtype_policies.get(value)
        if isinstance(policy, dtype_policies.DTypePolicyMap):
            policy_map, policy = policy, policy[self.path]
            self._nt_policy = policy_map
        self._nt_dtype, variable_dtype = policy._nt_dtypes
        self._nt_casts = self._nt_dtype is not variable_dtype
        if self._nt_casts or type(policy) is not dtype_policies.DTypePolicy:
            self._nt_policy = self._nt_policy or policy

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtypes of variables and computations. Settable before the layer is built."""
        policy = self._nt_policy
        if isinstance(policy, dtype_policies.DTypePolicyMap):
            policy = policy[self.path]
        return policy or dtype_policies.DTypePolicy(self._nt_dtype.name)

    @dtype_policy.setter
    def dtype_policy(self, value: DTypeLike | DTypePolicy | None) -> None:
        self._nt_policy = None
        self._nt_set_policy(value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments. Subclasses add their own.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If an argument is not a string, a number, or a list or dict of
            them; such a class must override this method.

        Example:
          >>> config = tf.keras.Layer(name="mine").get_config()
          >>> config["name"], config["dtype"]["config"]
          ('mine', {'name': 'float32'})
        """
        graph_config = self._nt_graph_config()
        if graph_config is not None:
            return graph_config
        base: dict[str, Any] = {"name": self._nt_name, "trainable": self._nt_trainable}
        base["dtype"] = dtype_policies.serialize(self._nt_policy or self.dtype_policy)
        if self.activity_regularizer is not None:
            base["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        if type(self).get_config is not Layer.get_config:
            return base  # called by the method of a subclass, which adds its arguments
        args, kwargs = self._nt_made_with
        accepted = inspect_signature(type(self).__init__).parameters
        init_arguments = {**dict(zip(list(accepted)[1:], args, strict=False)), **kwargs}
        if not all(_is_plain(x) for x in init_arguments.values()):
            raise NotImplementedError(
                f"Object {type(self).__name__} was created by passing non-serializable argument "
                f"values in `__init__()`, and therefore the object must override `get_config()`."
            )
        takes_any_keyword = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        return {
            **{k: x for k, x in base.items() if takes_any_keyword or k in accepted},
            **{k: x for k, x in init_arguments.items() if k != "dtype"},
        }

    def _nt_graph_config(self) -> dict[str, Any] | None:
        """The configuration of a functional model; None for other layers."""
        return None

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a layer from its configuration.

        Args:
          config: The result of `get_config`.

        Returns:
          A layer.

        Raises:
          TypeError: If the class does not accept an argument.

        Example:
          >>> tf.keras.Layer.from_config({"name": "mine"}).name
          'mine'
        """
        return cls(**plain_dtype(config))

    # --- Attributes that hold variables and layers ------------------------------------------

    # Internal attributes, excluded from the search for variables and layers.
    _nt_internal = frozenset(
        {
            "_nt_build_shapes",
            "_nt_fixed",
            "_nt_held",
            "_nt_inbound_nodes",
            "_nt_made_with",
            "_nt_trained",
            "built",
        }
    )

    # The results of `add_weight`. They are tuples because a recorded function that creates
    # variables may set attributes (it is then recorded again), but not change a list it has read.
    _nt_trained: tuple[LayerVariable, ...]  # variables created with ``trainable=True``
    _nt_fixed: tuple[LayerVariable, ...]  # variables created with ``trainable=False``
    _nt_held: tuple[str, ...] = ()  # names of attributes that may hold variables, layers or metrics
    built: bool
    _nt_build_shapes: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # arguments of `build`

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_trained")
        vars(self).update(state)

    @property
    def variable_dtype(self) -> str:
        """The name of the variables' dtype."""
        return self.dtype_policy.variable_dtype if self._nt_casts else self._nt_dtype.name

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype of computations and outputs."""
        return self._nt_dtype.name

    # --- Variables ---------------------------------------------------------------------------

    def add_weight(
        self,
        shape: int | InputShape | None = None,
        initializer: InitializerLike = None,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
        aggregation: object = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> LayerVariable:
        """Add a variable to this layer.

        Args:
          shape: The shape; None for a scalar.
          initializer: An initializer, its name, or a function (shape, dtype); None is
            "glorot_uniform" for floating-point dtypes and "zeros" for others.
          dtype: The dtype; None for that of the layer.
          trainable: Whether the variable is trainable if the layer is.
          autocast: Whether ``call`` reads the variable in the policy's ``compute_dtype``.
          regularizer: A function that returns a loss of the value, which `losses` includes.
          constraint: A function that optimizers apply to the new value after each step.
          aggregation: Accepted for compatibility with Keras, and ignored.
          overwrite_with_gradient: Must be False.
          name: The name inside the layer.

        Returns:
          The variable.

        Raises:
          ValueError: If an argument names something unknown, or ``overwrite_with_gradient`` is set.
          RuntimeError: If the layer's class did not call ``super().__init__()``.

        Example:
          >>> layer = tf.keras.Layer(name="mine")
          >>> layer.offset = layer.add_weight((2,), "zeros", name="offset")
          >>> [v.path for v in layer.variables]
          ['mine/offset']
        """
        self._nt_check_initialized()
        if isinstance(shape, str):
            raise ValueError(
                f"`name` must be passed as a keyword argument. Received: add_weight('{shape}', "
                f"...). Use: add_weight(shape=..., name='{shape}')."
            )
        if overwrite_with_gradient:
            raise ValueError(
                "overwrite_with_gradient=True is not supported: numtape passes gradients to "
                "optimizers. Omit the argument, and assign the gradient to the variable."
            )
        self._nt_set_path()
        requested = keras_dtype(self.variable_dtype if dtype is None else dtype)
        if initializer is None:
            initializer = "glorot_uniform" if requested.is_floating else "zeros"
        size = (shape,) if isinstance(shape, int) else tuple(shape or ())
        value = initializers.get(initializer)(size, requested)
        if name is None:
            number = len(self._nt_trained) + len(self._nt_fixed)
            name = f"variable_{number}" if number else "variable"
        variable = LayerVariable(
            Variable(
                value,
                trainable,
                name=f"{self.path}/{name}",
                dtype=requested,
                constraint=constraints.get(constraint),
            ),
            regularizers.get(regularizer),
            trainable and self._nt_trainable,
            autocast,
        )
        if trainable:
            self._nt_trained = (*self._nt_trained, variable)
        else:
            self._nt_fixed = (*self._nt_fixed, variable)
        return variable

    add_variable = add_weight

    def _nt_check_initialized(self) -> None:
        if getattr(self, "_nt_trained", None) is None:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` in the "
                f"`__init__()` method. Go add it!"
            )

    def __setattr__(self, name: str, value: object) -> None:
        if (
            name not in self._nt_internal
            and _may_hold_variables(value)
            and name not in self._nt_held
        ):
            if not isinstance(
                getattr(type(self), name, None), property
            ):  # it sets another attribute
                self._nt_held = (*self._nt_held, name)
        object.__setattr__(self, name, value)
        notify_changed(self)

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name: variables and attributes with variables."""
        saved_parts: dict[str, Any] = {}
        for v in (*self._nt_trained, *self._nt_fixed):
            name = v.name
            while name in saved_parts:
                name += "_"
            saved_parts[name] = v
        return {**{name: vars(self).get(name) for name in self._nt_held}, **saved_parts}

    def _nt_leaves(self) -> list[Any]:
        """Variables, modules and metrics in attributes, in the order in which these were set."""
        leaves: list[Any] = []
        for name in self._nt_held:  # not vars(self): a recorded call may set other attributes
            value = getattr(self, name, None)
            if isinstance(value, list | tuple | dict):
                _add_leaves(value, leaves)
            else:
                leaves.append(value)
        return leaves

    def _nt_own_variables(self) -> list[Variable]:
        """The variables of the layer and of its modules that are not layers, trainable first."""
        if not self._nt_held:
            return [*self._nt_trained, *self._nt_fixed]
        variables: dict[int, tuple[Variable, bool]] = {}  # with whether each is trainable
        variables.update((id(v._original), (v, True)) for v in self._nt_trained)
        variables.update((id(v._original), (v, False)) for v in self._nt_fixed)
        leaf: Any
        for leaf in self._nt_leaves():
            if isinstance(leaf, Variable):
                variables.setdefault(id(original(leaf)), (leaf, leaf.trainable))
            elif isinstance(leaf, Module) and not isinstance(leaf, Layer):
                for v in leaf.variables:
                    variables.setdefault(id(original(v)), (v, v.trainable))
        pairs = list(variables.values())
        return [v for v, trained in pairs if trained] + [v for v, trained in pairs if not trained]

    @property
    def _nt_layers(self) -> list[Any]:
        """The layers in attributes of this one."""
        if not self._nt_held:
            return []
        layers = {id(x): x for x in self._nt_leaves() if isinstance(x, Layer)}
        layers.pop(id(self), None)
        return list(layers.values())

    def _nt_flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        """This layer and the layers inside it, in depth-first order."""
        layers: dict[int, Any] = {id(self): self}
        if recursive:
            _collect_layers(self, layers)
        else:
            layers.update((id(x), x) for x in self._nt_layers)
        return list(layers.values())[not include_self :]

    @property
    def weights(self) -> list[Variable]:
        """All variables: those of this layer, trainable first, then those of the layers inside.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> _ = dense(tf.ones((1, 3)))
          >>> [v.shape.as_list() for v in dense.weights]
          [[3, 2], [2]]
        """
        weights: dict[int, Variable] = {}
        for layer in self._nt_flatten_layers():
            for v in layer._nt_own_variables():
                weights.setdefault(id(original(v)), v)
        return list(weights.values())

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All variables; equal to `weights`."""
        return self.weights

    def _nt_variables(self, visited: set[int]) -> Iterator[Variable]:
        visited.update(map(id, self._nt_flatten_layers()))
        yield from self.weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The trainable variables; empty if the layer is not trainable."""
        return [v for v in self.weights if v.trainable] if self._nt_trainable else []

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The trainable variables; equal to `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The variables that are not trainable; all if the layer is not trainable."""
        return [v for v in self.weights if not v.trainable] if self._nt_trainable else self.weights

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The variables that are not trainable; equal to `non_trainable_weights`."""
        return self.non_trainable_weights

    @property
    def trainable(self) -> bool:
        """Whether the variables are trainable. Setting it also sets it for the layers inside.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.trainable = False
          >>> len(dense.trainable_weights), len(dense.non_trainable_weights)
          (0, 2)
        """
        return self._nt_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._nt_trainable = bool(value)
        for v in self._nt_trained:
            v.trainable = value
        for layer in self._nt_layers:
            layer.trainable = value

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """The values of `weights`.

        Returns:
          A list of NumPy arrays.

        Example:
          >>> dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
          >>> dense.build((None, 2))
          >>> dense.get_weights()[0].tolist()
          [[1.0], [1.0]]
        """
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights: Sequence[TensorLike]) -> None:
        """Assign values to `weights`. If one does not fit, none is assigned.

        Args:
          weights: An array for each variable.

        Raises:
          ValueError: If the number of arrays or a shape differs.

        Example:
          >>> dense = tf.keras.layers.Dense(1)
          >>> dense.build((None, 2))
          >>> dense.set_weights([[[2.0], [3.0]], [4.0]])
          >>> dense(tf.ones((1, 2))).numpy()
          array([[9.]], dtype=float32)
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of "
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights."
            )
        self._nt_assign(variables, weights)

    def _nt_assign(self, variables: Sequence[Variable], weights: Iterable[Any]) -> None:
        """Assign values to variables of the same shapes, cast to their dtypes."""
        values = [np.asarray(value) for value in weights]
        for v, value in zip(variables, values, strict=True):
            if tuple(v.shape) != value.shape:
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(v.shape)} is not compatible with "
                    f"provided weight shape {value.shape}: the shapes must match."
                )
        assign_all(
            [*map(original, variables)],
            [
                as_tensor(value.astype(v.dtype.numpy_dtype, copy=False), v._spec)
                for v, value in zip(variables, values, strict=True)
            ],
        )

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Store the values of the layer's own variables; override it to store something else.

        Args:
          store: The dict to fill; its keys become ``"0"``, ``"1"`` and so on.

        Example:
          >>> dense = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
          >>> dense.build((None, 2))
          >>> store = {}
          >>> dense.save_own_variables(store)
          >>> store["0"].tolist()
          [[1.0], [1.0]]
        """
        for k, v in enumerate(self._nt_own_variables()):
            store[str(k)] = v.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Load the layer's own variables. If one does not fit, none changes.

        Args:
          store: A dict filled by `save_own_variables`.

        Raises:
          ValueError: If the number of arrays or a shape differs.

        Example:
          >>> dense = tf.keras.layers.Dense(1, use_bias=False)
          >>> dense.build((None, 2))
          >>> dense.load_own_variables({"0": np.array([[3.0], [4.0]])})
          >>> dense.kernel.numpy().tolist()
          [[3.0], [4.0]]
        """
        variables = self._nt_own_variables()
        if len(store) != len(variables):
            if not variables and not self.built:
                raise ValueError(
                    f"Layer '{self.name}' was never built and thus it doesn't have any variables. "
                    f"However the weights file lists {len(store)} variables for this layer.\n"
                    f"In most cases, this error indicates that either:\n\n"
                    f"1. The layer is owned by a parent layer that implements a `build()` method, "
                    f"but calling the parent's `build()` method did NOT create the state of the "
                    f"child layer. A `build()` method must create ALL state for the layer, "
                    f"including the state of any children layers.\n\n"
                    f"2. You need to implement the `def build_from_config(self, config)` method on "
                    f"the layer, to specify how to rebuild it during loading."
                )
            raise ValueError(
                f"Layer '{self.name}' expected {len(variables)} variables, but received "
                f"{len(store)} variables during loading. Expected: {[v.name for v in variables]}"
            )
        self._nt_assign(variables, [store[str(k)] for k in range(len(variables))])

    def get_build_config(self) -> dict[str, Any] | None:
        """Return the shapes with which `build` was called.

        Returns:
          A dict for `build_from_config`; None if the layer is not built.

        Example:
          >>> dense = tf.keras.layers.Dense(1)
          >>> dense.build((None, 2))
          >>> dense.get_build_config()
          {'input_shape': (None, 2)}
        """
        if self._nt_build_shapes is None:
            return None
        args, kwargs = self._nt_build_shapes
        names = [*inspect_signature(type(self).build).parameters][1:]
        shapes = {**dict(zip(names, args, strict=False)), **kwargs}
        shapes = {name: _plain_shapes(shape) for name, shape in shapes.items()}
        if len(shapes) == 1:
            return {"input_shape": next(iter(shapes.values()))}
        return {"shapes_dict": shapes}

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        """Build the layer with the result of `get_build_config`.

        Args:
          config: The result of `get_build_config`; None to do nothing.

        Example:
          >>> dense = tf.keras.layers.Dense(1)
          >>> dense.build_from_config({"input_shape": (None, 2)})
          >>> dense.kernel.shape.as_list()
          [2, 1]
        """
        if not config:
            return
        if "input_shape" in config:
            self.build(config["input_shape"])
        elif "shapes_dict" in config:
            self.build(**config["shapes_dict"])

    def count_params(self) -> int:
        """Count the elements of all variables.

        Returns:
          An int.

        Raises:
          ValueError: If the layer is not built.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.count_params()
          8
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't "
                f"built. You can build it manually via: `layer.build(input_shape)`."
            )
        return sum(v._spec.size for v in self.weights)

    @property
    def metrics(self) -> list[Any]:
        """The metrics in attributes of this layer and of the layers inside."""
        metrics: dict[int, Any] = {}
        for layer in self._nt_flatten_layers():
            if layer._nt_held:
                metrics.update((id(x), x) for x in layer._nt_leaves() if _is_metric(x))
        return list(metrics.values())

    def __repr__(self) -> str:
        message = {"name": self.name, **self._nt_summary_arguments(), "built": self.built}
        message.update((v.name, tuple(v.shape)) for v in (*self._nt_trained, *self._nt_fixed)[:6])
        return f"<{type(self).__name__} {', '.join(f'{k}={x}' for k, x in message.items())}>"

    # --- Losses that calls and regularizers add ---------------------------------------------

    def add_loss(self, loss: Tensor | Sequence[Tensor]) -> None:
        """Add a loss to the training objective. For use in ``call``.

        Args:
          loss: A scalar tensor, or a list of scalar tensors.

        Raises:
          ValueError: If an item is not a tensor.

        Example:
          >>> class Small(tf.keras.Layer):
          ...     def call(self, x):
          ...         self.add_loss(tf.reduce_sum(x * x))
          ...         return x
          >>> layer = Small()
          >>> _ = layer(tf.constant([3.0]))
          >>> [float(loss) for loss in layer.losses]
          [9.0]
        """
        losses = flatten(loss)
        for x in losses:
            if not isinstance(x, Tensor):
                raise ValueError(
                    f"`add_loss()` can only be called from inside `build()` or `call()`, on a "
                    f"tensor input. Received invalid value: {x}"
                )
        for x in losses:
            self._nt_losses.add(x)

    @property
    def losses(self) -> list[Any]:
        """Losses added by calls of this layer and its sublayers, and losses of regularizers.

        Losses added inside a recorded call, including those of `fit`, have no value afterwards.
        """
        losses: list[Any] = []
        if layer_context.has_losses():
            for layer in self._nt_flatten_layers():
                losses += layer._nt_losses.all()
        functions = [(getattr(v, "regularizer", None), v) for v in self.trainable_weights]
        return losses + [function(v) for function, v in functions if function is not None]

    def _nt_clear_losses(self) -> None:
        if layer_context.has_losses():
            for layer in self._nt_flatten_layers():
                layer._nt_losses.clear()

    # --- Building, calls and shapes ---------------------------------------------------------

    # Whether positional arguments of `call` may be other than tensors.
    _allow_non_tensor_positional_args = False
    _nt_input_spec: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls):
            cls.build = wrap_build(cls.build)  # type: ignore[method-assign]

    @property
    def input_spec(self) -> Any:
        """Requirements on the inputs: an `InputSpec`, a list of them, or None. Settable."""
        return self._nt_input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self._nt_input_spec = value

    @property
    def supports_masking(self) -> bool:
        """Whether the layer passes masks from inputs to outputs. Settable."""
        return self._nt_supports_masking

    @supports_masking.setter
    def supports_masking(self, value: bool) -> None:
        self._nt_supports_masking = bool(value)

    def build(self, input_shape: Any) -> None:
        """Create the variables. The first call does this if the layer is not built yet.

        Args:
          input_shape: The shape of the inputs; for several inputs, their shapes in the same
            structure.
        """
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. Subclasses override this method.

        `__call__` passes ``training`` and ``mask`` if the method has such parameters.

        Args:
          *args: Tensors, or lists and dicts of them.
          **kwargs: Further arguments.

        Returns:
          The outputs.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call()` method implemented."
            + " It has `forward`, PyTorch's name for it." * hasattr(self, "forward")
        )

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Compute the mask of the outputs, by default that of the inputs.

        Args:
          inputs: The inputs.
          previous_mask: The mask of the inputs, or None.

        Returns:
          A mask, or None.
        """
        return previous_mask

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output shape, by default by a call with zeros.

        Args:
          *args: Shapes of the inputs; None stands for an unknown size.
          **kwargs: Shapes passed by name.

        Returns:
          A tuple, or a structure of them.

        Example:
          >>> tf.keras.layers.Dense(2).compute_output_shape((None, 3))
          (None, 2)
        """
        if len(kwargs) == 1 and not args:  # the name may differ from that in `call`
            args, kwargs = (*kwargs.values(),), {}
        dtype = self.compute_dtype
        inputs = tuple(symbols_of(x, dtype) for x in args)
        named = {k.removesuffix("_shape"): symbols_of(x, dtype) for k, x in kwargs.items()}
        if not self.built:
            self._nt_build(signature_of(type(self).call).arguments(inputs, named))
        return map_structure(lambda x: x.shape, self._nt_infer_outputs(*inputs, **named))

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the symbolic outputs of a call with symbolic tensors.

        Args:
          *args: The positional arguments of a call.
          **kwargs: The keyword arguments.

        Returns:
          A `KerasTensor`, or a structure of them.
        """
        method = type(self).compute_output_shape
        if method is Layer.compute_output_shape:
            return self._nt_infer_outputs(*args, **kwargs)
        arguments = signature_of(type(self).call).arguments(args, kwargs)
        shape = self.compute_output_shape(**shapes_for(method, arguments, type(self).__name__))
        return symbols_of(shape, self.compute_dtype)

    def _nt_infer_outputs(self, *args: Any, **kwargs: Any) -> Any:
        """Infer the symbolic outputs of ``call`` by a call with zeros."""
        dtype = self._nt_dtype if self._nt_casts else None
        args, kwargs = map_structure(self._nt_cast_symbol, (args, kwargs))
        try:
            return layer_context.call_autocast(dtype, infer, (self.call, args, kwargs), {})
        finally:
            self._nt_clear_losses()

    # --- A call ------------------------------------------------------------------------------

    def _nt_convert_input(self, x: object) -> Any:
        """Convert an array or variable to a tensor, and cast floats to the layer's dtype."""
        if isinstance(x, Composite):
            return x
        if isinstance(x, Variable) or (
            not isinstance(x, Tensor) and hasattr(x, "__array__") and not isinstance(x, KerasTensor)
        ):
            x = as_tensor(x) if isinstance(x, Variable) else convert_to_tensor(x)
        if isinstance(x, Tensor) and self.autocast and x.dtype.is_floating:
            if x.dtype is not self._nt_dtype and self._nt_dtype.is_floating:
                mask = mask_of(x)
                x = cast(x, self._nt_dtype)
                set_mask(x, mask)
        return x

    def _nt_cast_symbol(self, x: object) -> Any:
        """Return a symbol of the dtype to which `_nt_convert_input` would cast a tensor."""
        if not isinstance(x, KerasTensor) or not self.autocast or not self._nt_dtype.is_floating:
            return x
        is_cast = keras_dtype(x.dtype).is_floating and x.dtype != self._nt_dtype.name
        return KerasTensor(x.shape, self._nt_dtype.name) if is_cast else x

    def _nt_build(self, arguments: dict[str, Any]) -> None:
        method = type(self).build
        if method is Layer.build:
            self.built = True
        else:
            self.build(**shapes_for(method, arguments, type(self).__name__))

    def _nt_compute(
        self,
        symbolic: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        first_input: object,
        mask: object,
    ) -> Any:
        """Compute the outputs with masks and losses, or the symbolic outputs with masks."""
        if symbolic:
            outputs = self.compute_output_spec(*args, **kwargs)
            has_compute_mask = type(self).compute_mask is not Layer.compute_mask
            if self._nt_supports_masking and (has_compute_mask or is_symbolic(mask)):
                pass_masks(self.compute_mask, first_input, mask, outputs)
        else:
            if self._nt_casts or local.autocast is not None:
                dtype = self._nt_dtype if self._nt_casts else None
                outputs = layer_context.call_autocast(dtype, self.call, args, kwargs)
            else:
                outputs = self.call(*args, **kwargs)
            if not self.built:
                self.built = True
            masks = self._nt_supports_masking and type(self).compute_mask is not Layer.compute_mask
            if masks or mask is not None or self.activity_regularizer is not None:
                self._nt_finish(first_input, outputs, mask)
        return outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Any:
        """Compute the outputs; the first call creates the variables."""
        if getattr(self, "_nt_trained", None) is None:
            self._nt_check_initialized()
        if len(args) == 1 and type(args[0]) is Tensor and self.built and kwargs.keys() <= _TRAINING:
            training_argument = kwargs.get("training")
            if training_argument is None or type(training_argument) is bool:
                return self._nt_call_on_tensor(args[0], training_argument)
        original_arguments = args, kwargs
        if kwargs or len(args) != 1 or type(args[0]) is not Tensor:
            args, kwargs = map_structure(self._nt_convert_input, (args, kwargs))
        else:
            args, kwargs = (self._nt_convert_input(args[0]),), {}
        if not self._allow_non_tensor_positional_args:
            for x in flatten(args):
                if x is not None and not is_tensor(x):
                    raise ValueError(
                        f"Only input tensors may be passed as positional arguments. The following "
                        f"argument value should be passed as a keyword argument: {x} (of type "
                        f"{type(x)})"
                    )
        signature = signature_of(type(self).call)
        training_argument = kwargs.get("training")
        kwargs = {name: x for name, x in kwargs.items() if name != "training"}
        training = _resolve_training(signature, training_argument, kwargs)
        arguments = signature.arguments(args, kwargs)
        if not arguments and not args:
            raise TypeError(f"{type(self).__name__}.__call__() is missing its inputs.")
        first_input = args[0] if args else next(iter(arguments.values()))
        assert_input_compatibility(self._nt_input_spec, first_input, self._nt_name)
        if not self.built:
            self._nt_set_path()
            self._nt_build(arguments)
        is_symbolic_call = is_symbolic((args, kwargs))
        mask = self._nt_add_masks(signature.all, first_input, arguments, kwargs)
        outputs = self._nt_run(training, is_symbolic_call, args, kwargs, first_input, mask)
        if is_symbolic_call:
            Node(self, original_arguments[0], original_arguments[1], outputs)
        return outputs

    def _nt_call_on_tensor(self, x: Tensor, training_argument: bool | None) -> Any:
        """Fast path of `__call__`: a built layer and a single tensor, so no nested structure."""
        if x._spec.dtype is not self._nt_dtype:
            x = self._nt_convert_input(x)
        kwargs: dict[str, Any] = {}
        signature, mask = signature_of(type(self).call), getattr(x, "_keras_mask", None)
        training = _resolve_training(signature, training_argument, kwargs)
        assert_input_compatibility(self._nt_input_spec, x, self._nt_name)
        if signature.takes_mask:
            kwargs["mask"] = mask
        return self._nt_run(training, False, (x,), kwargs, x, mask)

    def _nt_run(
        self,
        training: bool | None,
        symbolic: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        first_input: object,
        mask: object,
    ) -> Any:
        """Run ``call`` on converted arguments with this layer as the enclosing layer."""
        if not local.layers:
            self._nt_clear_losses()
        try:
            return layer_context.call_within(
                self, training, self._nt_compute, symbolic, args, kwargs, first_input, mask
            )
        except OpError as error:
            add_location(error, self, first_input)
            raise

    def _nt_add_masks(
        self,
        names: tuple[str, ...],
        first_input: object,
        arguments: dict[str, Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Add the masks of the inputs to ``kwargs`` where ``call`` has parameters for them.

        Returns:
          The mask of the first input.
        """
        if any(name.endswith("mask") for name in names):
            tensors = tensors_in(arguments)
            for name, x in tensors.items():
                parameter = "mask" if len(tensors) == 1 else f"{name}_mask"
                if parameter in names and arguments.get(parameter) is None:
                    kwargs[parameter] = map_structure(mask_of, x)
        mask = kwargs.get("mask")
        return map_structure(mask_of, first_input) if mask is None else mask

    def _nt_finish(self, first_input: object, outputs: object, mask: object) -> None:
        """Add the activity regularization loss, and attach masks to the outputs."""
        if self.activity_regularizer is not None:
            for x in flatten(outputs):
                if isinstance(x, Tensor):
                    loss = self.activity_regularizer(x)
                    if x.ndim:  # the mean over examples; 0 for an empty batch
                        loss = divide_no_nan(loss, float(x.shape[0]))
                    self._nt_losses.add(loss)
        if mask is None:
            if not self._nt_supports_masking or type(self).compute_mask is Layer.compute_mask:
                return
        elif not any(m is not None for m in flatten(mask)) and not self._nt_supports_masking:
            return
        if not self._nt_supports_masking:
            warn(
                f"Layer '{self._nt_name}' (of type {type(self).__name__}) was passed an input with "
                f"a mask attached to it. However, this layer does not support masking and will "
                f"therefore destroy the mask information. Downstream layers will not see the mask."
            )
            return
        tensors = [x for x in flatten(outputs) if isinstance(x, Tensor)]
        if not all(mask_of(x) is not None for x in tensors):
            masks = self.compute_mask(first_input, mask)
            if masks is not None:
                for x, new_mask in zip(tensors, flatten(masks), strict=False):
                    if new_mask is not None and mask_of(x) is None:
                        set_mask(x, new_mask)

    # --- The place in a graph ----------------------------------------------------------------

    def _nt_node(self, attribute: str) -> Node:
        """The node of the first call in a graph; ``attribute`` is the property that needs it."""
        if not self._nt_inbound_nodes:
            raise AttributeError(
                f"The layer {self._nt_name} has never been called and thus has no defined "
                f"{attribute}."
            )
        node: Node = self._nt_inbound_nodes[0]
        return node

    @property
    def input(self) -> Any:
        """The symbolic input of the first call, or a list of them."""
        inputs = self._nt_node("input").inputs
        return inputs[0] if len(inputs) == 1 else inputs

    @property
    def output(self) -> Any:
        """The symbolic output of the first call, or a structure of them."""
        return self._nt_node("output").structure


hint_missing_attributes(Layer, LAYER)
tell(Layer, "keras.Layer")
