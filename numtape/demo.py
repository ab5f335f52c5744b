"""The demo behind ``python -m numtape demo``: gradients with known answers, then real training.

The first half takes the gradients of the autodiff guide one by one and compares each with what it
must be; the second trains a small classifier on the handwritten digits of ``numtape.datasets``.
"""

import logging
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

import numtape as tf
from numtape.datasets import load_digits

SEED = 1998
EPOCHS = 30
BATCH = 32
HIDDEN = 64
LEARNING_RATE = 0.003
TEST_SHARE = 0.2
MIN_ACCURACY = 0.96

_FloatArray = npt.NDArray[np.float32]
_IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class _Case:
    """A gradient of the guide: what is differentiated, how, and the result it must have."""

    expression: str
    expected: Any
    run: Callable[[], Any]


_CASES: list[_Case] = []


def _case(expression: str, expected: object) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that returns a gradient, or a list or dict of them, as a case."""

    def register(run: Callable[[], Any]) -> Callable[[], Any]:
        _CASES.append(_Case(expression, expected, run))
        return run

    return register


@_case("x**2 at 3", 6.0)
def _square() -> Any:
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2
    return tape.gradient(y, x)


@_case("mean((x @ w + b)**2) by w", [[4, 5], [8, 10]])
def _affine() -> Any:
    w = tf.Variable([[2.0, 1.0], [1.0, 2.0]], name="w")
    b = tf.Variable(tf.zeros(2, dtype=tf.float32), name="b")
    with tf.GradientTape() as tape:
        y = [[1.0, 2.0]] @ w + b
        loss = tf.reduce_mean(y**2)
    return tape.gradient(loss, [w, b])[0]


@_case("w * b * b, nested sources", {"w": 9.0, "rest": {"b": 12.0}})
def _nested_sources() -> Any:
    w, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = w * b * b
    return tape.gradient(y, {"w": w, "rest": {"b": b}})


@_case("Dense(2), gradient shapes", ["(3, 2)", "(2,)"])
def _layer() -> Any:
    layer = tf.keras.layers.Dense(2, activation="relu")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(tf.constant([[1.0, 2.0, 3.0]])) ** 2)
    grads = tape.gradient(loss, layer.trainable_variables)
    return [str(tuple(g.shape)) for g in grads]


@_case("variable, frozen, tensor", [6.0, None, None])
def _watched_by_default() -> Any:
    x0 = tf.Variable(3.0, name="x0")
    x1 = tf.Variable(3.0, name="x1", trainable=False)
    x2 = tf.Variable(2.0, name="x2") + 1.0
    with tf.GradientTape() as tape:
        y = x0**2 + x1**2 + x2**2
    return tape.gradient(y, [x0, x1, x2])


@_case("x**2 at 3, watched constant", 6.0)
def _watched_constant() -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    return tape.gradient(y, x)


@_case("sin(a) + softplus(b), b only", [None, 0.9999546])
def _watched_by_choice() -> Any:
    a, b = tf.Variable(0.0), tf.Variable(10.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = tf.math.sin(a) + tf.nn.softplus(b)
    return tape.gradient(y, [a, b])


@_case("z = y * y by y = x * x", 18.0)
def _intermediate() -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return tape.gradient(z, y)


@_case("z, y by x, persistent tape", [[4.0, 108.0], [2.0, 6.0]])
def _persistent() -> Any:
    x = tf.constant([1, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return [tape.gradient(z, x), tape.gradient(y, x)]


@_case("{x**2, 1 / x} at 2", 3.75)
def _several_targets() -> Any:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        targets = {"y0": x**2, "y1": 1 / x}
    return tape.gradient(targets, x)


@_case("x * [3, 4], vector target", 7.0)
def _vector_target() -> Any:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * [3.0, 4.0]
    return tape.gradient(y, x)


@_case("sigmoid(x) at -4 and 0", [0.01766271, 0.25])
def _elementwise() -> Any:
    x = tf.linspace(-4.0, 4.0, 201)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.sigmoid(x)
    return tape.gradient(y, x)[:101:100]


@_case("v0 if x > 0 else v1**2", [1.0, None, None])
def _control_flow() -> Any:
    x = tf.constant(1.0)
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = v0 if x > 0.0 else v1**2
    return tape.gradient(result, [v0, v1, x])


@_case("y * y by x", None)
def _unconnected_gradient() -> Any:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    return tape.gradient(z, x)


@_case("x + 1, then x = x + 1", [1.0, None])
def _variable_replaced() -> Any:
    x: Any = tf.Variable(2.0)
    grads = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        grads.append(tape.gradient(y, x))
        x = x + 1
    return grads


@_case("np.mean(x**2)", None)
def _outside() -> Any:
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_mean(np.mean((x**2).numpy(), axis=0))
    return tape.gradient(y, x)


@_case("x * x, integer", None)
def _integer() -> Any:
    x = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)


@_case("x1.assign_add(x0), x1**2", None)
def _state() -> Any:
    x0, x1 = tf.Variable(3.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    return tape.gradient(y, x0)


@_case("image.adjust_contrast", "LookupError")
def _no_gradient_registered() -> Any:
    image, delta = tf.Variable([[[0.5, 0.0, 0.0]]]), tf.Variable(0.1)
    with tf.GradientTape() as tape:
        y = tf.image.adjust_contrast(image, delta)
    try:
        return tape.gradient(y, [image, delta])
    except LookupError as error:
        return type(error).__name__


@_case("y**2 by x, zeros not None", [0.0, 0.0])
def _zeros() -> Any:
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    return tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def _plain(value: object) -> Any:
    """Turn the tensors in a structure into NumPy arrays."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str) else np.asarray(value)


