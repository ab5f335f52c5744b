"""`Optimizer`: the base class, with its variables, its steps and `apply_gradients`.

It also has descriptions and checks of the arguments of optimizers: `optimizer_class`, `real`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from ...compat.missing_names import tell
from ...compat.traceback_filter import warn
from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable, assign_all, original
from ...core.ops.arithmetic import floordiv, floormod
from ...core.ops.comparison import equal, not_equal
from ...core.ops.creation import fill, zeros
from ...core.ops.elementwise import cast, clip_by_value, select
from ...core.ops.norms import clip_by_global_norm, clip_by_norm
from ...core.replay.tracing import undo_on_error
from ...core.values.dtypes import DType, float32, int64, repr_of
from ...core.values.hints import MissingAttribute, hint_missing_attributes
from ...core.values.indexed_slices import IndexedSlices
from ...core.values.tensor import Tensor
from ...deferred_restore import notify_changed
from ...errors import InvalidArgumentError
from ...function.pickling import refuse_older
from ...module import snake_case
from .. import initializers
from ..error_context import OPTIMIZER
from ..layer import LayerVariable
from ..registry import ClassRegistry, describe, keras_dtype
from .schedules import LearningRateSchedule, deserialize, serialize

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, IntLike, TensorLike
    from ...core.values.tensor import Operators
    from ..annotations import InitializerLike, LearningRate

_Class = TypeVar("_Class", bound=type)

BASE = {
    "weight_decay": "Each step subtracts ``weight_decay * learning_rate * variable``; None for no "
    "decay.",
    "clipnorm": "Clip each gradient to this Euclidean norm.",
    "clipvalue": "Clip each element of a gradient to this absolute value.",
    "global_clipnorm": "Clip all gradients together to this Euclidean norm.",
    "use_ema": "Whether to keep moving averages of the variables; see `finalize_variable_values`.",
    "ema_momentum": "The decay factor of the moving averages, from 0 to 1.",
    "ema_overwrite_frequency": "The number of steps between overwriting the variables with their "
    "moving averages; None for never.",
    "loss_scale_factor": "`scale_loss` multiplies by this factor; gradients are divided by it.",
    "gradient_accumulation_steps": "The number of calls whose mean gradient makes one step; None "
    "is 1.",
    "name": "The optimizer's name; default: the class name in snake case, numbered.",
}
ARGUMENTS = {
    "learning_rate": "A float, a schedule, or a function of no arguments that is called at each "
    "step.",
    **BASE,
    "momentum": "The fraction of the last step that is added to the next, from 0 to 1.",
    "nesterov": "Whether to use Nesterov momentum.",
    "rho": "The decay factor of the moving averages.",
    "epsilon": "A small constant that keeps the denominator positive.",
    "centered": "Whether to normalize by the variance of gradients instead of the mean square.",
    "beta_1": "The decay factor of the moving average of gradients.",
    "beta_2": "The decay factor of the moving average of squared gradients, or its equivalent.",
    "amsgrad": "Whether to use the maximum of the mean squares so far.",
    "initial_accumulator_value": "The initial value of the sum of squares.",
    "learning_rate_power": "The power of the sum of squares in the learning rate, at most 0.",
    "l1_regularization_strength": "The L1 strength, which sets small values to 0.",
    "l2_regularization_strength": "The L2 strength.",
    "l2_shrinkage_regularization_strength": "The gradient gets twice this times the variable.",
    "beta": "A constant added to the root of the sum of squares.",
    "beta_2_decay": "``beta_2`` is ``1 - step ** beta_2_decay``.",
    "epsilon_1": "A small constant added to squared gradients.",
    "epsilon_2": "The minimum of the variable's root mean square, which scales the step.",
    "clip_threshold": "The maximum root mean square of an update.",
    "warmup_steps": "The number of steps in which the learning rate grows from 0 to its value.",
    "adam_beta_1": "``beta_1`` of the variables that take Adam's step.",
    "adam_beta_2": "``beta_2`` of the variables that take Adam's step.",
    "adam_weight_decay": "The weight decay of the variables that take Adam's step; None for no "
    "decay.",
    "adam_lr_ratio": "The factor of the learning rate in Adam's step.",
    "exclude_layers": "Regular expressions: variables whose paths match one take Adam's step.",
    "exclude_embeddings": "Whether variables with ``embedding`` in their path take Adam's step.",
    "muon_a": "The factor of x in the iteration.",
    "muon_b": "The factor of x @ x.T @ x.",
    "muon_c": "The factor of x @ x.T @ x @ x.T @ x.",
    "ns_steps": "The number of iterations.",
    "rms_rate": "Steps are multiplied by this and by the root of the longer side; None to omit "
    "both factors.",
    "inner_optimizer": "The optimizer that takes the steps.",
    "initial_scale": "The first loss scale.",
    "dynamic_growth_steps": "The number of finite steps in sequence that double the loss scale.",
    "optimizer_map": "An `OptimizerMap`, or a function from a variable to its optimizer.",
    "default_optimizer": "The optimizer of variables without an entry.",
    "kwargs": "Arguments of older configs of Keras, which must have their defaults.",
    "relative_step": "Whether to limit a constant learning rate to 1 / sqrt(step).",
}
_described = describe(ARGUMENTS, "", "ValueError: If an argument is out of range.")


def optimizer_class(cls: _Class) -> _Class:
    """Class decorator: adds descriptions of arguments to the docstring, and rejects ``lr``."""
    make = vars(cls)["__init__"]

    @wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            raise ValueError(
                f"Argument(s) not recognized: {{'lr': {repr_of(kwargs['lr'])}}}: "
                "write learning_rate."
            )
        make(self, *args, **kwargs)

    setattr(cls, "__init__", __init__)  # noqa: B010
    return _described(cls)


def real(**arguments: object) -> None:
    """Raise a ValueError for arguments that are not real numbers."""
    for name, value in arguments.items():
        if not isinstance(value, Real):
            raise ValueError(f"`{name}` must be a number. Received: {name}={repr_of(value)}")


def _last_path_part(variable: Variable) -> str:
    """The last part of a variable's name: its name in its layer."""
    return variable._name.rpartition("/")[2]


