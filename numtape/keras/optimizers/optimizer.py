"""`Optimizer`: a step is one assign of all variables: all of it, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...compat.missing_methods import tell
from ...compat.traceback_filter import warn
from ...core.log.variable import Variable, assign_all
from ...core.replay.call import undo_on_error
from ...core.values.dtypes import repr_of
from ...core.values.habits import MissingAttribute, hint_missing_attributes
from ...core.values.indexed_slices import IndexedSlices
from ...core.values.tensor import Tensor
from ..habits import OPTIMIZER
from .arguments import optimizer_class, real
from .schedule import LearningRateSchedule
from .schedules import deserialize, serialize
from .state import trained_variables
from .stepping import Stepping

_USUAL = frozenset({Tensor, IndexedSlices, type(None)})  # kinds of gradients


class _Lr(MissingAttribute):
    """What Keras calls ``learning_rate`` now: to set it would have no effect."""

    def __get__(self, thing: Any, kind: type) -> Any:
        return (
            vars(thing)["lr"]
            if thing is not None and "lr" in vars(thing)
            else (super().__get__(thing, kind))
        )

    def __set__(self, thing: Any, value: Any) -> None:
        if type(thing).__module__.startswith("numtape."):
            super().__get__(thing, type(thing))
        vars(thing)["lr"] = value  # a class of the user's may call something so


@optimizer_class
class Optimizer(Stepping):
    """Base class: slot variables, the step counter, `apply_gradients`.

    An optimizer of your own makes its variables in `build`, and overrides `update_step`.

    >>> class Signs(tf.keras.optimizers.Optimizer):
    ...     def update_step(self, gradient, variable, learning_rate):
    ...         self.assign_sub(variable, learning_rate * tf.sign(gradient))
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = Signs(learning_rate=0.5).apply_gradients([(tf.constant([-3.0, 7.0]), v)])
    >>> v.numpy()
    array([1.5, 1.5], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any,
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
        super().__init__(learning_rate, name)
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

    # --- A step

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> Variable:
        """One step: all variables are assigned at once, or, if anything goes wrong, none.

        A gradient of `IndexedSlices` does what the tensor that it stands for would do: slices of
        the same place are added up first.

        Args:
          grads_and_vars: Pairs of a gradient and its variable. A None is left out, with a warning.

        Returns:
          The counter of calls.

        Raises:
          ValueError: If there is no gradient at all, or a variable is unknown.
          TypeError: If these are no pairs, or the variable does not come second.
          InvalidArgumentError: If a gradient has another shape than its variable.

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
                "grads_and_vars is not a list of pairs of a gradient and its variable."
            ) from None
        if not pairs:
            raise ValueError("No gradients provided for any variable: the list is empty.")
        gradients, variables = zip(*pairs, strict=True)
        self.apply(gradients, variables)
        return self._nt_named[0]

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """One step, gradients and variables in two lists.

        Args:
          grads: A gradient for each variable, or None. If they do not exist, nothing is done.
          trainable_variables: The variables; None for those it was built for.

        Raises:
          ValueError: As for `apply_gradients`, or if there are not as many gradients as variables.
          TypeError: If something is not a variable.
          InvalidArgumentError: If a gradient has another shape than its variable.

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
                    f"{gradient.name!r} is a variable, and comes where its gradient should be: "
                    f"pairs are (gradient, variable), so `zip(gradients, variables)`."
                )
        trained = trained_variables(provided)
        if len(grads) != len(trained):
            raise ValueError(
                "The list of gradients does not match the list of variables: "
                f"{len(grads)} and {len(trained)}."
            )
        pairs, missing = list(zip(grads, trained, strict=True)), []
        if type(None) in kinds:
            left_out = [v for g, v in zip(grads, provided, strict=True) if g is None]
            missing = [getattr(v, "path", v.name) for v in left_out]
            pairs = [(g, v) for g, v in pairs if g is not None]
        if len(missing) == len(grads):
            raise ValueError(
                f"No gradients provided for any variable: {missing}. Does the loss depend on them, "
                f"and was it computed within the tape? `tape.why(loss, variable)` says where the "
                f"path ends."
            )
        if not self.built:
            self.build(trained)
        self._nt_known(trained)
        if missing:
            warn(
                f"Gradients do not exist for variables {missing} when minimizing the loss. If "
                f"using `model.compile()`, did you forget to provide a `loss` argument? Else the "
                f"loss does not depend on them: they stay as they are. `tape.why(loss, variable)` "
                f"says where the path ends."
            )
        if self._nt_steps_by_itself():
            self._nt_apply(pairs)
        else:
            with undo_on_error():
                self._nt_apply(pairs)

    def scale_loss(self, loss: Any) -> Any:
        """The loss times ``loss_scale_factor``, if there is one.

        Args:
          loss: A tensor.

        Returns:
          A tensor.

        Example:
          >>> tf.keras.optimizers.SGD(loss_scale_factor=8.0).scale_loss(tf.constant(0.5)).numpy()
          np.float32(4.0)
        """
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    # --- What else there is to set

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Variables of which steps take nothing away, whatever ``weight_decay`` is.

        Args:
          var_list: Variables.
          var_names: Regular expressions: a variable in whose name one is found is left out.

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
        """Give variables their running means, if ``use_ema``: what is done after training.

        Args:
          var_list: The variables it was built for.

        Raises:
          ValueError: If there are not as many.

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
          A dict of arguments; a schedule is a dict, too.

        Raises:
          ValueError: If the learning rate is a function of Python.

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
                f"The learning rate is a function, {rate!r}, which has no config: use a "
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
        """The optimizer made with these arguments, as it was before the first step.

        Args:
          config: The result of `get_config`.
          custom_objects: Schedules of your own, by name.

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