def _is_close(value: Any, expected: object) -> bool:
    """Compare structures: ``None`` and strings exactly, numbers to five digits."""
    if isinstance(value, dict):
        return (
            isinstance(expected, dict)
            and value.keys() == expected.keys()
            and all(_is_close(value[key], expected[key]) for key in value)
        )
    if isinstance(value, list):
        return (
            isinstance(expected, list)
            and len(value) == len(expected)
            and all(_is_close(f, e) for f, e in zip(value, expected, strict=True))
        )
    if value is None or expected is None or isinstance(value, str) or isinstance(expected, str):
        return type(value) is type(expected) and value == expected
    expected_array = np.asarray(expected)
    # The shapes must agree too; allclose alone would broadcast them.
    return value.shape == expected_array.shape and bool(
        np.allclose(value, expected_array, rtol=1e-5, atol=0)
    )


def _text(value: object) -> str:
    """Write a structure on one line, numbers as short as they can be."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return f"{value:.5g}" if isinstance(value, float | int) else str(value)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence the log: one of the cases is an integer source, which warns, as it should."""
    previous_level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(previous_level)


def _check_gradients(out: TextIO) -> int:
    """Print one line per case and return how many differ from what they must be."""
    print(f"{'Gradients of the guide':<32}{'found':<23}expected", file=out)
    line = "  {:<28}  {:<21}  {:<21}  {}"  # 80 columns
    failures = 0
    for case in _CASES:
        with _without_warnings():
            try:
                result = _plain(case.run())
            except Exception as error:  # A case that raises is a line of the report like others.
                result = f"{type(error).__name__}: {error}"
        is_correct = _is_close(result, case.expected)
        failures += not is_correct
        verdict = "ok" if is_correct else "WRONG"
        print(line.format(case.expression, _text(result), _text(case.expected), verdict), file=out)
    return failures


class _Progress:
    """A progress bar: one line drawn again and again on a terminal, a few plain lines elsewhere."""

    _WIDTH = 30
    _PLAIN_LINES = 5

    def __init__(self, total: int, out: TextIO) -> None:
        self._total = total
        self._out = out
        self._terminal = out.isatty()

    def update(self, done: int, note: str) -> None:
        """Show that `done` of the total are done, with a note at the end of the line."""
        filled = self._WIDTH * done // self._total
        bar = "#" * filled + "." * (self._WIDTH - filled)
        line = f"  [{bar}] {done:>{len(str(self._total))}}/{self._total}  {note}"
        if self._terminal:
            end = "\n" if done == self._total else ""
            print(f"\r{line}", end=end, file=self._out, flush=True)
        elif done % max(1, self._total // self._PLAIN_LINES) == 0 or done == self._total:
            print(line, file=self._out, flush=True)


@dataclass(frozen=True)
class _Split:
    """Images as float32 rows of 64 values in 0..1, and classes, of the two parts."""

    train_x: _FloatArray
    train_y: _IntArray
    test_x: _FloatArray
    test_y: _IntArray


def _split_digits(rng: np.random.Generator) -> _Split:
    """Draw the same share of each class for the test."""
    images, labels = load_digits()
    x = images.reshape(len(images), -1).astype(np.float32) / np.float32(16)
    y = labels.astype(np.int32)
    is_test_row = np.zeros(len(y), dtype=bool)
    for digit in range(10):
        members = rng.permutation(np.flatnonzero(y == digit))
        is_test_row[members[: round(TEST_SHARE * len(members))]] = True
    return _Split(x[~is_test_row], y[~is_test_row], x[is_test_row], y[is_test_row])


class _Classifier:
    """Two dense layers, from 64 pixels to the scores of 10 classes."""

    def __init__(self) -> None:
        self.hidden = tf.keras.layers.Dense(HIDDEN, activation="relu")
        self.scores = tf.keras.layers.Dense(10)

    def __call__(self, x: tf.Tensor) -> Any:
        return self.scores(self.hidden(x))

    @property
    def trainable_variables(self) -> list[Any]:
        return [*self.hidden.trainable_variables, *self.scores.trainable_variables]


def _train_step(
    model: _Classifier, optimizer: tf.keras.optimizers.Optimizer, x: tf.Tensor, y: tf.Tensor
) -> tuple[float, int]:
    """Make one step on a batch; return its loss and how many rows the tape held."""
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x))
        loss = tf.reduce_mean(losses)
    rows = tape.rows  # read now: a tape that is not persistent releases its rows at `gradient`
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    # The value is read last, so that one sweep computes the loss and the new weights.
    return float(loss), rows