REGISTRY = ClassRegistry("optimizer", [])  # the package adds the classes


def optimizer_of(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """Create an optimizer from its config; the class name is case-insensitive."""
    name = config.get("class_name") if isinstance(config, dict) else None
    if isinstance(name, str) and name.lower() in REGISTRY.known:
        config = {**config, "class_name": name.lower()}
    return REGISTRY.deserialize(config, custom_objects)


_count: Counter[str] = Counter()


def reset_names() -> None:
    """Restart the numbering of names."""
    _count.clear()


# Names and initial values of slots. For each group in turn, every trained variable gets one slot
# of each name.
# None starts a slot at the variable's value.
Groups = Sequence[Sequence[tuple[str, float | None]]]


def trained_variables(variables: Iterable[Any]) -> list[Variable]:
    """Return the `Variable` behind each trained variable, such as a layer's."""
    provided = list(variables)
    if set(map(type, provided)) == {Variable}:  # fast path: nothing to unwrap
        return provided
    unwrapped = []
    for variable in provided:
        if type(variable) is LayerVariable:  # a layer's weight
            unwrapped.append(variable._original)
            continue
        if not isinstance(variable, Variable):
            raise TypeError(f"{repr_of(variable)} is not a variable, so it cannot be trained.")
        unwrapped.append(original(variable))
    return unwrapped


def name_of(variable: Variable, name: str) -> str:
    """The name of a slot of a variable."""
    return f"{variable._name.replace('/', '_')}_{name}"


def _kind(variable: Variable) -> tuple[Any, ...]:
    """The name and spec of a variable, which its copies share."""
    return variable._name, variable._spec


Operand = Variable | Tensor


class Changes:
    """New values of variables, assigned together by `assign`."""

    def __init__(self) -> None:
        self.new: dict[int, tuple[Variable, Tensor]] = {}

    def __getitem__(self, variable: Variable) -> Operand:
        result = self.new.get(id(variable))
        return variable if result is None else result[1]

    def __setitem__(self, variable: Variable, value: Tensor) -> None:
        self.new[id(variable)] = variable, value

    def __contains__(self, variable: Variable) -> bool:
        return id(variable) in self.new

    def only_if(self, condition: Tensor) -> None:
        """Keep the old values where ``condition`` is False."""
        for variable, value in self.new.values():
            self[variable] = select(condition, value, variable)

    def assign(self) -> None:
        """Assign all new values atomically."""
        if self.new:
            assign_all(*zip(*self.new.values(), strict=True))


def dense(gradient: TensorLike, variable: Operand) -> Tensor:
    """Convert a gradient to a dense tensor of its variable's shape and dtype."""
    spec = variable._spec
    if type(gradient) is Tensor and gradient._spec is spec:
        return gradient
    if isinstance(gradient, IndexedSlices):
        gradient = IndexedSlices(gradient.values, gradient.indices, tuple(spec.shape))
    gradient = as_tensor(gradient)
    if gradient.shape != spec.shape:
        name = variable.name if isinstance(variable, Variable) else ""
        raise InvalidArgumentError(
            f"A gradient of shape {gradient.shape} for variable {name!r} of shape "
            f"{variable.shape}: the shapes must be equal."
        )
    return cast(gradient, spec.dtype)


_USUAL = frozenset({Tensor, IndexedSlices, type(None)})  # types of gradients


class _Lr(MissingAttribute):
    """The old name of ``learning_rate``: setting it on a built-in optimizer is an error."""

    def __get__(self, instance: object, cls: type) -> Any:
        return (
            vars(instance)["lr"]
            if instance is not None and "lr" in vars(instance)
            else (super().__get__(instance, cls))
        )

    def __set__(self, instance: object, value: object) -> None:
        if type(instance).__module__.startswith("numtape."):
            super().__get__(instance, type(instance))
        vars(instance)["lr"] = value  # a user's class may have an attribute of this name


@optimizer_class
class Optimizer:
    """Base class of optimizers: slot variables, the step counter, `apply_gradients`.

    A custom optimizer creates its variables in `build` and overrides `update_step`.

    >>> class Signs(tf.keras.optimizers.Optimizer):
    ...     def update_step(self, gradient, variable, learning_rate):
    ...         self.assign_sub(variable, learning_rate * tf.sign(gradient))
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = Signs(learning_rate=0.5).apply_gradients([(tf.constant([-3.0, 7.0]), v)])
    >>> v.numpy()
    array([1.5, 1.5], dtype=float32)
    """

    # Construction.

    def __init__(
        self,
        learning_rate: LearningRate,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
    ) -> None:
        limits = {
            "weight_decay": weight_decay,
            "clipnorm": clipnorm,
            "clipvalue": clipvalue,
            "global_clipnorm": global_clipnorm,
            "loss_scale_factor": loss_scale_factor,
        }
        real(**{key: value for key, value in limits.items() if value is not None})
        real(ema_momentum=ema_momentum)
        if gradient_accumulation_steps is not None and (
            not isinstance(gradient_accumulation_steps, int)
            or gradient_accumulation_steps == 1
            or gradient_accumulation_steps < 0
        ):
            raise ValueError(
                f"`gradient_accumulation_steps` must be an integer >= 2. Received: "
                f"gradient_accumulation_steps={repr_of(gradient_accumulation_steps)}"
            )
        if use_ema and not 0 <= ema_momentum <= 1:
            raise ValueError(
                f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={ema_momentum}"
            )
        if (
            use_ema
            and ema_overwrite_frequency
            and (not isinstance(ema_overwrite_frequency, int) or ema_overwrite_frequency < 1)
        ):
            raise ValueError(
                f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: "
                f"ema_overwrite_frequency={repr_of(ema_overwrite_frequency)}"
            )
        if sum(x is not None for x in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                f"Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
                f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
            )
        if not (callable(learning_rate) or isinstance(learning_rate, float)):
            raise ValueError(
                f"Argument `learning_rate` should be float, or an instance of "
                f"LearningRateSchedule, or a callable (that takes no arguments and returns the "
                f"learning rate). Received instead: learning_rate={repr_of(learning_rate)}"
            )
        if name is None:
            name = snake_case(type(self).__name__)
            _count[name] += 1
            name += f"_{_count[name] - 1}" * (_count[name] > 1)
        self.name = name
        self.built = False
        self._nt_named: tuple[LayerVariable, ...] = ()  # the whole state
        self._nt_places: tuple[tuple[Variable, str, int], ...] = ()
        self._nt_trained: list[Variable] = []  # the variables it was built for
        self._nt_slots: list[list[Variable]] = []  # the slots of each
        self._nt_averages: list[Variable] = []
        self._nt_accumulators: list[Variable] = []
        self._nt_index: dict[int, int] = {}
        self._nt_apart = False
        self._nt_iterations = self._nt_own(0, "iteration", int64)
        self._nt_learning_rate = learning_rate
        if not callable(learning_rate):
            self._nt_own(learning_rate, "learning_rate", float32)
            self._nt_learning_rate = [*self._nt_named][-1]
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self._nt_without_decay = []
        self._nt_names_without_decay = []

    # Exports and imports of the variables' values.

    name: str
    built: bool
    _nt_iterations: Variable
    _nt_learning_rate: Any
    _nt_named: tuple[LayerVariable, ...]
    _nt_places: tuple[tuple[Variable, str, int], ...]
    _nt_trained: list[Variable]

    @property
    def _nt_variables(self) -> list[Variable]:
        """The underlying `Variable` of each state variable."""
        return [original(variable) for variable in self._nt_named]

    # --- Checkpoints

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name."""
        named_variables = {"_iterations": self._nt_iterations}
        if isinstance(self._nt_learning_rate, Variable):
            named_variables["_learning_rate"] = original(self._nt_learning_rate)
        other_variables = [
            v
            for v in self._nt_variables
            if all(v is not named for named in named_variables.values())
        ]
        return {**named_variables, "_variables": other_variables}

    def _nt_saved_slots(self) -> list[tuple[Variable, str, int, Variable]]:
        """Return each slot, its kind, and the index of its trained variable and this variable."""
        trained = self._nt_trained
        return [(slot, kind, index, trained[index]) for slot, kind, index in self._nt_places]

    def _nt_saved_names(self, number: Callable[[Variable], int | None]) -> dict[str, str]:
        """Return the names of the optimizer's variables in a checkpoint's graph.

        A slot is named after the graph node of its trained variable, so that the order of
        variables does not matter. Without such a node it is named after the trained variable's
        index and name.

        Args:
          number: A function from a trained variable to its node in the graph, or None.

        Returns:
          The names in the checkpoint, by those of `_nt_saved_parts`.
        """
        places = {id(place[0]): place for place in self._nt_saved_slots()}
        saved_names: dict[str, str] = {}
        other_count = 0
        for k, slot in enumerate(self._nt_saved_parts()["_variables"]):
            if id(slot) in places:
                _, kind, index, trained = places[id(slot)]
                node = number(trained)
                name = f"{kind} {index}: {_last_path_part(trained)}"
                if node is not None:
                    name = f"{kind} of {node}"
            else:
                name, other_count = f"{other_count}: {_last_path_part(slot)}", other_count + 1
            while name in saved_names.values():
                name += "+"
            saved_names[f"_variables/{k}"] = name
        return saved_names

    # --- Lists and dicts

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the optimizer's variables; if a value does not match, none changes.

        Args:
          weights: Arrays in the order of `variables`.

        Raises:
          ValueError: If the optimizer is not built, or shapes or the number of arrays differ.
        """
        if not self.built:
            raise ValueError(
                "You are calling `set_weights()` on an optimizer that has not yet been built. "
                "Please call `optimizer.build(trainable_variables)` to create the optimizer "
                "weights before calling `set_weights()`."
            )
        self._nt_set_values(weights)

    def _nt_set_values(self, weights: Sequence[Any]) -> None:
        if len(weights) != len(self._nt_variables):
            raise ValueError(
                f"Optimizer '{self.name}' has {len(self._nt_variables)} variables, but was given "
                f"{len(weights)} weights."
            )
        values = []
        for variable, weight in zip(self._nt_variables, weights, strict=True):
            value = cast(weight, variable.dtype)
            if value.shape != variable.shape:
                raise ValueError(
                    f"Optimizer variable {variable.name} has shape {variable.shape} not compatible "
                    f"with provided weight shape {value.shape}."
                )
            values.append(value)
        assign_all(self._nt_variables, values)

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Store the values of `variables` in a dict.

        Args:
          store: The dict to fill; its keys become ``"0"``, ``"1"`` and so on.

        Example:
          >>> store = {}
          >>> tf.keras.optimizers.SGD(0.5).save_own_variables(store)
          >>> store
          {'0': np.int64(0), '1': np.float32(0.5)}
        """
        for k, variable in enumerate(self._nt_variables):
            store[str(k)] = variable.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Load `variables` from a dict; if its length differs, warn and load nothing.

        Args:
          store: A dict filled by `save_own_variables`.

        Raises:
          ValueError: If shapes differ.
        """
        if len(store) != len(self._nt_variables):
            warn(
                f"Skipping variable loading for optimizer '{self.name}', because it has "
                f"{len(self._nt_variables)} variables whereas the saved optimizer has {len(store)} "
                f"variables."
            )
            return
        self._nt_set_values([store[str(k)] for k in range(len(store))])

    # The optimizer's variables, and the trained variables that they belong to.

    gradient_accumulation_steps: int | None = None

    def _nt_own(
        self,
        value: TensorLike,
        name: str,
        dtype: DTypeLike,
        trained_variable: Variable | None = None,
    ) -> Variable:
        """Create a variable of the optimizer, or a slot of ``trained_variable``."""
        full_name = name if trained_variable is None else name_of(trained_variable, name)
        result = Variable(value, trainable=False, name=f"{self.name}/{full_name}", dtype=dtype)
        # Create a new tuple: a recording may have read the old one.
        self._nt_named = (*self._nt_named, LayerVariable(result))
        if trained_variable is not None and id(trained_variable) in self._nt_index:
            self._nt_places = (
                *self._nt_places,
                (result, name, self._nt_index[id(trained_variable)]),
            )
        if self.built:
            notify_changed(self)
        return result

    @property
    def iterations(self) -> Variable | Tensor:
        """The number of steps so far, an int64 variable.

        With ``gradient_accumulation_steps`` it is a tensor: the number of updates of the variables.
        """
        if self.gradient_accumulation_steps:
            return floordiv(self._nt_iterations, self.gradient_accumulation_steps)
        return self._nt_named[0]

    @property
    def learning_rate(self) -> Any:
        """The learning rate, a variable. Assign to change it, also in a recorded function.

        With a schedule it is the schedule's value for this step; with a function, its result.

        Raises:
          TypeError: On assignment, if the optimizer has a schedule or function.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD(0.5)
          >>> optimizer.learning_rate = 0.25
          >>> optimizer.learning_rate.numpy()
          np.float32(0.25)
        """
        rate = self._nt_learning_rate
        if isinstance(rate, LearningRateSchedule):
            return rate(self._nt_iterations)
        return rate() if callable(rate) else rate

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        current = self._nt_learning_rate
        if callable(value):
            self._nt_learning_rate = value
            self._nt_named = tuple(v for v in self._nt_named if v is not current)
        elif isinstance(current, Variable):
            current.assign(value)
        elif isinstance(current, LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its "
                "`learning_rate` constructor argument, hence its learning rate is not settable. "
                "If you need the learning rate to be settable, you should instantiate the "
                "optimizer with a float `learning_rate` argument."
            )
        else:
            raise TypeError(
                f"The learning rate of this optimizer is a function, {current!r}, which a number "
                f"cannot replace: create the optimizer with a float `learning_rate`."
            )

    def _nt_rate(self) -> Variable | Tensor:
        """The learning rate of this step, a scalar."""
        rate = self.learning_rate
        if type(rate) is Variable:
            return rate
        return original(rate) if isinstance(rate, Variable) else as_tensor(rate)

    def _nt_count(self) -> Variable | Tensor:
        """`iterations`, as the underlying `Variable` if it is one."""
        return self.iterations if self.gradient_accumulation_steps else self._nt_iterations

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's variables: step counter, learning rate, and slots.

        Example:
          >>> optimizer = tf.keras.optimizers.Adam()
          >>> optimizer.build([tf.Variable([1.0, 2.0], name="v")])
          >>> [v.name for v in optimizer.variables]
          ['iteration', 'learning_rate', 'v_momentum', 'v_velocity']
        """
        return list(self._nt_named)

    # --- Building

    def build(self, variables: Iterable[Variable]) -> None:
        """Create the slots of the variables to train. The first step calls this if needed.

        Args:
          variables: The variables to train.

        Raises:
          TypeError: If an element is not a variable.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD(momentum=0.9)
          >>> optimizer.build([tf.Variable([1.0, 2.0])])
          >>> len(optimizer.variables)
          3
        """
        if self.built:
            return
        trained = trained_variables(variables)
        previous_state = self._nt_named, self._nt_places, self._nt_trained
        self._nt_trained = trained
        self._nt_number()
        try:
            self._nt_build(trained)
        except BaseException:
            self._nt_named, self._nt_places, self._nt_trained = previous_state
            self._nt_number()
            raise
        self.built = True
        notify_changed(self)

    def _nt_build(self, variables: list[Variable]) -> None:
        """Create averages, accumulators and slots of the variables to train."""
        averages, accumulators = [], []
        if getattr(self, "use_ema", False):
            averages = [self._nt_like(v, "average") for v in variables]
        if self.gradient_accumulation_steps:
            accumulators = [self._nt_like(v, "gradient_accumulator") for v in variables]
        slots: list[list[Variable]] = [[] for _ in variables]
        for group in self._nt_groups():
            for variable, variable_slots in zip(variables, slots, strict=True):
                for name, initial_value in group:
                    initial_array: TensorLike = variable.read_value()
                    if initial_value is not None:
                        scalar = as_tensor(initial_value, variable._spec)
                        initial_array = fill(variable.shape, scalar)
                    variable_slots.append(
                        self._nt_own(initial_array, name, variable.dtype, variable)
                    )
        self._nt_averages, self._nt_accumulators, self._nt_slots = averages, accumulators, slots

    def _nt_groups(self) -> Groups:
        """Names and initial values of the slots of each trained variable."""
        return []

    def add_variable(
        self,
        shape: Iterable[IntLike],
        initializer: InitializerLike = "zeros",
        dtype: DTypeLike | None = None,
        aggregation: str = "none",
        layout: object = None,
        name: str | None = None,
    ) -> Variable:
        """Create a variable of the optimizer, for custom optimizers.

        Args:
          shape: The variable's shape.
          initializer: The name of an initializer, or a function (shape, dtype) -> tensor.
          dtype: The variable's dtype; default: float32.
          aggregation: Not used; accepted for compatibility with Keras.
          layout: Not used.
          name: The variable's name.

        Returns:
          A variable; `variables` includes it.
        """
        initialize, dtype = initializers.get(initializer), keras_dtype(dtype or None)
        self._nt_own(initialize(tuple(shape), dtype), name or "variable", dtype)
        return self._nt_named[-1]

    def add_variable_from_reference(
        self,
        reference_variable: Variable,
        name: str | None = None,
        initializer: InitializerLike = "zeros",
    ) -> Variable:
        """Create a variable of the optimizer with the shape and dtype of another.

        Args:
          reference_variable: The other variable.
          name: The suffix of the new variable's name.
          initializer: The name of an initializer, or a function (shape, dtype) -> tensor.

        Returns:
          A variable.
        """
        self._nt_like(original(reference_variable), name or "var", initializer)
        return self._nt_named[-1]

    def _nt_like(
        self, trained_variable: Variable, name: str, initializer: InitializerLike = "zeros"
    ) -> Variable:
        result = initializers.get(initializer)(
            tuple(trained_variable.shape), trained_variable.dtype
        )
        return self._nt_own(result, name, trained_variable.dtype, trained_variable)

    def add_optimizer_variables(
        self,
        trainable_variables: Iterable[Variable],
        name: str | Iterable[str],
        initializer: InitializerLike
        | list[InitializerLike]
        | tuple[InitializerLike, ...] = "zeros",
    ) -> Any:
        """Create one or more slots for each trained variable.

        Args:
          trainable_variables: The trained variables.
          name: The suffix of the slots' names; or a list, for several slots each.
          initializer: The slots' initializer; or a list of the same length.

        Returns:
          A list of variables; or a tuple of lists, one for each name.

        Raises:
          ValueError: If the lists have different lengths.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD()
          >>> m, s = optimizer.add_optimizer_variables([tf.Variable([1.0, 2.0])], ["m", "s"])
          >>> [v.name for v in optimizer.variables[2:]], s[0].shape
          (['Variable_m', 'Variable_s'], TensorShape([2]))
        """
        names = [name] if isinstance(name, str) else list(name)
        slot_initializers = (
            list(initializer)
            if isinstance(initializer, list | tuple)
            else ([initializer] * len(names))
        )
        if len(names) != len(slot_initializers):
            raise ValueError(
                f"The number of provided names must match the number of provided initializers. "
                f"Received name={name!r}, initializer={initializer!r}"
            )
        add_optimizer_variables: tuple[list[Variable], ...] = tuple([] for _ in names)
        for variable in trainable_variables:
            for slots, slot_name, slot_initializer in zip(
                add_optimizer_variables, names, slot_initializers, strict=True
            ):
                slots.append(
                    self.add_variable_from_reference(variable, slot_name, slot_initializer)
                )
        return add_optimizer_variables[0] if isinstance(name, str) else add_optimizer_variables

    # --- Known variables

    def _nt_number(self) -> None:
        """Rebuild the index of trained variables."""
        self._nt_index = {id(variable): k for k, variable in enumerate(self._nt_trained)}

    def _get_variable_index(self, variable: Variable) -> int:
        """The index of a variable among those the optimizer was built for."""
        return self._nt_index[id(original(variable))]

    def _nt_known(self, variables: list[Variable]) -> None:
        """Check that the optimizer was built for these variables, or adopt them after a copy."""
        for variable in variables:
            if id(variable) not in self._nt_index:
                self._nt_take(variables, variable)
                break
        if self._nt_apart:
            self._nt_apart = False

    def _nt_take(self, variables: list[Variable], unknown_variable: Variable) -> None:
        """Replace the variables of a copied optimizer by new ones of the same shapes and dtypes."""
        kinds = [_kind(v) for v in self._nt_trained]
        if not (self._nt_apart and [_kind(v) for v in variables] == kinds):
            raise ValueError(
                f"Unknown variable: {unknown_variable!r}. This optimizer can only be called for "
                f"the variables it was originally built with. When working with a new set of "
                f"variables, you should recreate a new optimizer instance."
            )
        self._nt_trained = variables
        self._nt_number()
        notify_changed(self)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_nt_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_trained")
        vars(self).update(state, _nt_apart=True)
        self._nt_number()

    # Steps: validated gradients are applied to variables.

    # Reduces gradients over several processes: a `numtape.distribute.gradients.GradientReducer`.
    _nt_reducer: Any = None
    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    _nt_without_decay: list[Variable]
    _nt_names_without_decay: list[str]

    def _nt_steps_by_itself(self) -> bool:
        """Whether `_nt_update` computes the step, not a subclass's `update_step`."""
        return type(self).update_step is Optimizer.update_step

    def _nt_apply(self, pairs: list[tuple[Any, Variable]], condition: Tensor | None = None) -> None:
        """Apply a step; the gradients and variables are validated already.

        Args:
          pairs: Gradients with their variables.
          condition: A bool: where it is False nothing changes; None for True.
        """
        changes = Changes()
        variables = [variable for _, variable in pairs]
        has_default_step = self._nt_steps_by_itself()
        is_update_due = None
        if self.gradient_accumulation_steps:
            is_update_due = equal(
                floormod(self._nt_iterations + 1, self.gradient_accumulation_steps), 0
            )
        gradients = self._nt_clipped(self._nt_accumulated(pairs, changes))
        rate = self._nt_rate() if has_default_step else as_tensor(self._nt_rate())
        rates: dict[DType, Operand] = {}
        for variable in variables:
            dtype = variable._spec.dtype
            if dtype not in rates:
                rates[dtype] = rate if rate._spec.dtype is dtype else cast(rate, dtype)
        steps = Changes()
        only_accumulates = not has_default_step and is_update_due is not None and not is_update_due
        has_decay = self.weight_decay is not None or self._nt_has_other_decay
        if has_decay and not only_accumulates:
            for variable in variables:
                decay = self._nt_weight_decay(variable)
                if decay is not None and self._nt_decays(variable):
                    x = steps[variable]
                    steps[variable] = x - x * decay * rates[variable.dtype]
        if has_default_step:
            shared_values = {
                dtype: self._nt_shared(dtype_rate, steps) for dtype, dtype_rate in rates.items()
            }
            self._nt_change(gradients, variables, shared_values, steps)
            if is_update_due is not None:
                steps.only_if(is_update_due)
        elif not only_accumulates:
            steps.assign()
            steps = Changes()
            for gradient, variable in zip(gradients, variables, strict=True):
                self.update_step(gradient, variable, rates[variable.dtype])
        for accumulator in self._nt_accumulators:
            if is_update_due is not None:
                empty_sum = zeros(accumulator.shape, accumulator.dtype)
                changes[accumulator] = select(is_update_due, empty_sum, changes[accumulator])
        if self._nt_averages:
            self._nt_average(steps)
        for variable in variables:
            constraint = variable._policy[0]
            if constraint is not None:
                steps[variable] = as_tensor(constraint(steps[variable]), variable._spec)
        count = self._nt_iterations
        changes.new[id(count)] = count, count + 1
        changes.new.update(steps.new)
        if condition is not None:
            changes.only_if(condition)
        changes.assign()

    def _nt_accumulated(
        self, pairs: list[tuple[Any, Variable]], changes: Changes
    ) -> list[Tensor | IndexedSlices]:
        """Return gradients as dense tensors, averaged over calls if they accumulate."""
        results: list[Tensor | IndexedSlices] = []
        for gradient, variable in pairs:
            if isinstance(gradient, IndexedSlices) and self._nt_takes_slices(variable):
                results.append(gradient)
                continue
            if type(gradient) is not Tensor or gradient._spec is not variable._spec:
                gradient = dense(gradient, variable)
            if self.loss_scale_factor is not None:
                gradient = gradient / self.loss_scale_factor
            if self._nt_accumulators:
                accumulator = self._nt_accumulators[self._get_variable_index(variable)]
                total = changes[accumulator] + gradient
                changes[accumulator] = total
                gradient = total / float(self.gradient_accumulation_steps or 1)
            results.append(gradient)
        return results

    def _nt_takes_slices(self, variable: Variable) -> bool:
        """Whether `_nt_update` accepts IndexedSlices."""
        return False

    def _nt_clipped(self, gradients: list[Any]) -> list[Any]:
        """Clip the gradients by the configured norm or value."""
        if self.clipnorm and self.clipnorm > 0:
            return [clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm and self.global_clipnorm > 0:
            return clip_by_global_norm(gradients, self.global_clipnorm)[0]
        if self.clipvalue and self.clipvalue > 0:
            return [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def _nt_change(
        self,
        gradients: Sequence[Any],
        variables: Sequence[Variable],
        shared_values: dict[DType, Any],
        changes: Changes,
    ) -> None:
        """Put the new values of variables and slots into ``changes``.

        ``shared_values`` holds the results of `_nt_shared`, by dtype.
        """
        new_values = changes.new
        for gradient, variable in zip(gradients, variables, strict=True):
            slots = self._nt_slots[self._nt_index[id(variable)]]
            current_value: Operand = variable
            current_slots: Sequence[Operand] = slots
            if id(variable) in new_values:  # decayed before, or listed twice
                current_value, current_slots = changes[variable], [changes[slot] for slot in slots]
            value, values = self._nt_update(
                current_value, gradient, shared_values[variable._spec.dtype], current_slots
            )
            new_values[id(variable)] = variable, value
            if slots or values:
                for slot, value in zip(slots, values, strict=True):
                    new_values[id(slot)] = slot, value

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        """Compute the values that all variables of the rate's dtype share in this step."""
        return rate

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Return the new values of the variable and of its slots."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `update_step(gradient, variable, learning_rate)`."
        )

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Update a variable and its slots. Custom optimizers override this.

        Args:
          gradient: A tensor of the variable's shape and dtype.
          variable: The variable.
          learning_rate: The learning rate, a scalar of the variable's dtype.

        Raises:
          NotImplementedError: If a custom optimizer does not override it.
        """
        variable = original(variable)
        changes = Changes()
        dtype = variable._spec.dtype
        shared_values = {dtype: self._nt_shared(cast(learning_rate, dtype), changes)}
        self._nt_change([dense(gradient, variable)], [variable], shared_values, changes)
        changes.assign()

    def assign(self, variable: Variable, value: TensorLike) -> None:
        """Assign a value to a variable, in `update_step`.

        Args:
          variable: A trained variable or one of the optimizer's.
          value: A tensor of its shape and dtype.
        """
        variable.assign(value)

    def assign_add(self, variable: Variable, value: TensorLike) -> None:
        """Add a value to a variable, in `update_step`.

        Args:
          variable: A trained variable or one of the optimizer's.
          value: A tensor of its shape and dtype.
        """
        variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: TensorLike) -> None:
        """Subtract a value from a variable, in `update_step`.

        Args:
          variable: A trained variable or one of the optimizer's.
          value: A tensor of its shape and dtype.
        """
        variable.assign_sub(value)

    _nt_has_other_decay = False  # whether `_nt_weight_decay` may differ from `weight_decay`

    def _nt_weight_decay(self, variable: Variable) -> float | None:
        """The weight decay of a variable that is not excluded from it."""
        return self.weight_decay

    def _nt_decays(self, variable: Variable) -> bool:
        """Whether weight decay applies to this variable."""
        if any(v is variable for v in self._nt_without_decay):
            return False
        return not any(re.search(name, variable.name) for name in self._nt_names_without_decay)

    def _nt_average(self, changes: Changes) -> None:
        """Update the moving averages; overwrite the variables with them when due."""
        count = self._nt_count()
        kept_shares: dict[DType, Tensor] = {}
        for variable, average in zip(self._nt_trained, self._nt_averages, strict=False):
            kept_share = kept_shares.get(variable.dtype)
            if kept_share is None:  # 0 in the first step, so the average starts at the variable
                kept_share = cast(not_equal(count, 0), variable.dtype) * self.ema_momentum
                kept_shares[variable.dtype] = kept_share
            changes[average] = kept_share * average + (1.0 - kept_share) * changes[variable]
        if self._nt_averages and self.ema_overwrite_frequency:
            is_overwrite_due = equal(floormod(count + 1, self.ema_overwrite_frequency), 0)
            for variable, average in zip(self._nt_trained, self._nt_averages, strict=True):
                changes[variable] = select(is_overwrite_due, changes[average], changes[variable])

    # Settings and `apply_gradients`.

    # --- A step

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> Variable:
        """Apply one step. All variables change, or on an error none does.

        `IndexedSlices` gradients act like the dense tensor: slices with the same index are summed.

        Args:
          grads_and_vars: Pairs of a gradient and its variable. A gradient of None is skipped with
            a warning.

        Returns:
          The counter of calls.

        Raises:
          ValueError: If all gradients are None, or a variable is unknown.
          TypeError: If the elements are not pairs, or the variable is not the second of a pair.
          InvalidArgumentError: If a gradient's shape differs from its variable's.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> optimizer = tf.keras.optimizers.SGD(learning_rate=0.5)
          >>> optimizer.apply_gradients([(tf.constant([2.0, 2.0]), v)]).numpy(), v.numpy()
          (np.int64(1), array([0., 1.], dtype=float32))
        """
        try:
            pairs = [(gradient, variable) for gradient, variable in grads_and_vars]
        except (TypeError, ValueError):
            raise TypeError(
                "grads_and_vars must be a list of (gradient, variable) pairs."
            ) from None
        if not pairs:
            raise ValueError("No gradients provided for any variable: the list is empty.")
        gradients, variables = zip(*pairs, strict=True)
        self.apply(gradients, variables)
        return self._nt_named[0]

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Apply one step, with gradients and variables in separate lists.

        Args:
          grads: A gradient, or None, for each variable. An empty list does nothing.
          trainable_variables: The variables; None for those the optimizer was built for.

        Raises:
          ValueError: As for `apply_gradients`, or if the lists have different lengths.
          TypeError: If an element is not a variable.
          InvalidArgumentError: If a gradient's shape differs from its variable's.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> tf.keras.optimizers.SGD(learning_rate=0.5).apply([tf.constant([2.0, 2.0])], [v])
          >>> v.numpy()
          array([0., 1.], dtype=float32)
        """
        grads = list(grads)
        if not grads:
            return
        if trainable_variables is None and not self.built:
            raise ValueError(
                "When passing `grads` without `variables`, the optimizer must already be built on "
                "a list of variables. Call `optimizer.build(trainable_variables)` first."
            )
        provided = self._nt_trained if trainable_variables is None else list(trainable_variables)
        kinds = set(map(type, grads))
        for gradient, variable in () if kinds <= _USUAL else zip(grads, provided, strict=False):
            if isinstance(gradient, Variable) and not isinstance(variable, Variable):
                raise TypeError(
                    f"{gradient.name!r} is a variable in the place of a gradient: "
                    f"pairs must be (gradient, variable), so `zip(gradients, variables)`."
                )
        trained = trained_variables(provided)
        if len(grads) != len(trained):
            raise ValueError(
                "The list of gradients does not match the list of variables: "
                f"{len(grads)} and {len(trained)}."
            )
        if self._nt_reducer is not None:
            grads = self._nt_reducer.reduce(grads, trained)
        pairs, missing = list(zip(grads, trained, strict=True)), []
        if type(None) in kinds:
            untrained = [v for g, v in zip(grads, provided, strict=True) if g is None]
            missing = [getattr(v, "path", v.name) for v in untrained]
            pairs = [(g, v) for g, v in pairs if g is not None]
        if len(missing) == len(grads):
            raise ValueError(
                f"No gradients provided for any variable: {missing}. Does the loss depend on them, "
                f"and was it computed within the tape? `tape.why(loss, variable)` shows where the "
                f"path ends."
            )
        if not self.built:
            self.build(trained)
        self._nt_known(trained)
        if missing:
            warn(
                f"Gradients do not exist for variables {missing} when minimizing the loss. If "
                f"using `model.compile()`, did you forget to provide a `loss` argument? Else the "
                f"loss does not depend on them, and they stay unchanged. `tape.why(loss, "
                f"variable)` shows where the path ends."
            )
        if self._nt_steps_by_itself():
            self._nt_apply(pairs)
        else:
            with undo_on_error():
                self._nt_apply(pairs)

    def scale_loss(self, loss: Operators) -> Any:
        """Multiply the loss by ``loss_scale_factor``, if it is set.

        Args:
          loss: A tensor.

        Returns:
          A tensor.

        Example:
          >>> tf.keras.optimizers.SGD(loss_scale_factor=8.0).scale_loss(tf.constant(0.5)).numpy()
          np.float32(4.0)
        """
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    # --- Settings

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Exclude variables from weight decay.

        Args:
          var_list: Variables to exclude.
          var_names: Regular expressions; variables whose names match one are excluded.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD(1.0, weight_decay=0.5)
          >>> optimizer.exclude_from_weight_decay(var_names=["bias"])
          >>> kernel, bias = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="bias")
          >>> zero = tf.constant(0.0)
          >>> _ = optimizer.apply_gradients([(zero, kernel), (zero, bias)])
          >>> kernel.numpy(), bias.numpy()
          (np.float32(0.5), np.float32(1.0))
        """
        self._nt_without_decay = trained_variables(var_list or [])
        self._nt_names_without_decay = list(var_names or [])

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Set variables to their moving averages after training, if ``use_ema``.

        Args:
          var_list: The variables the optimizer was built for.

        Raises:
          ValueError: If their number differs.

        Example:
          >>> v, optimizer = tf.Variable(0.0), tf.keras.optimizers.SGD(1.0, use_ema=True,
          ...                                                           ema_momentum=0.5)
          >>> for _ in range(2):
          ...     _ = optimizer.apply_gradients([(tf.constant(-1.0), v)])
          >>> optimizer.finalize_variable_values([v])
          >>> v.numpy()
          np.float32(1.5)
        """
        if not self.use_ema:
            return
        variables = trained_variables(var_list)
        if len(variables) != len(self._nt_averages):
            raise ValueError(
                f"The length of model variables ({len(variables)}) to override does not match the "
                f"length of model variables stored in the optimizer ({len(self._nt_averages)}). "
                f"Please check if the optimizer was called on your model."
            )
        self._nt_known(variables)
        averages = [self._nt_averages[self._get_variable_index(v)] for v in variables]
        assign_all(variables, [average.read_value() for average in averages])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments; a schedule is a nested dict.

        Raises:
          ValueError: If the learning rate is a Python function.

        Example:
          >>> config = tf.keras.optimizers.SGD(0.5).get_config()
          >>> config["learning_rate"], config["momentum"]
          (0.5, 0.0)
        """
        rate = self._nt_learning_rate
        if isinstance(rate, LearningRateSchedule):
            rate = serialize(rate)
        elif isinstance(rate, Variable):
            rate = float(rate)
        else:
            raise ValueError(
                f"The learning rate is a function, {rate!r}, which cannot be serialized: use a "
                f"LearningRateSchedule."
            )
        return {
            "name": self.name,
            "learning_rate": rate,
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "global_clipnorm": self.global_clipnorm,
            "clipvalue": self.clipvalue,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "loss_scale_factor": self.loss_scale_factor,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Optimizer:
        """Create an optimizer, without state, from its constructor arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom schedules, by name.

        Returns:
          An optimizer.

        Example:
          >>> made = tf.keras.optimizers.Adam(0.5, beta_1=0.25)
          >>> tf.keras.optimizers.Adam.from_config(made.get_config()).beta_1
          0.25
        """
        config = dict(config)
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = deserialize(config["learning_rate"], custom_objects)
        return cls(**config)

    def __repr__(self) -> str:
        rate = self._nt_learning_rate
        rate = f"{rate.numpy():g}" if isinstance(rate, Variable) else type(rate).__name__
        return (
            f"<{type(self).__name__} name={self.name}, learning_rate={rate}, "
            f"iterations={int(self._nt_iterations)}>"
        )


hint_missing_attributes(Optimizer, OPTIMIZER)
Optimizer.lr = _Lr("lr", f"write {OPTIMIZER['lr']}")  # type: ignore[attr-defined]
tell(Optimizer, "keras.optimizers.Optimizer")
