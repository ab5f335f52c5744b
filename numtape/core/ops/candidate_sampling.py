"""Losses over a sample of the classes, for models with very many of them.

A sampler draws classes with known probabilities; `sampled_softmax_loss` and `nce_loss` compare the
true classes with the sample only. Start reading at `_sample`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..values import dtypes
from ..values.tensor import Tensor
from .along_axis import cumsum
from .arithmetic import divide
from .comparison import equal
from .creation import convert_to_tensor, ones_like, range_, zeros_like
from .elementwise import cast, expm1, floor, log, log1p, maximum, minimum, stop_gradient
from .indexing import gather, where
from .joining import concat
from .losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from .matrix_products import matmul
from .movement import expand_dims, reshape
from .random import uniform
from .reduction import reduce_any, reduce_sum
from .sorting import searchsorted, top_k

if TYPE_CHECKING:
    from ..values.annotations import IntLike, TensorLike

Array = np.ndarray[Any, Any]
FLOAT_MAX = float(np.finfo(np.float32).max)


class Sample(NamedTuple):
    """Sampled classes, and how often each class was expected among them.

    Attributes:
      sampled_candidates: The classes, int64 of shape (samples,).
      true_expected_count: The expected counts of the true classes, of shape (batch, true classes).
      sampled_expected_count: Those of the sampled classes, of shape (samples,).
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def _true_classes(true_classes: TensorLike, num_true: int, range_max: int) -> Tensor:
    """The true classes as a tensor of int64 and shape (batch, num_true)."""
    classes = as_tensor(true_classes)
    if classes.dtype is not dtypes.int64:
        classes = convert_to_tensor(true_classes, dtypes.int64)
    if classes.ndim != 2 or classes.shape[1] != num_true:
        raise InvalidArgumentError(
            f"true_classes must be of shape (batch, num_true={num_true}), got {classes.shape}."
        )
    if range_max < 1:
        raise InvalidArgumentError(f"range_max must be positive, got {range_max}.")
    return classes


