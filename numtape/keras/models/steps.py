"""One step of training, testing or predicting, and what is compiled for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...core.log.parameters import signature_of
from ...core.log.tensors import as_tensor
from ...core.ops.elementwise import cast
from ...core.ops.reduction import reduce_sum
from ...core.values.tensor import Tensor
from ...function.function import Function
from ...nest import flatten, map_structure
from ...tape import GradientTape
from .. import optimizers
from ..layer_state import LayerState
from ..metrics import Mean
from ..symbolic import KerasTensor
from .batches import Batch, unpack
from .compiled import CompiledLoss, CompiledMetrics
from .executions import blocks, even_part

Step = Callable[..., Any]

_RECORDED = 8  # steps that are recorded together, at most: a longer recording takes long to compile


class Steps(LayerState):
    """The part of `Model` that knows what a step is. Override its steps to train otherwise."""

    _nt_training_state = frozenset(
        {
            "optimizer",
            "loss",
            "history",
            "stop_training",
            "stop_evaluating",
            "stop_predicting",
            "_nt_compiled",
            "_nt_compile_loss",
            "_nt_compile_metrics",
            "_nt_loss_tracker",
            "_nt_functions",
            "_nt_compile_arguments",
            "_nt_graph",
            "_nt_built_for",
        }
    )

    optimizer: Any
    output_names: Any
    _nt_compile_loss: CompiledLoss | None
    _nt_compile_metrics: CompiledMetrics | None
    _nt_loss_tracker: Mean | None
    _nt_functions: dict[Any, Any]

    def _nt_begin_training(self) -> None:
        self.optimizer = None
        self.loss = None
        self.stop_training = False
        self._nt_compiled = False
        self._nt_compile_loss, self._nt_compile_metrics, self._nt_loss_tracker = None, None, None
        self._nt_compile_arguments: dict[str, Any] = {}
        self._nt_forget_functions()

    def _nt_forget_functions(self) -> None:
        """Record steps again."""
        self._nt_functions = {}

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Say how the model is trained.

        Args:
          optimizer: An optimizer, or the name of one.
          loss: A loss, the name of one, or a function (y_true, y_pred) -> tensor; for several
            outputs a list of them, or a dict by the outputs' names.
          loss_weights: What each of several losses counts: a list, or a dict.
          metrics: A list of metrics, names, or functions; for several outputs a list of such
            lists, or a dict.
          weighted_metrics: Also: those that sample weights go to.
          run_eagerly: Whether each step is run as Python, and not replayed.
          steps_per_execution: How many steps `fit` and `evaluate` take at a time, replayed as one.
            Callbacks are told of batches once for all of these.
          jit_compile: Whether steps are compiled when they are recorded, and not only when they
            are used often.
          auto_scale_loss: Accepted for Keras's sake.

        Raises:
          ValueError: If a name is unknown, or an argument is not of such a form.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
          >>> model.compile("sgd", loss="mse", metrics=["mae"])
          >>> model.compiled
          True
        """
        model: Any = self
        model._nt_check_begun()
        created = optimizers.get(optimizer)
        names = self.output_names
        compiled_loss = None if loss is None else CompiledLoss(loss, loss_weights, names)
        compiled_metrics = None
        if metrics is not None or weighted_metrics is not None:
            compiled_metrics = CompiledMetrics(metrics, weighted_metrics, names)
        if not isinstance(steps_per_execution, int) or steps_per_execution < 1:
            raise ValueError(f"steps_per_execution={steps_per_execution!r} is not a positive int.")
        self._nt_compile_arguments = {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
            "run_eagerly": run_eagerly,
            "steps_per_execution": steps_per_execution,
            "jit_compile": jit_compile,
        }
        self.optimizer, self.loss = created, loss
        self._nt_compile_loss, self._nt_compile_metrics = compiled_loss, compiled_metrics
        self._nt_loss_tracker = Mean("loss")
        self.run_eagerly, self.jit_compile = run_eagerly, jit_compile
        self.steps_per_execution = steps_per_execution
        self._nt_compiled = True
        self._nt_forget_functions()

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self._nt_compiled

    def _nt_check_compiled(self, method: str) -> None:
        if not self._nt_compiled:
            raise ValueError(f"You must call `compile()` before calling `{method}()`.")

    @property
    def metrics(self) -> list[Any]:
        """The loss, the metrics in attributes, and those that `compile` was given."""
        result: list[Any] = [] if self._nt_loss_tracker is None else [self._nt_loss_tracker]
        result += super().metrics
        if self._nt_compile_metrics is not None:
            result.append(self._nt_compile_metrics)
        if self._nt_compile_loss is not None:
            result += self._nt_compile_loss.metrics
        return result

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [m.name for m in self.metrics]

    def reset_metrics(self) -> None:
        """Forget what the metrics saw."""
        for m in self.metrics:
            m.reset_state()

    # --- Steps -------------------------------------------------------------------------------

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        """The loss of a batch: what `compile` was given, and `losses`.

        Args:
          x: The inputs.
          y: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example.
          training: Whether the model is trained.

        Returns:
          A scalar.

        Raises:
          ValueError: If there is no loss, or nothing to compare the outputs with.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
          >>> model.compile(loss="mse")
          >>> model.compute_loss(y=tf.constant([[1.0]]), y_pred=tf.constant([[3.0]])).numpy()
          np.float32(4.0)
        """
        value = []
        if self._nt_compile_loss is not None:
            if y is None:
                raise ValueError(
                    "The loss that `compile` was given compares outputs with targets, and there "
                    "are none: pass `y`, or data of pairs (x, y)."
                )
            value.append(self._nt_compile_loss(y, y_pred, sample_weight))
        layer: Any = self
        value += [reduce_sum(as_tensor(loss)) for loss in layer.losses]
        if not value:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        total = value[0]
        for loss in value[1:]:
            total = total + cast(loss, total.dtype)
        return total

    def _nt_loss(self, batch: Batch, y_pred: Any, training: bool) -> Tensor:
        """The loss, which an overridden `compute_loss` may give without `training`."""
        x, y, weight = batch
        accepts = signature_of(type(self).compute_loss)
        options = (
            {"training": training} if "training" in accepts.all or accepts.takes_any_keyword else {}
        )
        return self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight, **options)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Tell the metrics that `compile` was given of a batch.

        Args:
          x: The inputs.
          y: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example.

        Returns:
          The values of all metrics, by name.
        """
        if self._nt_compile_metrics is not None:
            self._nt_compile_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """The values of all metrics.

        Returns:
          A dict by their names.
        """
        output: dict[str, Any] = {}
        for m in self.metrics:
            result = m.result()
            output.update(result if isinstance(result, dict) else {m.name: result})
        return output

    def _nt_call(self, x: Any, training: bool) -> Any:
        model: Any = self
        signature = signature_of(type(model).call)
        options = (
            {"training": training}
            if "training" in signature.all or signature.takes_any_keyword
            else {}
        )
        result = model(x, **options)
        if result is None:
            raise ValueError(
                f"None values not supported: `{type(self).__name__}.call()` gives None. Does it "
                f"end with `return`?"
            )
        return result

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step of training.

        Args:
          data: The data: ``(x, y)`` or ``(x, y, sample_weight)``.

        Returns:
          The values of the metrics, by name.
        """
        batch = unpack(data)
        x, y, weight = batch
        with GradientTape() as tape:
            y_pred = self._nt_call(x, True)
            loss = self._nt_loss(batch, y_pred, True)
            scaled = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        self._nt_track(loss, x)
        variables = self.trainable_weights
        if variables and self.optimizer is not None:
            self.optimizer.apply(tape.gradient(scaled, variables), variables)
        result: dict[str, Any] = self.compute_metrics(x, y, y_pred, sample_weight=weight)
        return result

    def _nt_track(self, loss: Tensor, x: Any) -> None:
        if self._nt_loss_tracker is not None:
            inputs = flatten(x)[0]
            self._nt_loss_tracker.update_state(loss, sample_weight=float(inputs.shape[0]))

    def test_step(self, data: Any) -> dict[str, Any]:
        """One step of `evaluate`.

        Args:
          data: The data: ``(x, y)`` or ``(x, y, sample_weight)``.

        Returns:
          The values of the metrics, by name.
        """
        batch = unpack(data)
        x, y, weight = batch
        y_pred = self._nt_call(x, False)
        self._nt_track(self._nt_loss(batch, y_pred, False), x)
        result: dict[str, Any] = self.compute_metrics(x, y, y_pred, sample_weight=weight)
        return result

    def predict_step(self, data: Any) -> Any:
        """One step of `predict`.

        Args:
          data: The data: ``x``, or a tuple that begins with it.

        Returns:
          What the model gives.
        """
        return self._nt_call(unpack(data)[0], False)

    # --- Steps that are replayed -------------------------------------------------------------

    def _nt_prepare(self, kind: str, batch: Batch) -> None:
        """Make the variables, before anything is recorded.

        A custom step may call something else than the model, so that is left to the step.
        """
        model: Any = self
        own = getattr(type(self), f"{kind}_step") is not getattr(Steps, f"{kind}_step")
        if not self.built and batch[0] is not None and not own:
            symbols = map_structure(
                lambda x: KerasTensor((None, *tuple(x.shape)[1:]), x.dtype), batch[0]
            )
            if type(model).call is not Steps._nt_model_call:
                with suppress(Exception):  # which the step raises, with the batch's own shapes
                    model(symbols)
                    self.built = True
        if self.optimizer is not None and self.trainable_weights:
            if getattr(self.optimizer, "_nt_trained", None) is None:
                self.optimizer.build(self.trainable_weights)

    run_eagerly = False
    jit_compile: Any = "auto"
    steps_per_execution = 1

    _nt_model_call: Any = None  # `Model.call`, which fails unless it is overridden

    def _nt_step(self, kind: str, batch: Batch, count: int = 1) -> Step:
        """What computes steps for batches of this structure: it takes the leaves of each."""
        key = kind, count, map_structure(lambda x: None if x is None else 0, batch)
        name = repr(key)
        result: Step | None = self._nt_functions.get(name)
        if result is None:
            self._nt_prepare(kind, batch)
            there = [x is not None for x in flatten(batch)]
            result = self._nt_made_step(kind, batch, there, count)
            self._nt_functions[name] = result
        return result

    def _nt_made_step(self, kind: str, batch: Batch, there: list[bool], count: int) -> Step:
        method = getattr(self, f"{kind}_step")
        numbers = iter(range(len(there)))
        places = map_structure(lambda x: next(numbers) if x is not None else None, batch)
        order = [k for k in flatten(places) if k is not None]
        simple = places in ((0, None, None), (0, 1, None), (0, 1, 2))

        def step(*tensors: Tensor) -> Any:
            if simple:
                return method(tensors if len(tensors) > 1 else tensors[0])
            provided = dict(zip(order, tensors, strict=True))
            x, y, weight = map_structure(lambda k: None if k is None else provided[k], places)
            return method((x, y, weight) if weight is not None else (x, y))

        def steps(*tensors: Tensor) -> Any:
            size = len(tensors) // count
            results = [step(*tensors[k * size : (k + 1) * size]) for k in range(count)]
            return results[-1]

        taken = step if count == 1 else steps
        taken.__name__ = f"{kind}_step"
        taken.__qualname__ = f"{type(self).__name__}.{kind}_step"
        if self.run_eagerly:
            return taken
        return Function(taken, jit_compile=self.jit_compile is True)

    def _nt_taken(self, kind: str, batch: Batch) -> Any:
        """What a step gives for a batch."""
        x, y, weight = batch
        if type(x) is Tensor and type(y) is Tensor and weight is None:
            step = self._nt_functions.get(kind)  # the most common case
            if step is None:
                step = self._nt_functions[kind] = self._nt_step(kind, batch)
            return step(x, y)
        step = self._nt_step(kind, batch)
        return step(*(leaf for leaf in flatten(batch) if leaf is not None))

    def _nt_execution(self, kind: str, group: list[Batch]) -> Any:
        """What the last of several steps gives. Those of equal batches are replayed as one."""
        result: Any = None
        size = 1 if self.run_eagerly else even_part(self.steps_per_execution, _RECORDED)
        for block in blocks(group, size):
            if len(block) == 1:
                result = self._nt_taken(kind, block[0])
            else:
                leaves = [leaf for leaf in flatten(block) if leaf is not None]
                result = self._nt_step(kind, block[0], len(block))(*leaves)
        return result
