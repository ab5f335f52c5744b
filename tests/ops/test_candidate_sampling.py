"""Samplers of classes, and losses over samples, against NumPy."""

import numpy as np
import pytest

import numtape as tf

LABELS = np.array([[0, 1], [2, 3], [5, 5]])
FREQUENCIES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
LOG_UNIFORM = np.log((np.arange(6) + 2) / (np.arange(6) + 1)) / np.log(7)
SAMPLERS = [
    (tf.random.uniform_candidate_sampler, {}, np.full(6, 1 / 6)),
    (tf.random.log_uniform_candidate_sampler, {}, LOG_UNIFORM),
    (
        tf.random.fixed_unigram_candidate_sampler,
        {"unigrams": FREQUENCIES.tolist(), "distortion": 0.5},
        np.sqrt(FREQUENCIES) / np.sqrt(FREQUENCIES).sum(),
    ),
]


@pytest.mark.parametrize(("sampler", "options", "p"), SAMPLERS)
def test_counts(sampler, options, p):
    tf.random.set_seed(1)
    sample = sampler(LABELS, 2, 4000, False, 6, **options)
    counts = np.bincount(sample.sampled_candidates.numpy(), minlength=6)
    np.testing.assert_allclose(counts / 4000, p, atol=0.03)
    np.testing.assert_allclose(sample.true_expected_count.numpy(), 4000 * p[LABELS], rtol=1e-5)
    classes = sample.sampled_candidates.numpy()
    np.testing.assert_allclose(sample[2].numpy(), 4000 * p[classes], rtol=1e-5)


@pytest.mark.parametrize(("sampler", "options", "p"), SAMPLERS)
def test_different_classes(sampler, options, p):
    draw = tf.function(lambda: sampler(LABELS, 2, 3, True, 6, **options))
    tf.random.set_seed(2)
    samples = [draw() for _ in range(300)]
    classes = np.stack([sample[0].numpy() for sample in samples])
    assert all(len(set(row)) == 3 for row in classes.tolist())
    first = np.bincount(classes[:, 0], minlength=6) / 300
    np.testing.assert_allclose(first, p, atol=0.1)
    counts = np.stack([sample[1].numpy() for sample in samples])
    draws = np.log1p(-counts) / np.log1p(-p[LABELS])  # the same number for each class
    np.testing.assert_allclose(draws, np.rint(draws), atol=1e-3)
    assert draws.min() >= 2.99


WEIGHTS, BIASES, INPUTS = (
    np.sin(np.arange(1.0, n + 1)).reshape(shape)
    for n, shape in ((18, (6, 3)), (6, (6,)), (9, (3, 3)))
)
SAMPLE = np.array([1, 3, 0, 4]), np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), np.array([0.3] * 4)


def logits_of(remove):
    """The logits of the true and the sampled classes, and their labels."""
    sampled, true_count, count = SAMPLE
    scores = INPUTS @ WEIGHTS.T + BIASES
    true = np.take_along_axis(scores, LABELS, 1) - np.log(true_count)
    others = scores[:, sampled] - np.log(count)
    if remove:
        others[(LABELS[:, :, None] == sampled).any(1)] = -np.inf
    return np.concatenate([true, others], 1), np.array([0.5, 0.5, 0, 0, 0, 0])


@pytest.mark.parametrize("remove", [False, True])
def test_losses(remove):
    arguments = WEIGHTS, BIASES, LABELS, INPUTS, 4, 6, 2, SAMPLE, remove
    logits, labels = logits_of(remove)
    agreement = (labels[:2] * logits[:, :2]).sum(1)
    nce = np.logaddexp(0, logits).sum(1) - agreement
    np.testing.assert_allclose(tf.nn.nce_loss(*arguments).numpy(), nce, rtol=1e-6)
    softmax = np.log(np.exp(logits).sum(1)) - logits[:, :2].mean(1)
    np.testing.assert_allclose(tf.nn.sampled_softmax_loss(*arguments).numpy(), softmax, rtol=1e-6)


@pytest.mark.parametrize("loss", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
def test_gradients(loss):
    def f(w, b, x):
        return loss(w, b, LABELS, x, 4, 6, 2, SAMPLE, False)

    tf.testing.check_grads(f, [WEIGHTS, BIASES, INPUTS], order=1, rtol=1e-4)


def test_all_classes():
    classes, true_counts, counts = tf.nn.all_candidate_sampler(LABELS, 2, 6, True)
    assert classes.numpy().tolist() == list(range(6))
    np.testing.assert_array_equal(true_counts.numpy(), np.ones((3, 2), np.float32))
    np.testing.assert_array_equal(counts.numpy(), np.ones(6, np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_true=1"):
        tf.nn.all_candidate_sampler(LABELS, 1, 6, True)


def test_hits_and_errors():
    rows, positions, weights = tf.nn.compute_accidental_hits(LABELS, SAMPLE[0], 2)
    assert rows.numpy().tolist() == [0, 0, 1]
    assert positions.numpy().tolist() == [2, 0, 1]
    assert weights.numpy().max() == np.finfo(np.float32).min
    with pytest.raises(tf.errors.InvalidArgumentError, match="different classes"):
        tf.random.uniform_candidate_sampler([[0]], 1, 7, True, 6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_true=3"):
        tf.random.uniform_candidate_sampler([[0]], 3, 2, True, 6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="frequencies of 2"):
        tf.random.fixed_unigram_candidate_sampler([[0]], 1, 2, True, 6, unigrams=[1.0, 2.0])