def _sample(
    probabilities: Array, true_classes: Tensor, num_sampled: int, unique: bool, seed: IntLike | None
) -> Sample:
    """Draw classes with given probabilities, with repetitions or, if ``unique``, until all differ.

    Different classes come in the order in which drawing until ``num_sampled`` differ finds them.
    That order is the one of ``log(p)`` plus Gumbel noise (Efraimidis and Spirakis, 2006), and the
    number of draws before each new class has a geometric distribution.
    """
    count = len(probabilities)
    p = convert_to_tensor(probabilities, dtypes.float64)
    if unique:
        if num_sampled > np.count_nonzero(probabilities):
            raise InvalidArgumentError(
                f"Cannot draw {num_sampled} different classes out of "
                f"{np.count_nonzero(probabilities)}."
            )
        with np.errstate(divide="ignore"):
            log_p = np.log(probabilities)
        noise = uniform([count + num_sampled], 0.0, 1.0, dtypes.float64, seed)
        noise = maximum(noise, np.finfo(np.float64).tiny)
        ids = top_k(log_p - log(-log(noise[:count])), num_sampled).indices
        drawn = minimum(cumsum(gather(p, ids), exclusive=True), 1.0 - 1e-15)
        # The number of draws that find a class that was drawn before.
        repeated = floor(log(noise[count:]) / log(maximum(drawn, 1e-300)))
        draws = num_sampled + reduce_sum(where(drawn > 0.0, repeated, 0.0))

        def expected(classes: Tensor) -> Tensor:
            return -expm1(draws * log1p(-minimum(gather(p, classes), 1.0 - 1e-15)))

    else:
        bounds = np.cumsum(probabilities)
        noise = uniform([num_sampled], 0.0, 1.0, dtypes.float64, seed)
        ids = searchsorted(bounds / bounds[-1], noise, side="right")
        ids = minimum(ids, count - 1)

        def expected(classes: Tensor) -> Tensor:
            return gather(p, classes) * float(num_sampled)

    return Sample(
        cast(ids, dtypes.int64),
        stop_gradient(cast(expected(true_classes), dtypes.float32)),
        stop_gradient(cast(expected(ids), dtypes.float32)),
    )


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Sample:
    """Draw classes that are all equally likely.

    Args:
      true_classes: The true classes, int64 of shape (batch, ``num_true``).
      num_true: The number of true classes of an example.
      num_sampled: The number of classes to draw.
      unique: Whether all drawn classes differ.
      range_max: The number of classes.
      seed: A seed, besides that of `tf.random.set_seed`.
      name: Not used.

    Returns:
      The drawn classes, and how often each true class and each drawn class was expected.

    Raises:
      InvalidArgumentError: If there are too few classes, or ``true_classes`` has another shape.

    Example:
      >>> sampled, true_count, count = tf.random.uniform_candidate_sampler([[0]], 1, 4, False, 8)
      >>> sampled.shape, true_count.numpy()
      (TensorShape([4]), array([[0.5]], dtype=float32))
    """
    classes = _true_classes(true_classes, num_true, range_max)
    return _sample(np.full(range_max, 1.0 / range_max), classes, num_sampled, unique, seed)


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Sample:
    """Draw classes with probabilities that fall as those of words by their rank (Zipf's law).

    ``P(k) = (log(k + 2) - log(k + 1)) / log(range_max + 1)``.

    Args:
      true_classes: The true classes, int64 of shape (batch, ``num_true``).
      num_true: The number of true classes of an example.
      num_sampled: The number of classes to draw.
      unique: Whether all drawn classes differ.
      range_max: The number of classes, by decreasing frequency.
      seed: A seed, besides that of `tf.random.set_seed`.
      name: Not used.

    Returns:
      The drawn classes, and how often each true class and each drawn class was expected.

    Raises:
      InvalidArgumentError: If there are too few classes, or ``true_classes`` has another shape.

    Example:
      >>> _, true_count, _ = tf.random.log_uniform_candidate_sampler([[0]], 1, 2, False, 3)
      >>> true_count.numpy()
      array([[1.]], dtype=float32)
    """
    classes = _true_classes(true_classes, num_true, range_max)
    ranks = np.arange(range_max, dtype=np.float64)
    probabilities = np.log1p(1.0 / (ranks + 1.0)) / math.log(range_max + 1)
    return _sample(probabilities, classes, num_sampled, unique, seed)


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: IntLike | None = None,
    name: str | None = None,
) -> Sample:
    """Draw classes with given frequencies.

    Args:
      true_classes: The true classes, int64 of shape (batch, ``num_true``).
      num_true: The number of true classes of an example.
      num_sampled: The number of classes to draw.
      unique: Whether all drawn classes differ.
      range_max: The number of classes.
      vocab_file: A text file with a class in each line, whose frequency follows the last comma.
      distortion: The power to which frequencies are raised.
      num_reserved_ids: The number of classes before the first frequency, which are never drawn.
      num_shards: The number of parts of the classes, of which one is drawn from.
      shard: The number of that part.
      unigrams: The frequencies, instead of a file.
      seed: A seed, besides that of `tf.random.set_seed`.
      name: Not used.

    Returns:
      The drawn classes, and how often each true class and each drawn class was expected.

    Raises:
      InvalidArgumentError: If frequencies are missing, or ``true_classes`` has another shape.

    Example:
      >>> _, true_count, _ = tf.random.fixed_unigram_candidate_sampler(
      ...     [[1]], 1, 2, False, 2, unigrams=[1.0, 3.0])
      >>> true_count.numpy()
      array([[1.5]], dtype=float32)
    """
    classes = _true_classes(true_classes, num_true, range_max)
    if bool(vocab_file) == bool(len(unigrams)):
        raise InvalidArgumentError("Give either vocab_file or unigrams.")
    if vocab_file:
        with open(vocab_file, encoding="utf-8") as file:
            unigrams = [float(line.rpartition(",")[2]) for line in file if line.strip()]
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(unigrams) ** distortion])
    if len(weights) != range_max:
        raise InvalidArgumentError(
            f"range_max is {range_max} but there are frequencies of {len(weights)} classes."
        )
    weights[np.arange(range_max) % num_shards != shard] = 0.0
    return _sample(weights / weights.sum(), classes, num_sampled, unique, seed)


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Sample:
    """Return all classes, to compare a loss over a sample with the full one.

    Args:
      true_classes: The true classes, int64 of shape (batch, ``num_true``).
      num_true: The number of true classes of an example.
      num_sampled: The number of classes.
      unique: Not used.
      seed: Not used.
      name: Not used.

    Returns:
      The classes in order, and ones.

    Raises:
      InvalidArgumentError: If ``true_classes`` has another shape.

    Example:
      >>> tf.random.all_candidate_sampler([[1]], 1, 3, True)[0].numpy()
      array([0, 1, 2])
    """
    classes = _true_classes(true_classes, num_true, num_sampled)
    ids = range_(num_sampled, dtype=dtypes.int64)
    return Sample(
        ids, ones_like(classes, dtype=dtypes.float32), ones_like(ids, dtype=dtypes.float32)
    )


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: IntLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the positions at which a drawn class is a true class of an example.

    Args:
      true_classes: The true classes, int64 of shape (batch, ``num_true``).
      sampled_candidates: The drawn classes.
      num_true: The number of true classes of an example.
      seed: Not used.
      name: Not used.

    Returns:
      The examples (int32), the positions among the drawn classes (int64), and for each a weight
      that removes it: the lowest float32.

    Raises:
      InvalidArgumentError: If ``true_classes`` has another shape.

    Example:
      >>> rows, positions, _ = tf.nn.compute_accidental_hits([[3], [5]], [5, 1, 3], 1)
      >>> rows.numpy(), positions.numpy()
      (array([0, 1], dtype=int32), array([2, 0]))
    """
    classes = _true_classes(true_classes, num_true, 1)
    candidates = convert_to_tensor(sampled_candidates, dtypes.int64)
    hits = where(equal(expand_dims(classes, 2), candidates))
    weights = ones_like(hits[:, 2], dtype=dtypes.float32) * -FLOAT_MAX
    return cast(hits[:, 0], dtypes.int32), hits[:, 2], weights


def _sampled_logits(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Sequence[TensorLike] | None,
    remove_accidental_hits: bool,
    seed: IntLike | None,
) -> tuple[Tensor, Tensor]:
    """Return the logits of the true and of the drawn classes side by side, and their labels."""
    if isinstance(weights, list | tuple):  # parts of one matrix
        weights = concat(list(weights), 0)
    weights, biases, x = as_tensor(weights), as_tensor(biases), as_tensor(inputs)
    classes = _true_classes(cast(labels, dtypes.int64), num_true, num_classes)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            classes, num_true, num_sampled, True, num_classes, seed
        )
    sampled, true_count, sampled_count = (stop_gradient(as_tensor(v)) for v in sampled_values)
    true_weights = gather(weights, classes)  # (batch, num_true, dim)
    true_logits = reduce_sum(expand_dims(x, 1) * true_weights, -1) + gather(biases, classes)
    sampled_logits = matmul(x, gather(weights, sampled), transpose_b=True)
    sampled_logits = sampled_logits + gather(biases, sampled)
    if remove_accidental_hits:
        ids = reshape(cast(sampled, dtypes.int64), [1, 1, -1])
        is_hit = reduce_any(equal(expand_dims(classes, 2), ids), 1)
        sampled_logits = where(is_hit, sampled_logits - FLOAT_MAX, sampled_logits)
    true_logits = true_logits - log(cast(true_count, x.dtype))
    sampled_logits = sampled_logits - log(cast(sampled_count, x.dtype))
    true_targets = divide(ones_like(true_logits), float(num_true))
    targets = concat([true_targets, zeros_like(sampled_logits)], 1)
    return concat([true_logits, sampled_logits], 1), stop_gradient(targets)


def nce_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """Compute the noise-contrastive estimation loss (Gutmann and Hyvarinen, 2010).

    Args:
      weights: The weights of the classes, of shape (classes, dim), or a list of parts of them.
      biases: The biases, of shape (classes,).
      labels: The true classes, of shape (batch, ``num_true``).
      inputs: The inputs, of shape (batch, dim).
      num_sampled: The number of classes to draw.
      num_classes: The number of classes.
      num_true: The number of true classes of an example.
      sampled_values: The result of a sampler; default: `log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether to leave out drawn classes that are true.
      name: Not used.

    Returns:
      The loss of each example.

    Raises:
      InvalidArgumentError: If ``labels`` has another shape.

    Example:
      >>> sample = [1, 2], [[0.5]], [0.5, 0.5]
      >>> x, w, b = tf.ones([1, 2]), tf.zeros([4, 2]), tf.zeros(4)
      >>> tf.nn.nce_loss(w, b, [[0]], x, 2, 4, sampled_values=sample).numpy()
      array([2.6026897], dtype=float32)
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        None,
    )
    return reduce_sum(sigmoid_cross_entropy_with_logits(targets, logits), 1)


def sampled_softmax_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    seed: IntLike | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """Compute the softmax loss over the true classes and a sample (Jean et al., 2014).

    Args:
      weights: The weights of the classes, of shape (classes, dim), or a list of parts of them.
      biases: The biases, of shape (classes,).
      labels: The true classes, of shape (batch, ``num_true``).
      inputs: The inputs, of shape (batch, dim).
      num_sampled: The number of classes to draw.
      num_classes: The number of classes.
      num_true: The number of true classes of an example.
      sampled_values: The result of a sampler; default: `log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether to leave out drawn classes that are true.
      seed: A seed of the sampler.
      name: Not used.

    Returns:
      The loss of each example.

    Raises:
      InvalidArgumentError: If ``labels`` has another shape.

    Example:
      >>> sample = [1, 2], [[1.0]], [1.0, 1.0]
      >>> x, w, b = tf.ones([1, 2]), tf.zeros([4, 2]), tf.zeros(4)
      >>> tf.nn.sampled_softmax_loss(w, b, [[0]], x, 2, 4, sampled_values=sample).numpy()
      array([1.0986123], dtype=float32)
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
    )
    return softmax_cross_entropy_with_logits(targets, logits)
