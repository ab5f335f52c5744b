"""What an optimizer keeps: its step counter, its step size, and variables for each one trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.log.tensors import as_tensor
from ...core.log.variable import Variable, original
from ...core.ops.arithmetic import floordiv
from ...core.ops.creation import fill
from ...core.values.dtypes import float32, int64, repr_of
from ...core.values.tensor import Tensor
from ...deferred_restore import notify_changed
from ...function.pickling import refuse_older
from ...module import snake_case
from .. import initializers
from ..dtypes import keras_dtype
from ..layer_variable import LayerVariable
from .saved import Saved
from .schedule import LearningRateSchedule

_count: Counter[str] = Counter()

# Names of variables and what they begin with: of each group, every trained variable has one of
# each name, and then those of the next group come.
Groups = Sequence[Sequence[tuple[str, float]]]


def trained_variables(variables: Iterable[Any]) -> list[Variable]:
    """The variables that hold the state of these."""
    provided = list(variables)
    if set(map(type, provided)) == {Variable}:  # none is another name of one
        return provided
    trained_variables = []
    for variable in provided:
        if type(variable) is LayerVariable:  # as those of layers are
            trained_variables.append(variable._original)
            continue
        if not isinstance(variable, Variable):
            raise TypeError(f"{repr_of(variable)} is not a variable: there is nothing to train.")
        trained_variables.append(original(variable))
    return trained_variables


class State(Saved):
    """Base of optimizers: variables by the order of those to train, and where to find them.

    A copy, or one read from a pickle, knows the variables that were copied with it. If it was
    copied without them, it takes the first ones that it gets, if they have the same names, shapes
    and dtypes in the same order.
    """

    gradient_accumulation_steps: int | None = None

    def __init__(self, learning_rate: Any, name: str | None) -> None:
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
        self._nt_named: tuple[LayerVariable, ...] = ()  # all its state, by the names here
        self._nt_places: tuple[tuple[Variable, str, int], ...] = ()
        self._nt_trained: list[Variable] = []  # what it was built for
        self._nt_slots: list[list[Variable]] = []  # those of each
        self._nt_averages: list[Variable] = []
        self._nt_accumulators: list[Variable] = []
        self._nt_index: dict[int, int] = {}
        self._nt_apart = False
        self._nt_iterations = self._nt_own(0, "iteration", int64)
        self._nt_learning_rate = learning_rate
        if not callable(learning_rate):
            self._nt_own(learning_rate, "learning_rate", float32)
            self._nt_learning_rate = self.variables[-1]

    def _nt_own(
        self, value: Any, name: str, dtype: Any, trained: Variable | None = None
    ) -> Variable:
        """A variable of the optimizer, or one that it keeps for a trained one."""
        full = name if trained is None else name_of(trained, name)
        result = Variable(value, trainable=False, name=f"{self.name}/{full}", dtype=dtype)
        # A new tuple: a recording may have read the old one.
        self._nt_named = (*self._nt_named, LayerVariable(result))
        if trained is not None and id(trained) in self._nt_index:
            self._nt_places = (*self._nt_places, (result, name, self._nt_index[id(trained)]))
        if self.built:
            notify_changed(self)
        return result

    @property
    def iterations(self) -> Variable | Tensor:
        """The number of steps so far, an int64 variable.

        With ``gradient_accumulation_steps`` a tensor: how often all variables were changed.
        """
        if self.gradient_accumulation_steps:
            return floordiv(self._nt_iterations, self.gradient_accumulation_steps)
        return self._nt_named[0]

    @property
    def learning_rate(self) -> Any:
        """The step size, a variable: assign it to change it, in a recorded function as well.

        Of a schedule it is what that gives for this step, a tensor; of a function what that
        returns.

        Raises:
          TypeError: If it is assigned and there is a schedule.

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
    def learning_rate(self, value: Any) -> None:
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
                f"cannot replace: make the optimizer with a float `learning_rate`."
            )

    def _nt_rate(self) -> Variable | Tensor:
        """The step size of this step, a scalar."""
        rate = self.learning_rate
        if type(rate) is Variable:
            return rate
        return original(rate) if isinstance(rate, Variable) else as_tensor(rate)

    def _nt_count(self) -> Variable | Tensor:
        """What `iterations` gives, or the variable that it is another name of."""
        return self.iterations if self.gradient_accumulation_steps else self._nt_iterations

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's own variables: step counter, learning rate, those of each one trained.

        Example:
          >>> optimizer = tf.keras.optimizers.Adam()
          >>> optimizer.build([tf.Variable([1.0, 2.0], name="v")])
          >>> [v.name for v in optimizer.variables]
          ['iteration', 'learning_rate', 'v_momentum', 'v_velocity']
        """
        return list(self._nt_named)

    # --- Building

    def build(self, variables: Iterable[Variable]) -> None:
        """Make the optimizer's variables for those to train. The first step does so by itself.

        Args:
          variables: The variables to train.

        Raises:
          TypeError: If one is not a variable.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD(momentum=0.9)
          >>> optimizer.build([tf.Variable([1.0, 2.0])])
          >>> len(optimizer.variables)
          3
        """
        if self.built:
            return
        trained = trained_variables(variables)
        before = self._nt_named, self._nt_places, self._nt_trained
        self._nt_trained = trained
        self._nt_number()
        try:
            self._nt_build(trained)
        except BaseException:
            self._nt_named, self._nt_places, self._nt_trained = before
            self._nt_number()
            raise
        self.built = True
        notify_changed(self)

    def _nt_build(self, trained: list[Variable]) -> None:
        """Make the variables for those to train."""
        averages, accumulators = [], []
        if getattr(self, "use_ema", False):
            averages = [self._nt_like(v, "average") for v in trained]
        if self.gradient_accumulation_steps:
            accumulators = [self._nt_like(v, "gradient_accumulator") for v in trained]
        slots: list[list[Variable]] = [[] for _ in trained]
        for group in self._nt_groups():
            for variable, own in zip(trained, slots, strict=True):
                for name, start in group:
                    created = fill(variable.shape, as_tensor(start, variable._spec))
                    own.append(self._nt_own(created, name, variable.dtype, variable))
        self._nt_averages, self._nt_accumulators, self._nt_slots = averages, accumulators, slots

    def _nt_groups(self) -> Groups:
        """Which variables there are for each one trained."""
        return []

    def add_variable(
        self,
        shape: Any,
        initializer: Any = "zeros",
        dtype: Any = None,
        aggregation: str = "none",
        layout: Any = None,
        name: str | None = None,
    ) -> Variable:
        """A variable of the optimizer, for one of your own.

        Args:
          shape: Its shape.
          initializer: What it begins with: a name or a function of a shape and a dtype.
          dtype: Its dtype: float32 without.
          aggregation: Accepted for Keras's sake.
          layout: Also.
          name: Its name.

        Returns:
          A variable, which `variables` has.
        """
        made_by, dtype = initializers.get(initializer), keras_dtype(dtype or None)
        self._nt_own(made_by(tuple(shape), dtype), name or "variable", dtype)
        return self._nt_named[-1]

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str | None = None, initializer: Any = "zeros"
    ) -> Variable:
        """A variable of the optimizer, of the shape and dtype of another.

        Args:
          reference_variable: The other.
          name: What its name ends with.
          initializer: Its prefix.

        Returns:
          A variable.
        """
        self._nt_like(original(reference_variable), name or "var", initializer)
        return self._nt_named[-1]

    def _nt_like(self, trained: Variable, name: str, initializer: Any = "zeros") -> Variable:
        result = initializers.get(initializer)(tuple(trained.shape), trained.dtype)
        return self._nt_own(result, name, trained.dtype, trained)

    def add_optimizer_variables(
        self, trainable_variables: Iterable[Variable], name: Any, initializer: Any = "zeros"
    ) -> Any:
        """A variable of the optimizer, or several, for each of these.

        Args:
          trainable_variables: The others.
          name: What names end with; or a list, for several each.
          initializer: What they begin with; or a list of the same length.

        Returns:
          A list of variables; or a tuple of lists, one for each name.

        Raises:
          ValueError: If lists have different lengths.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD()
          >>> m, s = optimizer.add_optimizer_variables([tf.Variable([1.0, 2.0])], ["m", "s"])
          >>> [v.name for v in optimizer.variables[2:]], s[0].shape
          (['Variable_m', 'Variable_s'], TensorShape([2]))
        """
        names = [name] if isinstance(name, str) else list(name)
        starts = (
            list(initializer)
            if isinstance(initializer, list | tuple)
            else ([initializer] * len(names))
        )
        if len(names) != len(starts):
            raise ValueError(
                f"The number of provided names must match the number of provided initializers. "
                f"Received name={name!r}, initializer={initializer!r}"
            )
        add_optimizer_variables: tuple[list[Variable], ...] = tuple([] for _ in names)
        for variable in trainable_variables:
            for own, each, start in zip(add_optimizer_variables, names, starts, strict=True):
                own.append(self.add_variable_from_reference(variable, each, start))
        return add_optimizer_variables[0] if isinstance(name, str) else add_optimizer_variables

    # --- Which variables are known

    def _nt_number(self) -> None:
        """Note where each variable's own are."""
        self._nt_index = {id(variable): k for k, variable in enumerate(self._nt_trained)}

    def _get_variable_index(self, variable: Variable) -> int:
        """The place of a variable among those it was built for."""
        return self._nt_index[id(original(variable))]

    def _nt_known(self, variables: list[Variable]) -> None:
        """Check that it was built for these variables, or take them in their copies' place."""
        for variable in variables:
            if id(variable) not in self._nt_index:
                self._nt_take(variables, variable)
                break
        if self._nt_apart:
            self._nt_apart = False

    def _nt_take(self, variables: list[Variable], unknown: Variable) -> None:
        """Take variables in the place of those that they are copies of."""
        kinds = [_kind(v) for v in self._nt_trained]
        if not (self._nt_apart and [_kind(v) for v in variables] == kinds):
            raise ValueError(
                f"Unknown variable: {unknown!r}. This optimizer can only be called for the "
                f"variables it was originally built with. When working with a new set of "
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


def name_of(variable: Variable, name: str) -> str:
    """The name of an optimizer's variable for another."""
    return f"{variable._name.replace('/', '_')}_{name}"


def _kind(variable: Variable) -> tuple[Any, ...]:
    """What a variable's copy has in common with it."""
    return variable._name, variable._spec
