"""`fit`, `evaluate` and `predict`: steps, batch after batch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...nest import map_structure
from ..callbacks import CallbackList
from ..callbacks.callback_list import as_numbers as numbers
from .batches import Batches, batch_of, batches, split, unpack, weights_of_classes
from .compiled import CompiledMetrics
from .executions import together
from .progress import Progress
from .steps import Steps

_NO_BATCHES = (
    "There must be at least one batch, and the data give none. (A generator that ended before goes "
    "on at its end.)"
)


class Trainer(Steps):
    """The part of `Model` that goes through data."""

    history: Any

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> Any:
        """Train the model.

        Args:
          x: The inputs: arrays or tensors, or lists or dicts of them, whose first axis is that of
            the examples; or a data set, sequence or generator of batches.
          y: What is wanted, also; None if ``x`` gives it too.
          batch_size: The number of examples of a step; None is 32.
          epochs: The number of the last epoch.
          verbose: 0 for nothing, 1 for a bar, 2 for a line an epoch; "auto" is 1.
          callbacks: A list of objects with Keras's methods, such as ``on_epoch_end(epoch, logs)``.
          validation_split: The share of the data, at their end, that is not trained with, and
            evaluated after each epoch.
          validation_data: Other data for that: ``(x, y)``, ``(x, y, sample_weight)``, or a data
            set.
          shuffle: Whether examples come in another order in each epoch.
          class_weight: What each class counts, by its number.
          sample_weight: The weight of each example.
          initial_epoch: The number of the first epoch.
          steps_per_epoch: How many steps an epoch has; None is all the data.
          validation_steps: How many steps of ``validation_data`` are evaluated; None is all.
          validation_batch_size: The number of examples of a step there.
          validation_freq: After how many epochs it is evaluated, or after which ones.

        Returns:
          A `History`, whose ``history`` is a dict of lists.

        Raises:
          ValueError: If the model is not compiled, arguments do not fit, or the data give no
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
                raise ValueError(f"validation_split={validation_split} is not between 0 and 1.")
            if not _is_arrays(x):
                raise ValueError("`validation_split` is only supported for arrays and tensors.")
            (x, y, sample_weight), validation_data = split((x, y, sample_weight), validation_split)
        verbose = _verbosity(verbose)
        data = batches(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight)
        stored: Batches | None = None
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
                and (self._nt_compile_loss is not None and type(self).test_step is Steps.test_step)
            ):
                raise ValueError("`validation_data` has no targets: give a pair (x, y).")
            size = validation_batch_size or (batch_size if _is_arrays(vx) else None)
            stored = batches(vx, vy, weight, size, validation_steps, False)
        requested = self._nt_told(callbacks, verbose, data.steps, epochs, add_history=True)
        self.stop_training = False
        requested.on_train_begin()
        logs: dict[str, Any] = {}
        for epoch in range(initial_epoch, epochs):
            if epoch > initial_epoch and data.is_spent():
                break
            logs = self._nt_epoch(epoch, epochs, data, stored, requested, verbose, validation_freq)
            if self.stop_training:
                break
        finalize = getattr(self.optimizer, "finalize_variable_values", None)
        if finalize is not None and epochs > initial_epoch:
            finalize(self.trainable_weights)
        requested.on_train_end(logs)
        return self.history

    def _nt_told(
        self,
        callbacks: Any,
        verbose: int,
        steps: int | None,
        epochs: int = 1,
        add_history: bool = False,
    ) -> CallbackList:
        """The callbacks, who are told of what follows."""
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
        stored: Batches | None,
        requested: CallbackList,
        verbose: int,
        validation_freq: Any,
    ) -> dict[str, Any]:
        self.reset_metrics()
        requested.on_epoch_begin(epoch)
        if verbose:
            _write(f"Epoch {epoch + 1}/{epochs}\n")
        progress = Progress(data.steps, verbose)
        try:
            last, count = self._nt_steps("train", data, requested, progress)
            logs = numbers(self._nt_result(last))
            if stored is not None and _is_due(epoch, validation_freq) and not stored.is_spent():
                value = self._nt_evaluated(stored, requested)
                logs.update((f"val_{name}", value) for name, value in value.items())
            progress.end(count, logs)
        except BaseException:
            progress.broken()
            raise
        requested.on_epoch_end(epoch, logs)
        return logs

    def _nt_steps(
        self,
        kind: str,
        data: Batches,
        requested: CallbackList,
        progress: Progress | None,
    ) -> tuple[Any, int]:
        """Take the steps of an epoch; returns what the last one gave, and their number."""
        result: Any = None
        count, size = 0, self.steps_per_execution
        begin, end = (getattr(requested, f"on_{kind}_batch_{when}") for when in ("begin", "end"))
        heard = any(requested.wants(f"on_{kind}_batch_{when}") for when in ("begin", "end"))
        stop = {"train": "stop_training", "test": "stop_evaluating"}[kind]
        for group in together(data.epoch(), size):
            first = count
            if heard:
                begin(first)
            if size == 1:
                result = self._nt_taken(kind, group[0])
            else:
                result = self._nt_execution(kind, group)
            count += len(group)
            if heard:
                end(first + size - 1, result)
            if progress is not None and progress.due(count):
                progress.show(count, numbers(result))
            if getattr(self, stop):
                break
        if not count:
            raise ValueError(_NO_BATCHES)
        return result, count

    def _nt_result(self, logs: Any) -> dict[str, Any]:
        """The metrics' values, if these are what a step gives; else what it gives."""
        if not isinstance(logs, dict):
            raise ValueError(f"A step has to return a dict of values by their names, not {logs!r}.")
        return logs

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """The loss and the metrics of data.

        Args:
          x: The inputs, as for `fit`.
          y: Ground-truth values.
          batch_size: The number of examples of a step; None is 32.
          verbose: 0 for nothing, 1 for a bar, 2 for a line; "auto" is 1.
          sample_weight: The weight of each example.
          steps: How many steps are taken; None is all the data.
          callbacks: A list of objects with Keras's methods, such as ``on_test_end(logs)``.
          return_dict: Whether to return a dict.

        Returns:
          The loss, or a list of it and the metrics; or a dict.

        Raises:
          ValueError: If the model is not compiled, arguments do not fit, or the data give no
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
        requested = self._nt_told(callbacks, verbose, data.steps)
        progress = Progress(data.steps, verbose)
        try:
            logs = self._nt_evaluated(data, requested, progress)
        except BaseException:
            progress.broken()
            raise
        return logs if return_dict else self._nt_in_order(logs)

    def _nt_evaluated(
        self, data: Batches, requested: CallbackList, progress: Progress | None = None
    ) -> dict[str, Any]:
        self.stop_evaluating = False
        requested.on_test_begin()
        self.reset_metrics()
        last, count = self._nt_steps("test", data, requested, progress)
        logs = numbers(self._nt_result(last))
        if progress is not None:
            progress.end(count, logs)
        requested.on_test_end(logs)
        return logs

    def _nt_in_order(self, logs: dict[str, Any]) -> Any:
        """Values as a list, the loss first, then as `compile` was given them; one value alone."""
        names: list[str] = []
        for metric in self.metrics:
            parts = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [part.name for part in parts if part.name in logs]
        names += sorted(set(logs) - set(names))
        items = [logs[name] for name in names]
        return items[0] if len(items) == 1 else items

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """What the model gives for data.

        Args:
          x: The inputs, as for `fit`.
          batch_size: The number of examples of a step; None is 32.
          verbose: 0 for nothing, 1 for a bar, 2 for a line; "auto" is 1.
          steps: How many steps are taken; None is all the data.
          callbacks: A list of objects with Keras's methods.

        Returns:
          A NumPy array, or a structure of them.

        Raises:
          ValueError: If arguments do not fit, or the data give no batches.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
          >>> model.predict(tf.ones((2, 3)), verbose=0)
          array([[3.],
                 [3.]], dtype=float32)
        """
        verbose = _verbosity(verbose)
        data = batches(x, None, None, batch_size, steps, False)
        requested = self._nt_told(callbacks, verbose, data.steps)
        progress = Progress(data.steps, verbose)
        self.stop_predicting = False
        requested.on_predict_begin()
        outputs: list[Any] = []
        count, size = 0, self.steps_per_execution
        for group in together(data.epoch(), size):
            first = count
            requested.on_predict_batch_begin(first)
            taken = [self._nt_taken("predict", (batch[0], None, None)) for batch in group]
            outputs.append(map_structure(_join, *(map_structure(_as_array, t) for t in taken)))
            count += len(group)
            requested.on_predict_batch_end(first + size - 1, {"outputs": outputs[-1]})
            if progress.due(count):
                progress.show(count, {})
            if self.stop_predicting:
                break
        if not outputs:
            raise ValueError(_NO_BATCHES)
        progress.end(count, {})
        requested.on_predict_end()
        return map_structure(_join, *outputs)

    # --- One batch ---------------------------------------------------------------------------

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """One step of training.

        Args:
          x: The inputs of a batch.
          y: Ground-truth values.
          sample_weight: The weight of each example.
          class_weight: What each class counts, by its number.
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
            sample_weight = weights_of_classes(y, class_weight)
        return self._nt_on_batch("train", x, y, sample_weight, return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """The loss and the metrics of a batch.

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
        logs = numbers(self._nt_result(self._nt_taken(kind, batch)))
        return logs if return_dict else self._nt_in_order(logs)

    def predict_on_batch(self, x: Any) -> Any:
        """What the model gives for a batch.

        Args:
          x: The inputs.

        Returns:
          A NumPy array, or a structure of them.
        """
        return map_structure(_as_array, self._nt_taken("predict", (batch_of(x), None, None)))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_nt_functions": {}}


def _is_arrays(x: Any) -> bool:
    return isinstance(x, list | tuple | dict) or hasattr(x, "shape") or hasattr(x, "__array__")


def _is_due(epoch: int, frequency: Any) -> bool:
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def _verbosity(verbose: Any) -> int:
    if verbose == "auto":
        return 1
    if verbose not in (0, 1, 2):
        raise ValueError(f'verbose={verbose!r} is none of 0, 1, 2 and "auto".')
    return int(verbose)


def _as_array(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else np.asarray(x)


def _join(*parts: Any) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
