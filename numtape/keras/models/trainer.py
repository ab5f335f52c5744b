"""`Trainer`: `compile`, the loops of `fit`, `evaluate` and `predict`, and their recorded steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.traceback_filter import warn
from ...core.log.as_tensor import as_tensor
from ...core.ops.elementwise import cast
from ...core.ops.reduction import reduce_sum
from ...core.values.arguments import signature_of
from ...core.values.tensor import Tensor
from ...function.function import Function
from ...nest import flatten, map_structure
from ...tape import GradientTape
from .. import config, optimizers
from ..callbacks import CallbackList, History
from ..callbacks.callback_list import as_numbers as numbers
from ..layer import Layer
from ..metrics import Mean
from ..symbolic import KerasTensor
from .batches import (
    Batch,
    Batches,
    batch_of,
    batches,
    even_part_size,
    example_weights_of,
    group_batches,
    split,
    split_into_runs,
    unpack,
)
from .compile_config import CompiledLoss, CompiledMetrics
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Container

    from ..annotations import Config, DataLike, LossesLike, LossWeights, MetricsLike
    from ..optimizers.optimizer import Optimizer

Step = Callable[..., Any]

_RECORDED = 8  # most steps in one recording: longer ones take too long to compile


_NO_BATCHES = (
    "The data must yield at least one batch, but they yielded none. (An exhausted generator does "
    "not restart.)"
)


class Trainer(Layer):
    """The part of `Model` that iterates over data."""

    # Single steps. Override ``train_step`` etc. for a custom training loop.

    _nt_training_state = frozenset(
        {
            "optimizer",
            "loss",
            "history",
            "_nt_initial_epoch",
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
        }
    )

    optimizer: Any
    loss: LossesLike
    _nt_initial_epoch: int | None = None  # set by callbacks that resume a training
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
        """Discard the recorded steps."""
        self._nt_functions = {}

    def compile(
        self,
        optimizer: str | Config | Optimizer | None = "rmsprop",
        loss: LossesLike = None,
        loss_weights: LossWeights = None,
        metrics: MetricsLike = None,
        weighted_metrics: MetricsLike = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: bool | str = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Configure the model for training.

        Args:
          optimizer: An optimizer, or the name of one.
          loss: A loss, the name of one, or a function (y_true, y_pred) -> tensor; for several
            outputs a list of them, or a dict by output name.
          loss_weights: The weights of several losses: a list, or a dict.
          metrics: A list of metrics, names, or functions; for several outputs a list of such
            lists, or a dict.
          weighted_metrics: Metrics that use sample weights, in the same form.
          run_eagerly: Whether to run each step as Python instead of replaying it.
          steps_per_execution: The number of steps that `fit` and `evaluate` replay as one.
            Batch callbacks are called once for all of them.
          jit_compile: Whether to compile steps when they are recorded, instead of after
            frequent use.
          auto_scale_loss: Whether a model of the policy ``"mixed_float16"`` gets its optimizer
            wrapped in a `keras.optimizers.LossScaleOptimizer`.

        Raises:
          ValueError: If a name is unknown, or an argument has a wrong form.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
          >>> model.compile("sgd", loss="mse", metrics=["mae"])
          >>> model.compiled
          True
        """
        model: Any = self
        model._nt_check_initialized()
        new_optimizer = optimizers.get(optimizer)
        is_wrapped = new_optimizer is None or isinstance(
            new_optimizer, optimizers.LossScaleOptimizer
        )
        if auto_scale_loss and self.dtype_policy.name == "mixed_float16" and not is_wrapped:
            new_optimizer = optimizers.LossScaleOptimizer(
                new_optimizer, name="loss_scale_optimizer"
            )
        names = self.output_names
        compiled_loss = None if loss is None else CompiledLoss(loss, loss_weights, names)
        compiled_metrics = None
        if metrics is not None or weighted_metrics is not None:
            compiled_metrics = CompiledMetrics(metrics, weighted_metrics, names)
        if not isinstance(steps_per_execution, int) or steps_per_execution < 1:
            raise ValueError(f"steps_per_execution={steps_per_execution!r} must be a positive int.")
        self._nt_compile_arguments = {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
            "run_eagerly": run_eagerly,
            "steps_per_execution": steps_per_execution,
            "jit_compile": jit_compile,
            "auto_scale_loss": auto_scale_loss,
        }
        self.optimizer, self.loss = new_optimizer, loss
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
        """The loss tracker, the metrics in attributes, and those passed to `compile`."""
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
        """Reset the state of all metrics."""
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
        """Compute the loss of a batch: the compiled loss plus the layers' `losses`.

        Args:
          x: The inputs.
          y: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example.
          training: Whether the step is a training step.

        Returns:
          A scalar.

        Raises:
          ValueError: If the model has no loss, or ``y`` is missing.

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
                    "The loss passed to `compile` requires targets: pass `y`, or data of pairs "
                    "(x, y)."
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
        """Call `compute_loss`, whose overrides need not accept ``training``."""
        x, y, weight = batch
        accepts = signature_of(type(self).compute_loss)
        options = (
            {"training": training} if "training" in accepts.all or accepts.takes_any_keyword else {}
        )
        return self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight, **options)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Update the metrics passed to `compile` with a batch.

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
        """Return the values of all metrics.

        Returns:
          A dict by name.
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
                f"None values not supported: `{type(self).__name__}.call()` returned None. Is its "
                f"`return` missing?"
            )
        return result

    def train_step(self, data: Any) -> dict[str, Any]:
        """Run one training step.

        Args:
          data: A batch: ``(x, y)`` or ``(x, y, sample_weight)``.

        Returns:
          The values of the metrics, by name.
        """
        batch = unpack(data)
        x, y, weight = batch
        with GradientTape() as tape:
            y_pred = self._nt_call(x, True)
            loss = self._nt_loss(batch, y_pred, True)
            scaled_loss = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        self._nt_track(loss, x)
        variables = self.trainable_weights
        if variables and self.optimizer is not None:
            self.optimizer.apply(tape.gradient(scaled_loss, variables), variables)
        result: dict[str, Any] = self.compute_metrics(x, y, y_pred, sample_weight=weight)
        return result

    def _nt_track(self, loss: Tensor, x: Any) -> None:
        if self._nt_loss_tracker is not None:
            inputs = flatten(x)[0]
            self._nt_loss_tracker.update_state(loss, sample_weight=float(inputs.shape[0]))

    def test_step(self, data: Any) -> dict[str, Any]:
        """Run one step of `evaluate`.

        Args:
          data: A batch: ``(x, y)`` or ``(x, y, sample_weight)``.

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
        """Run one step of `predict`.

        Args:
          data: A batch: ``x``, or a tuple that begins with it.

        Returns:
          The model's output.
        """
        return self._nt_call(unpack(data)[0], False)

    # --- Recorded steps ----------------------------------------------------------------------

    def _nt_prepare(self, kind: str, batch: Batch) -> None:
        """Create the variables before recording a step.

        A custom step may not call the model, so it creates its variables itself.
        """
        model: Any = self
        has_custom_step = getattr(type(self), f"{kind}_step") is not getattr(
            Trainer, f"{kind}_step"
        )
        if not self.built and batch[0] is not None and not has_custom_step:
            symbols = map_structure(
                lambda x: KerasTensor((None, *tuple(x.shape)[1:]), x.dtype), batch[0]
            )
            if type(model).call is not Trainer._nt_model_call:
                with suppress(Exception):  # the step raises it again, with concrete shapes
                    model(symbols)
                    self.built = True
        if self.optimizer is not None and self.trainable_weights:
            if getattr(self.optimizer, "_nt_trained", None) is None:
                self.optimizer.build(self.trainable_weights)

    run_eagerly = False
    jit_compile: Any = "auto"
    steps_per_execution = 1

    _nt_model_call: Any = None  # `Model.call`, to detect whether a subclass overrides it

    def _nt_step(self, kind: str, batch: Batch, count: int = 1) -> Step:
        """Return a function of the leaves of ``count`` batches that runs their steps."""
        key = kind, count, map_structure(lambda x: None if x is None else 0, batch)
        name = repr(key)
        result: Step | None = self._nt_functions.get(name)
        if result is None:
            self._nt_prepare(kind, batch)
            is_present = [x is not None for x in flatten(batch)]
            result = self._nt_create_step(kind, batch, is_present, count)
            self._nt_functions[name] = result
        return result

    def _nt_create_step(self, kind: str, batch: Batch, is_present: list[bool], count: int) -> Step:
        method = getattr(self, f"{kind}_step")
        numbers = iter(range(len(is_present)))
        leaf_indices = map_structure(lambda x: next(numbers) if x is not None else None, batch)
        leaf_order = [k for k in flatten(leaf_indices) if k is not None]
        is_plain_batch = leaf_indices in ((0, None, None), (0, 1, None), (0, 1, 2))

        def step(*tensors: Tensor) -> Any:
            if is_plain_batch:
                return method(tensors if len(tensors) > 1 else tensors[0])
            provided = dict(zip(leaf_order, tensors, strict=True))
            x, y, weight = map_structure(lambda k: None if k is None else provided[k], leaf_indices)
            return method((x, y, weight) if weight is not None else (x, y))

        def steps(*tensors: Tensor) -> Any:
            step_size = len(tensors) // count
            results = [step(*tensors[k * step_size : (k + 1) * step_size]) for k in range(count)]
            return results[-1]

        run_function = step if count == 1 else steps
        run_function.__name__ = f"{kind}_step"
        run_function.__qualname__ = f"{type(self).__name__}.{kind}_step"
        if self.run_eagerly:
            return run_function
        return Function(run_function, jit_compile=self.jit_compile is True)

    def _nt_run_step(self, kind: str, batch: Batch) -> Any:
        """Run a step on a batch and return its result."""
        x, y, weight = batch
        if type(x) is Tensor and weight is None and (y is None or type(y) is Tensor):
            key = kind if y is not None else (kind, None)  # the most common cases
            step = self._nt_functions.get(key)
            if step is None:
                step = self._nt_functions[key] = self._nt_step(kind, batch)
            return step(x) if y is None else step(x, y)
        step = self._nt_step(kind, batch)
        return step(*(leaf for leaf in flatten(batch) if leaf is not None))

    def _nt_run_steps(self, kind: str, group: list[Batch]) -> Any:
        """Run several steps and return the last result; batches of equal shapes run as one."""
        result: Any = None
        size = 1 if self.run_eagerly else even_part_size(self.steps_per_execution, _RECORDED)
        for block in split_into_runs(group, size):
            if len(block) == 1:
                result = self._nt_run_step(kind, block[0])
            else:
                leaves = [leaf for leaf in flatten(block) if leaf is not None]
                result = self._nt_step(kind, block[0], len(block))(*leaves)
        return result

    # Loops over batches.

    history: History

    def fit(
        self,
        x: DataLike = None,
        y: DataLike = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: object = None,
        validation_split: float = 0.0,
        validation_data: DataLike = None,
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: DataLike = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int | Container[int] = 1,
    ) -> History:
        """Train the model.

        Args:
          x: The inputs: arrays or tensors, or lists or dicts of them, whose first axis is the
            batch axis; or a dataset, sequence or generator of batches.
          y: The targets, in the same form; None if ``x`` yields them too.
          batch_size: The number of examples in a batch; None is 32.
          epochs: The index at which to stop, exclusive; epochs count from ``initial_epoch``.
          verbose: 0 for no output, 1 for a progress bar, 2 for a line per epoch; "auto" is 1.
          callbacks: A list of objects with Keras's methods, such as ``on_epoch_end(epoch, logs)``.
          validation_split: The fraction of the data, at their end, to hold out for validation
            after each epoch.
          validation_data: Data for validation: ``(x, y)``, ``(x, y, sample_weight)``, or a
            dataset.
          shuffle: Whether to shuffle the examples in each epoch.
          class_weight: The weight of each class, by class number.
          sample_weight: The weight of each example.
          initial_epoch: The index of the first epoch.
          steps_per_epoch: The number of steps in an epoch; None is all the data.
          validation_steps: The number of validation steps; None is all the data.
          validation_batch_size: The number of examples in a validation batch.
          validation_freq: The number of epochs between validations, or a collection of the epochs
            (from 1) to validate after.

        Returns:
          A `History`, whose ``history`` is a dict of lists.

        Raises:
          ValueError: If the model is not compiled, an argument is invalid, or the data yield no
            batches.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
          >>> model.compile(tf.keras.optimizers.SGD(0.1), "mse")
          >>> x = tf.constant([[1.0], [2.0]])
          >>> history = model.fit(x, 2.0 * x, epochs=20, verbose=0)
          >>> history.history["loss"][-1] < 0.01 * history.history["loss"][0]
          True
        """
        self._nt_check_compiled("fit")
        if validation_split and validation_data is None:
            if not 0 < validation_split < 1:
                raise ValueError(f"validation_split={validation_split} must be between 0 and 1.")
            if not _is_arrays(x):
                raise ValueError("`validation_split` is only supported for arrays and tensors.")
            (x, y, sample_weight), validation_data = split((x, y, sample_weight), validation_split)
        verbose = _verbosity(verbose)
        max_epochs = config.max_epochs()
        if max_epochs is not None and max_epochs < epochs:
            warn(f"Limiting epochs to {max_epochs}")
            epochs = max_epochs
        data = _limited(
            batches, (x, y, sample_weight, batch_size), steps_per_epoch, shuffle, class_weight
        )
        validation: Batches | None = None
        if validation_data is not None:
            vx, vy, weight = (
                (validation_data, None, None)
                if not isinstance(validation_data, tuple | list)
                else unpack(validation_data)
            )
            if (
                vy is None
                and y is not None
                and _is_arrays(vx)
                and (
                    self._nt_compile_loss is not None and type(self).test_step is Trainer.test_step
                )
            ):
                raise ValueError("`validation_data` must have targets: pass a pair (x, y).")
            size = validation_batch_size or (batch_size if _is_arrays(vx) else None)
            validation = batches(vx, vy, weight, size, validation_steps, False)
        callback_list = self._nt_callback_list(
            callbacks, verbose, data.steps, epochs, add_history=True
        )
        self.stop_training = False
        self._nt_initial_epoch = None
        callback_list.on_train_begin()
        initial_epoch = self._nt_initial_epoch or initial_epoch
        logs: dict[str, Any] = {}
        for epoch in range(initial_epoch, epochs):
            if epoch > initial_epoch and data.is_spent():
                break
            logs = self._nt_epoch(
                epoch, epochs, data, validation, callback_list, verbose, validation_freq
            )
            if self.stop_training:
                break
        finalize = getattr(self.optimizer, "finalize_variable_values", None)
        if finalize is not None and epochs > initial_epoch:
            finalize(self.trainable_weights)
        callback_list.on_train_end(logs)
        return self.history

    def _nt_callback_list(
        self,
        callbacks: object,
        verbose: int,
        steps: int | None,
        epochs: int = 1,
        add_history: bool = False,
    ) -> CallbackList:
        """Return the callbacks as a `CallbackList` for this call."""
        if isinstance(callbacks, CallbackList):
            return callbacks
        return CallbackList(
            callbacks,
            add_history=add_history,
            model=self,
            verbose=verbose,
            epochs=epochs,
            steps=steps,
        )

    def _nt_epoch(
        self,
        epoch: int,
        epochs: int,
        data: Batches,
        validation: Batches | None,
        callback_list: CallbackList,
        verbose: int,
        validation_freq: int | Container[int],
    ) -> dict[str, Any]:
        self.reset_metrics()
        callback_list.on_epoch_begin(epoch)
        if verbose:
            _write(f"Epoch {epoch + 1}/{epochs}\n")
        progress = Progress(data.steps, verbose)
        try:
            last, count = self._nt_steps("train", data, callback_list, progress)
            logs = numbers(self._nt_result(last))
            if (
                validation is not None
                and _is_due(epoch, validation_freq)
                and not validation.is_spent()
            ):
                value = self._nt_evaluate(validation, callback_list)
                logs.update((f"val_{name}", value) for name, value in value.items())
            progress.end(count, logs)
        except BaseException:
            progress.abort()
            raise
        callback_list.on_epoch_end(epoch, logs)
        return logs

    def _nt_steps(
        self,
        kind: str,
        data: Batches,
        callback_list: CallbackList,
        progress: Progress | None,
    ) -> tuple[Any, int]:
        """Run the steps of an epoch; return the last result and the number of steps."""
        result: Any = None
        count, size = 0, self.steps_per_execution
        on_begin, on_end = (
            getattr(callback_list, f"on_{kind}_batch_{moment}") for moment in ("begin", "end")
        )
        has_listeners = any(
            callback_list.wants(f"on_{kind}_batch_{moment}") for moment in ("begin", "end")
        )
        stop_attribute = {"train": "stop_training", "test": "stop_evaluating"}[kind]
        for group in group_batches(data.epoch(), size):
            first_step = count
            if has_listeners:
                on_begin(first_step)
            if size == 1:
                result = self._nt_run_step(kind, group[0])
            else:
                result = self._nt_run_steps(kind, group)
            count += len(group)
            if has_listeners:
                on_end(first_step + size - 1, result)
            if progress is not None and progress.due(count):
                progress.show(count, numbers(result))
            if getattr(self, stop_attribute):
                break
        if not count:
            raise ValueError(_NO_BATCHES)
        return result, count

    def _nt_result(self, logs: object) -> dict[str, Any]:
        """Check that a step's result is a dict, and return it."""
        if not isinstance(logs, dict):
            raise ValueError(f"A step must return a dict of values by name, got {logs!r}.")
        return logs

    def evaluate(
        self,
        x: DataLike = None,
        y: DataLike = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: DataLike = None,
        steps: int | None = None,
        callbacks: object = None,
        return_dict: bool = False,
    ) -> Any:
        """Compute the loss and the metrics of data.

        Args:
          x: The inputs, as for `fit`.
          y: Ground-truth values.
          batch_size: The number of examples in a batch; None is 32.
          verbose: 0 for no output, 1 for a progress bar, 2 for a line; "auto" is 1.
          sample_weight: The weight of each example.
          steps: The number of steps; None is all the data.
          callbacks: A list of objects with Keras's methods, such as ``on_test_end(logs)``.
          return_dict: Whether to return a dict.

        Returns:
          The loss, or a list of it and the metrics; or a dict.

        Raises:
          ValueError: If the model is not compiled, an argument is invalid, or the data yield no
            batches.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
          >>> model.compile(loss="mse", metrics=["mae"])
          >>> model.evaluate(tf.ones((4, 2)), tf.zeros((4, 1)), verbose=0)
          [4.0, 2.0]
        """
        self._nt_check_compiled("evaluate")
        verbose = _verbosity(verbose)
        data = batches(x, y, sample_weight, batch_size, steps, False)
        callback_list = self._nt_callback_list(callbacks, verbose, data.steps)
        progress = Progress(data.steps, verbose)
        try:
            logs = self._nt_evaluate(data, callback_list, progress)
        except BaseException:
            progress.abort()
            raise
        return logs if return_dict else self._nt_in_order(logs)

    def _nt_evaluate(
        self, data: Batches, callback_list: CallbackList, progress: Progress | None = None
    ) -> dict[str, Any]:
        self.stop_evaluating = False
        callback_list.on_test_begin()
        self.reset_metrics()
        last, count = self._nt_steps("test", data, callback_list, progress)
        logs = numbers(self._nt_result(last))
        if progress is not None:
            progress.end(count, logs)
        callback_list.on_test_end(logs)
        return logs

    def _nt_in_order(self, logs: dict[str, Any]) -> Any:
        """Return the values as a list: the loss, then the metrics as compiled; one value alone."""
        names: list[str] = []
        for metric in self.metrics:
            parts = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [part.name for part in parts if part.name in logs]
        names += sorted(set(logs) - set(names))
        items = [logs[name] for name in names]
        return items[0] if len(items) == 1 else items

    def predict(
        self,
        x: DataLike,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: object = None,
    ) -> np.ndarray[Any, Any]:
        """Compute the model's outputs for data.

        Args:
          x: The inputs, as for `fit`.
          batch_size: The number of examples in a batch; None is 32.
          verbose: 0 for no output, 1 for a progress bar, 2 for a line; "auto" is 1.
          steps: The number of steps; None is all the data.
          callbacks: A list of objects with Keras's methods.

        Returns:
          A NumPy array, or a structure of them.

        Raises:
          ValueError: If an argument is invalid, or the data yield no batches.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
          >>> model.predict(tf.ones((2, 3)), verbose=0)
          array([[3.],
                 [3.]], dtype=float32)
        """
        verbose = _verbosity(verbose)
        data = batches(x, None, None, batch_size, steps, False)
        callback_list = self._nt_callback_list(callbacks, verbose, data.steps)
        progress = Progress(data.steps, verbose)
        self.stop_predicting = False
        callback_list.on_predict_begin()
        outputs: list[Any] = []
        count, size = 0, self.steps_per_execution
        for group in group_batches(data.epoch(), size):
            first_step = count
            callback_list.on_predict_batch_begin(first_step)
            results = [self._nt_run_step("predict", (batch[0], None, None)) for batch in group]
            if len(results) == 1:
                (result,) = results
                is_plain = type(result) is Tensor  # the most common case
                outputs.append(result.numpy() if is_plain else map_structure(_as_array, result))
            else:
                arrays = (map_structure(_as_array, result) for result in results)
                outputs.append(map_structure(_join, *arrays))
            count += len(group)
            callback_list.on_predict_batch_end(first_step + size - 1, {"outputs": outputs[-1]})
            if progress.due(count):
                progress.show(count, {})
            if self.stop_predicting:
                break
        if not outputs:
            raise ValueError(_NO_BATCHES)
        progress.end(count, {})
        callback_list.on_predict_end()
        joined: np.ndarray[Any, Any] = map_structure(_join, *outputs)
        return joined

    # --- One batch ---------------------------------------------------------------------------

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Run one training step on a batch.

        Args:
          x: The inputs of a batch.
          y: Ground-truth values.
          sample_weight: The weight of each example.
          class_weight: The weight of each class, by class number.
          return_dict: Whether to return a dict.

        Returns:
          The loss, or a list of it and the metrics; or a dict.

        Raises:
          ValueError: If the model is not compiled, or both kinds of weights are given.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
          >>> model.compile("sgd", "mse")
          >>> model.train_on_batch(tf.ones((4, 2)), tf.zeros((4, 1)))
          4.0
        """
        self._nt_check_compiled("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    f"Arguments `sample_weight` and `class_weight` cannot be specified at the same "
                    f"time. Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = example_weights_of(y, class_weight)
        return self._nt_on_batch("train", x, y, sample_weight, return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Compute the loss and the metrics of a batch.

        Args:
          x: The inputs of a batch.
          y: Ground-truth values.
          sample_weight: The weight of each example.
          return_dict: Whether to return a dict.

        Returns:
          The loss, or a list of it and the metrics; or a dict.

        Raises:
          ValueError: If the model is not compiled.
        """
        self._nt_check_compiled("test_on_batch")
        return self._nt_on_batch("test", x, y, sample_weight, return_dict)

    def _nt_on_batch(self, kind: str, x: Any, y: Any, weight: Any, return_dict: bool) -> Any:
        batch = batch_of(x), batch_of(y), batch_of(weight)
        self.reset_metrics()
        logs = numbers(self._nt_result(self._nt_run_step(kind, batch)))
        return logs if return_dict else self._nt_in_order(logs)

    def predict_on_batch(self, x: DataLike) -> np.ndarray[Any, Any]:
        """Compute the model's outputs for a batch.

        Args:
          x: The inputs.

        Returns:
          A NumPy array, or a structure of them.
        """
        outputs = self._nt_run_step("predict", (batch_of(x), None, None))
        result: np.ndarray[Any, Any] = map_structure(_as_array, outputs)
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_nt_functions": {}}


def _is_arrays(x: object) -> bool:
    return isinstance(x, list | tuple | dict) or hasattr(x, "shape") or hasattr(x, "__array__")


def _is_due(epoch: int, frequency: int | Container[int]) -> bool:
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def _limited(
    function: Callable[..., Batches], data: tuple[Any, ...], steps: int | None, *options: Any
) -> Batches:
    """Return batches, of which an epoch has at most `keras.config.max_steps_per_epoch`."""
    result, limit = function(*data, steps, *options), config.max_steps_per_epoch()
    if limit is None or (result.steps is not None and result.steps <= limit):
        return result
    return function(*data, limit, *options)


def _verbosity(verbose: int | str) -> int:
    if verbose == "auto":
        return 1 if config.is_interactive_logging_enabled() else 2
    if verbose not in (0, 1, 2):
        raise ValueError(f'verbose={verbose!r} must be 0, 1, 2 or "auto".')
    return int(verbose)


def _as_array(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else np.asarray(x)


def _join(*parts: Any) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