def _accuracy(model: _Classifier, x: _FloatArray, y: _IntArray) -> float:
    """Return the share of images whose class has the highest score."""
    predicted = tf.argmax(model(tf.constant(x)), axis=1)
    hits = tf.equal(tf.cast(predicted, tf.int32), tf.constant(y))
    return float(tf.reduce_mean(tf.cast(hits, tf.float32)))


def _train(out: TextIO) -> float:
    """Train on the digits, print what came out and return the test accuracy."""
    tf.random.set_seed(SEED)
    rng = np.random.default_rng(SEED)
    data = _split_digits(rng)
    count = len(data.train_y)
    steps = count // BATCH
    print(f"  data           {count} images to train on, {len(data.test_y)} to test", file=out)
    print(f"  network        64-{HIDDEN}-10, relu", file=out)
    print(f"  training       Adam, {EPOCHS} epochs of {steps} steps, {BATCH} images each", file=out)
    model = _Classifier()
    optimizer = tf.keras.optimizers.Adam(learning_rate=LEARNING_RATE)
    progress = _Progress(EPOCHS, out)
    seconds: list[float] = []
    loss, rows = float("nan"), 0
    for epoch in range(1, EPOCHS + 1):
        order = rng.permutation(count)
        total = 0.0
        for step in range(steps):
            start = time.perf_counter()
            batch = order[step * BATCH : (step + 1) * BATCH]
            x, y = tf.constant(data.train_x[batch]), tf.constant(data.train_y[batch])
            step_loss, rows = _train_step(model, optimizer, x, y)
            total += step_loss
            seconds.append(time.perf_counter() - start)
        loss = total / steps
        progress.update(epoch, f"loss {loss:.4f}")
    accuracy = _accuracy(model, data.test_x, data.test_y)
    # The first step makes the variables and, with an empty cache, the kernels: the median is the
    # time a step takes.
    typical_ms = statistics.median(seconds) * 1e3
    print(f"  loss           {loss:.4f}", file=out)
    print(f"  test accuracy  {accuracy:.1%}, at least {MIN_ACCURACY:.0%} wanted", file=out)
    print(f"  time per step  {typical_ms:.3f} ms, the first {seconds[0] * 1e3:.0f} ms", file=out)
    print(f"  device         {tf.config.device()}", file=out)
    print(f"  rows on tape   {rows} in one step", file=out)
    return accuracy


def main() -> int:
    """Run the demo.

    Returns:
        The exit code: 0, or 1 when a gradient or the test accuracy is not what it must be.
    """
    out = sys.stdout
    start = time.perf_counter()
    failures = _check_gradients(out)
    print("Training on the UCI handwritten digits", file=out)
    accuracy = _train(out)
    print(f"Done in {time.perf_counter() - start:.1f} s", file=out)
    if failures:
        print(f"FAILED: {failures} of {len(_CASES)} gradients are wrong", file=out)
    # Written so that an accuracy of NaN fails too.
    has_learnt = accuracy >= MIN_ACCURACY
    if not has_learnt:
        print(f"FAILED: a test accuracy of {accuracy:.1%} is below {MIN_ACCURACY:.0%}", file=out)
    return 1 if failures or not has_learnt else 0


if __name__ == "__main__":
    sys.exit(main())
