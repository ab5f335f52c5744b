"""Metrics: values after several weighted batches, compared with NumPy formulas and Keras."""

import copy
import json
import pickle
import re

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

RANDOM = np.random.default_rng(7)
E = 1e-7
ROWS, CLASSES = 5, 3


def one_hot(numbers):
    return np.eye(CLASSES, dtype="float32")[numbers]


def batch(kind):
    """Ground truth and predictions of one batch."""
    scores = RANDOM.dirichlet(np.ones(CLASSES), ROWS).astype("float32")
    numbers = RANDOM.integers(0, CLASSES, ROWS)
    near = RANDOM.normal(size=(ROWS, CLASSES)).astype("float32")
    bits = RANDOM.integers(0, 2, (ROWS, CLASSES))
    shares = RANDOM.uniform(0.02, 0.98, (ROWS, CLASSES)).astype("float32")
    return {
        "reals": (near + RANDOM.normal(size=near.shape).astype("float32"), near),
        "positive": (shares, shares[:, ::-1] * 2),
        "one hot": (one_hot(numbers), scores),
        "classes": (numbers, scores),
        "column": (numbers[:, None], scores),
        "shares": (scores[::-1], scores),
        "bits": (bits[:, 0], shares[:, 0]),
        "many bits": (bits, shares),
        "numbers": (numbers, RANDOM.integers(0, CLASSES, ROWS)),
        "one hot twice": (one_hot(numbers), scores),
        "sorted ids": (numbers, np.argsort(-scores, -1)),
    }[kind]


def mean(values):
    """The mean of a formula over the examples."""
    return lambda y, p, w, o: np.average(values(y, p, **o), weights=w)


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def binary(y, p, from_logits=False, label_smoothing=0.0):
    p = 1 / (1 + np.exp(-p)) if from_logits else p
    y = y * (1 - label_smoothing) + label_smoothing / 2
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(-1)


def categorical(y, p, from_logits=False, label_smoothing=0.0):
    p = np.exp(p) / np.exp(p).sum(-1, keepdims=True) if from_logits else p
    return -((y * (1 - label_smoothing) + label_smoothing / CLASSES) * np.log(p)).sum(-1)


def counts(y, p, w, thresholds):
    """True and false positives, true and false negatives, at each threshold."""
    above = p[None] > np.reshape(thresholds, (-1, *(1,) * p.ndim))
    w = np.broadcast_to(w.reshape(-1, *(1,) * (p.ndim - 1)), p.shape)
    axes = tuple(range(1, p.ndim + 1))
    return [
        (w * part).sum(axes)
        for part in (above & (y > 0), above & (y == 0), ~above & (y == 0), ~above & (y > 0))
    ]


def counted(function):
    def formula(y, p, w, o):
        thresholds = np.atleast_1d(o.get("thresholds", 0.5))
        found = function(*counts(y, p, w, thresholds))
        return found if len(found) > 1 else found[0]

    return formula


def ratio(x, y):
    return np.divide(x, y, out=np.zeros_like(x), where=y != 0)


def best(function):
    """The largest value of one rate among 200 thresholds at which another rate suffices."""

    def formula(y, p, w, o):
        asked, wanted = function(*counts(y, p, w, np.linspace(0, 1, 200)))
        (limit,) = o.values()
        return np.where(asked >= limit, wanted, 0).max()

    return formula


def area(y, p, w, o):
    """The area under a curve, by its definition."""
    if o.get("multi_label"):
        one = {k: v for k, v in o.items() if k in ("num_thresholds", "curve")}
        areas = [area(y[:, k], p[:, k], w, one) for k in range(CLASSES)]
        return np.average(areas, weights=o.get("label_weights"))
    p = 1 / (1 + np.exp(-p)) if o.get("from_logits") else p
    inner = (
        np.sort(o["thresholds"])
        if "thresholds" in o
        else np.linspace(0, 1, o.get("num_thresholds", 200))[1:-1]
    )
    tp, fp, tn, fn = counts(y, p, w, [-E, *inner, 1 + E])
    how, curve = o.get("summation_method", "interpolation"), o.get("curve", "ROC")
    recall, precision = ratio(tp, tp + fn), ratio(tp, tp + fp)
    if curve == "PR" and how == "interpolation":
        found, both = -np.diff(tp), tp + fp
        slope = ratio(found, -np.diff(both))
        fits = (both[:-1] > 0) & (both[1:] > 0)
        logs = np.log(np.where(fits, ratio(both[:-1], both[1:]), 1))
        return (slope * (found + (tp[1:] - slope * both[1:]) * logs) / (tp + fn)[1:]).sum()
    x, y = (ratio(fp, fp + tn), recall) if curve == "ROC" else (recall, precision)
    if curve == "PRGAIN":
        times = (tp + fn) / (tn + fp)
        x = np.maximum(np.where(tp > 0, 1 - times * ratio(fn, tp), 0), 0)
        y = np.where(tp > 0, 1 - times * ratio(fp, tp), 1)
    ends = y[:-1], y[1:]
    height = {
        "interpolation": sum(ends) / 2,
        "minoring": np.minimum(*ends),
        "majoring": np.maximum(*ends),
    }[how]
    return (-np.diff(x) * height).sum()


def f_score(y, p, w, o):
    if o.get("threshold"):
        chosen = p > o["threshold"]
    else:
        chosen = p >= p.max(-1, keepdims=True)
    average, beta = o.get("average"), o.get("beta", 1.0) ** 2
    axis = None if average == "micro" else 0
    w = w[:, None]
    tp = (w * chosen * y).sum(axis)
    precision, recall = ratio(tp, (w * chosen).sum(axis)), ratio(tp, (w * y).sum(axis))
    score = (1 + beta) * precision * recall / (beta * precision + recall + 1e-12)
    if average == "weighted":
        return np.average(score, weights=(w * y).sum(0))
    return score.mean() if average == "macro" else score


def determination(y, p, w, o):
    centre = np.average(y, axis=0, weights=w)
    total = (w[:, None] * (y - centre) ** 2).sum(0)
    score = 1 - (w[:, None] * (y - p) ** 2).sum(0) / total
    how = o.get("class_aggregation", "uniform_average")
    if how is not None:
        score = np.average(score, weights=total if "variance" in how else None)
    if inputs := o.get("num_regressors"):
        score = 1 - (1 - score) * (y.size - 1) / (y.size - inputs - 1)
    return score


def overlap(y, p, w, o):
    y = y if y.ndim == 1 else y.argmax(-1)
    if p.dtype.kind == "f":
        p = p.argmax(-1) if p.ndim > 1 else p >= o["threshold"]
    targets = o.get("target_class_ids", range(o.get("num_classes", 2)))
    w = np.where(y == o.get("ignore_class"), 0, w.astype(int))
    each = [((w * ((y == k) & (p == k))).sum(), (w * ((y == k) | (p == k))).sum()) for k in targets]
    return np.mean([both / either for both, either in each if either])


def concordance(y, p):
    centre = p.mean(-1, keepdims=True)
    size = y.var(-1) + p.var(-1) + (y.mean(-1) - p.mean(-1)) ** 2
    return (2 * (y - centre) * (p - centre)).mean(-1) / (size + E)


def among(y, p, k=5):
    y = y if y.ndim == 1 else y.argmax(-1)
    return (np.argsort(-p, -1)[:, :k] == y[:, None]).any(-1)


def signs(y):
    return 2 * y - 1


# Class, arguments, kind of data, formula.
TABLE = [
    ("MeanSquaredError", {}, "reals", mean(lambda y, p: ((y - p) ** 2).mean(-1))),
    (
        "RootMeanSquaredError",
        {},
        "reals",
        lambda y, p, w, o: np.sqrt(np.average(((y - p) ** 2).mean(-1), weights=w)),
    ),
    ("MeanAbsoluteError", {}, "reals", mean(lambda y, p: abs(y - p).mean(-1))),
    (
        "MeanAbsolutePercentageError",
        {},
        "positive",
        mean(lambda y, p: 100 * abs((y - p) / y).mean(-1)),
    ),
    (
        "MeanSquaredLogarithmicError",
        {},
        "positive",
        mean(lambda y, p: ((np.log1p(y) - np.log1p(p)) ** 2).mean(-1)),
    ),
    ("CosineSimilarity", {}, "reals", mean(lambda y, p: (unit(y) * unit(p)).sum(-1))),
    ("LogCoshError", {}, "reals", mean(lambda y, p: np.log(np.cosh(y - p)).mean(-1))),
    ("Hinge", {}, "one hot", mean(lambda y, p: np.maximum(1 - signs(y) * p, 0).mean(-1))),
    (
        "SquaredHinge",
        {},
        "one hot",
        mean(lambda y, p: (np.maximum(1 - signs(y) * p, 0) ** 2).mean(-1)),
    ),
    (
        "CategoricalHinge",
        {},
        "one hot",
        mean(lambda y, p: np.maximum(((1 - y) * p).max(-1) - (y * p).sum(-1) + 1, 0)),
    ),
    ("KLDivergence", {}, "shares", mean(lambda y, p: (y * np.log(y / p)).sum(-1))),
    ("Poisson", {}, "positive", mean(lambda y, p: (p - y * np.log(p + E)).mean(-1))),
    ("BinaryCrossentropy", {}, "many bits", mean(binary)),
    (
        "BinaryCrossentropy",
        {"from_logits": True, "label_smoothing": 0.2},
        "many bits",
        mean(binary),
    ),
    ("CategoricalCrossentropy", {}, "one hot", mean(categorical)),
    (
        "CategoricalCrossentropy",
        {"from_logits": True, "label_smoothing": 0.2},
        "one hot",
        mean(categorical),
    ),
    (
        "SparseCategoricalCrossentropy",
        {},
        "classes",
        mean(lambda y, p: -np.log(p[np.arange(len(y)), y])),
    ),
    (
        "SparseCategoricalCrossentropy",
        {"from_logits": True},
        "classes",
        mean(lambda y, p, from_logits: categorical(one_hot(y), p, True)),
    ),
    ("Accuracy", {}, "numbers", mean(lambda y, p: y == p)),
    (
        "BinaryAccuracy",
        {"threshold": 0.4},
        "many bits",
        mean(lambda y, p, threshold: (y == (p > threshold)).mean(-1)),
    ),
    ("CategoricalAccuracy", {}, "one hot", mean(lambda y, p: y.argmax(-1) == p.argmax(-1))),
    ("SparseCategoricalAccuracy", {}, "classes", mean(lambda y, p: y == p.argmax(-1))),
    ("SparseCategoricalAccuracy", {}, "column", mean(lambda y, p: y[:, 0] == p.argmax(-1))),
    ("TopKCategoricalAccuracy", {"k": 2}, "one hot", mean(among)),
    ("SparseTopKCategoricalAccuracy", {"k": 2}, "classes", mean(among)),
    (
        "SparseTopKCategoricalAccuracy",
        {"k": 2, "from_sorted_ids": True},
        "sorted ids",
        mean(lambda y, p, k, from_sorted_ids: (p[:, :k] == y[:, None]).any(-1)),
    ),
    (
        "PearsonCorrelation",
        {},
        "reals",
        mean(lambda y, p: np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(y, p, strict=True)])),
    ),
    ("ConcordanceCorrelation", {}, "reals", mean(concordance)),
    ("TruePositives", {}, "bits", counted(lambda tp, fp, tn, fn: tp)),
    ("FalsePositives", {"thresholds": 0.3}, "many bits", counted(lambda tp, fp, tn, fn: fp)),
    ("TrueNegatives", {"thresholds": [0.3, 0.8]}, "bits", counted(lambda tp, fp, tn, fn: tn)),
    ("FalseNegatives", {"thresholds": [0.0, 0.5, 1.0]}, "bits", counted(lambda tp, fp, tn, fn: fn)),
    ("Precision", {}, "bits", counted(lambda tp, fp, tn, fn: ratio(tp, tp + fp))),
    (
        "Precision",
        {"thresholds": [0.2, 0.7]},
        "many bits",
        counted(lambda tp, fp, tn, fn: ratio(tp, tp + fp)),
    ),
    (
        "Precision",
        {"top_k": 2},
        "one hot",
        lambda y, p, w, o: np.average(
            np.take_along_axis(y, np.argsort(-p, -1)[:, :2], -1).mean(-1), weights=w
        ),
    ),
    ("Recall", {}, "bits", counted(lambda tp, fp, tn, fn: ratio(tp, tp + fn))),
    (
        "Recall",
        {"class_id": 1, "thresholds": 0.4},
        "many bits",
        lambda y, p, w, o: np.average(p[:, 1] > 0.4, weights=w * y[:, 1]),
    ),
    (
        "SensitivityAtSpecificity",
        {"specificity": 0.5},
        "bits",
        best(lambda tp, fp, tn, fn: (ratio(tn, tn + fp), ratio(tp, tp + fn))),
    ),
    (
        "SpecificityAtSensitivity",
        {"sensitivity": 0.5},
        "bits",
        best(lambda tp, fp, tn, fn: (ratio(tp, tp + fn), ratio(tn, tn + fp))),
    ),
    (
        "PrecisionAtRecall",
        {"recall": 0.6},
        "bits",
        best(lambda tp, fp, tn, fn: (ratio(tp, tp + fn), ratio(tp, tp + fp))),
    ),
    (
        "RecallAtPrecision",
        {"precision": 0.6},
        "bits",
        best(lambda tp, fp, tn, fn: (ratio(tp, tp + fp), ratio(tp, tp + fn))),
    ),
    ("AUC", {}, "bits", area),
    ("AUC", {"curve": "PR"}, "bits", area),
    ("AUC", {"curve": "PR", "summation_method": "majoring"}, "many bits", area),
    ("AUC", {"curve": "PRGAIN"}, "bits", area),
    ("AUC", {"thresholds": [0.9, 0.1, 0.4], "summation_method": "minoring"}, "bits", area),
    ("AUC", {"from_logits": True, "num_thresholds": 20}, "bits", area),
    ("AUC", {"multi_label": True, "num_thresholds": 8}, "many bits", area),
    (
        "AUC",
        {"multi_label": True, "num_labels": CLASSES, "label_weights": [1.0, 2.0, 0.5]},
        "many bits",
        area,
    ),
    ("FBetaScore", {"beta": 2.0, "average": "macro", "threshold": 0.5}, "many bits", f_score),
    ("F1Score", {}, "one hot", f_score),
    ("F1Score", {"average": "micro"}, "one hot", f_score),
    ("F1Score", {"average": "weighted"}, "one hot", f_score),
    ("R2Score", {}, "reals", determination),
    ("R2Score", {"class_aggregation": None}, "reals", determination),
    (
        "R2Score",
        {"class_aggregation": "variance_weighted_average", "num_regressors": 2},
        "reals",
        determination,
    ),
    ("IoU", {"num_classes": CLASSES, "target_class_ids": [0, 2]}, "numbers", overlap),
    ("MeanIoU", {"num_classes": CLASSES, "ignore_class": 1}, "numbers", overlap),
    ("BinaryIoU", {"threshold": 0.4}, "bits", overlap),
    ("OneHotIoU", {"num_classes": CLASSES, "target_class_ids": [0, 1]}, "one hot", overlap),
    ("OneHotMeanIoU", {"num_classes": CLASSES}, "one hot", overlap),
]
NAMES = [f"{row[0]} {row[1] or ''} {row[2]}" for row in TABLE]
WEIGHTS = [None, np.array([1.0, 2.0, 0.0, 3.0, 1.0], "float32"), np.full(5, 2.0, "float32")]
DATA = {kind: [batch(kind) for _ in WEIGHTS] for kind in dict.fromkeys(row[2] for row in TABLE)}
rows = pytest.mark.parametrize(("name", "options", "kind", "formula"), TABLE, ids=NAMES)


def weights(name, k):
    """The weights of a batch; integers for metrics that count."""
    return WEIGHTS[k].astype("int32") if "IoU" in name and k else WEIGHTS[k]


def expected(formula, options, kind, upto):
    """The value of a formula for the concatenated batches."""
    pairs = [
        [np.asarray(x, "float64") if x.dtype.kind == "f" else x for x in pair]
        for pair in DATA[kind][:upto]
    ]
    w = np.concatenate([np.ones(ROWS) if w is None else w for w in WEIGHTS[:upto]])
    y, p = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return formula(y, p, w, options)


@rows
def test_values(tf, name, options, kind, formula):
    """Several batches; the same after a reset; the same in a replayed function."""
    metric = getattr(tf.keras.metrics, name)(**options)
    for upto, (y, p) in enumerate(DATA[kind], 1):
        metric.update_state(y, p, sample_weight=weights(name, upto - 1))
        found = metric.result().numpy()
        np.testing.assert_allclose(
            found, expected(formula, options, kind, upto), rtol=1e-5, atol=2e-6
        )
    metric.reset_state()
    for v in metric.variables:
        np.testing.assert_array_equal(v.numpy(), np.zeros(v.shape))
    step = tf.function(metric.update_state)
    for _ in range(2):  # the second time it is replayed
        metric.reset_state()
        for upto, (y, p) in enumerate(DATA[kind]):
            step(
                tf.constant(y),
                tf.constant(p),
                tf.constant(
                    np.ones(ROWS, "int32" if "IoU" in name else "float32")
                    if upto == 0
                    else weights(name, upto)
                ),
            )
        np.testing.assert_allclose(metric.result().numpy(), found, rtol=1e-6, atol=1e-6)


@rows
@pytest.mark.numtape_only("asks both")
@pytest.mark.filterwarnings("ignore")
def test_as_keras(name, options, kind, formula):
    keras = installed().keras
    metrics = [getattr(library.metrics, name)(**options) for library in (numtape.keras, keras)]
    for again in range(2):
        for k, (y, p) in enumerate(DATA[kind]):
            values = [m(y, p, sample_weight=weights(name, k)).numpy() for m in metrics]
            assert values[0].dtype == values[1].dtype
            np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6, err_msg=f"{k} {again}")
        ours, theirs = ([(v.name, tuple(v.shape)) for v in m.variables] for m in metrics)
        assert ours == theirs
        for m in metrics:
            m.reset_state()
    ours, theirs = (m.get_config() for m in metrics)
    if theirs.get("label_weights") is not None:
        theirs["label_weights"] = theirs["label_weights"].numpy().tolist()
    if isinstance(theirs.get("target_class_ids"), tuple):
        theirs["target_class_ids"] = list(theirs["target_class_ids"])
    for config in (ours, theirs):
        config["name"] = re.sub(r"_\d+$", "", config["name"])
    if name == "CosineSimilarity":  # Keras drops it
        theirs["axis"] = -1
    assert {key: ours[key] for key in theirs} == theirs
    assert ours.keys() - theirs.keys() <= {"axis", "k", "from_sorted_ids"}
    assert getattr(metrics[1], "_direction", None) == metrics[0]._direction


# --- Means, sums, wrapped functions ---------------------------------------------------------------

REDUCED = [
    ("vector", [[1.0, 3.0, 5.0, 7.0]], 4, 16),
    ("weights", [[1.0, 3.0, 5.0, 7.0], [1.0, 1.0, 0.0, 0.0]], 2, 4),
    ("a number", [3.0], 3, 3),
    ("a weighed number", [3.0, 0.5], 3, 1.5),
    ("a matrix", [[[1.0, 2.0], [3.0, 6.0]]], 3, 12),
    ("a weight for each row", [[[1.0, 2.0], [3.0, 5.0]], [1.0, 3.0]], 3.375, 27),
    (
        "a weight for each element",
        [[[1.0, 2.0], [3.0, 5.0]], [[1.0, 0.0], [1.0, 2.0]]],
        (0.5 + 6.5) / 2,
        14,
    ),
    ("columns of weights", [[[1.0, 2.0], [3.0, 5.0]], [[1.0], [3.0]]], 3.375, 27),
    ("one weight for all", [[1.0, 2.0], 3.0], 1.5, 9),
    ("integers", [[1, 2, 4]], 7 / 3, 7),
    ("nothing", [np.zeros(0, "float32")], 0, 0),
]


@pytest.mark.parametrize(
    ("arguments", "average", "total"), [row[1:] for row in REDUCED], ids=[row[0] for row in REDUCED]
)
def test_means_and_sums(tf, arguments, average, total):
    for kind, wanted in (("Mean", average), ("Sum", total)):
        metric = getattr(tf.keras.metrics, kind)()
        np.testing.assert_allclose(metric(*arguments).numpy(), wanted, rtol=1e-6)
        if arguments[0] is not arguments[-1] or np.ndim(arguments[0]):
            continue
        np.testing.assert_allclose(
            metric(*arguments).numpy(), wanted if kind == "Mean" else 2 * wanted, rtol=1e-6
        )


def test_float64(tf):
    metric = tf.keras.metrics.Mean(dtype="float64")
    assert metric.dtype == "float64"
    metric.update_state(np.array([0.1, 0.2]))
    assert metric.result().dtype == tf.float64
    assert float(metric.result()) == pytest.approx(0.15, abs=1e-16)


def test_masks(tf):
    y, p = np.zeros((2, 3), "float32"), tf.constant([[1.0, 2.0, 9.0], [3.0, 9.0, 9.0]])
    p._keras_mask = tf.constant([[True, True, False], [True, False, False]])
    wrapped = tf.keras.metrics.MeanMetricWrapper(lambda y, p: tf.abs(y - p))
    assert float(wrapped(y, p)) == pytest.approx(((1 + 2) / 3 + 3 / 3) / 1)
    wrapped.reset_state()
    found = wrapped(y, p, sample_weight=[[1.0, 3.0, 1.0], [1.0, 1.0, 1.0]])
    assert float(found) == pytest.approx((7 / 3 + 1) / (4 / 3 + 1 / 3))


def test_wrapped_functions(tf):
    def power(y_true, y_pred, p=1.0):
        return tf.abs(y_true - y_pred) ** p

    metric = tf.keras.metrics.MeanMetricWrapper(power, name="power", p=3.0)
    y, z = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 4.0, 3.0])
    assert float(metric(y, z)) == pytest.approx(3.0)
    assert float(metric(y, z, sample_weight=[0.0, 1.0, 0.0])) == pytest.approx(17 / 4)
    assert metric.name == "power"


FUNCTIONS = {
    "binary_accuracy": ("many bits", {"threshold": 0.3}),
    "categorical_accuracy": ("one hot", {}),
    "sparse_categorical_accuracy": ("column", {}),
    "top_k_categorical_accuracy": ("one hot", {"k": 2}),
    "sparse_top_k_categorical_accuracy": ("classes", {"k": 2}),
    "pearson_correlation": ("reals", {"axis": 0}),
    "concordance_correlation": ("reals", {}),
}


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_keras(name):
    kind, options = FUNCTIONS[name]
    values = [
        getattr(library.metrics, name)(*DATA[kind][0], **options).numpy()
        for library in (numtape.keras, installed().keras)
    ]
    assert values[0].dtype == values[1].dtype
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


# Labels and predictions of other shapes than usual.
SHAPES = [
    ("categorical_accuracy", (2, 4, 3), (2, 4, 3)),
    ("categorical_accuracy", (4, 1, 3), (4, 3)),
    ("binary_accuracy", (4,), (4, 1)),
    ("binary_accuracy", (4, 1), (4,)),
    ("sparse_categorical_accuracy", (2, 4), (2, 4, 3)),
    ("sparse_categorical_accuracy", (2, 4, 1), (2, 4, 3)),
    ("top_k_categorical_accuracy", (2, 4, 3), (2, 4, 3)),
    ("sparse_top_k_categorical_accuracy", (2, 4), (2, 4, 3)),
]


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize(("name", "wanted", "predicted"), SHAPES)
def test_shapes_as_keras(name, wanted, predicted):
    y = RANDOM.integers(0, 2, wanted).astype("float32")
    p = RANDOM.uniform(size=predicted).astype("float32")
    options = {"k": 1} if "top_k" in name else {}
    values = [
        getattr(library.metrics, name)(y, p, **options).numpy()
        for library in (numtape.keras, installed().keras)
    ]
    np.testing.assert_array_equal(*values)


# --- Names, configurations, copies ----------------------------------------------------------------


@pytest.mark.numtape_only("looks into numtape")
def test_each_class_has_a_row():
    from numtape.keras.metrics.lookup import CLASSES as known

    public = {getattr(numtape.keras.metrics, name) for name in numtape.keras.metrics.__all__}
    assert {x for x in public if isinstance(x, type)} == set(known)
    apart = {"Metric", "Mean", "Sum", "MeanMetricWrapper"}
    assert {row[0] for row in TABLE} == {kind.__name__ for kind in known} - apart


@pytest.mark.parametrize("name", ["mse", "MSE", "MeanSquaredError", "mean_squared_error"])
def test_names(tf, name):
    metric = tf.keras.metrics.get(name)
    assert type(metric).__name__ == "MeanSquaredError"
    assert tf.keras.metrics.get(metric) is metric
    assert tf.keras.metrics.get(None) is None
    assert type(tf.keras.metrics.get("AUC")).__name__ == "AUC"
    with pytest.raises(ValueError, match="Could not interpret metric identifier"):
        tf.keras.metrics.get("nosuch")


@rows
def test_configurations(tf, name, options, kind, formula):
    if tf is not numtape and "label_weights" in options:
        pytest.skip("Keras does not read its own")
    metric = getattr(tf.keras.metrics, name)(**options, name="mine")
    config = json.loads(json.dumps(tf.keras.metrics.serialize(metric)))
    again = tf.keras.metrics.deserialize(config)
    assert type(again) is type(metric) and again.name == "mine"
    y, p = DATA[kind][0]
    np.testing.assert_array_equal(metric(y, p).numpy(), again(y, p).numpy())


@pytest.mark.numtape_only("Keras's metrics are not copied")
@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("name", ["Mean", "AUC", "F1Score"])
def test_copies_have_a_state_of_their_own(tf, name, way):
    metric = getattr(tf.keras.metrics, name)()
    y, p = DATA["one hot"][0]
    arguments = [p] if name == "Mean" else [y, p]
    metric.update_state(*arguments)
    before = metric.result().numpy()
    other = way(metric)
    np.testing.assert_array_equal(other.result().numpy(), before)
    other.update_state(*[x[::-1] * 0.5 for x in arguments])
    np.testing.assert_array_equal(metric.result().numpy(), before)
    assert not np.array_equal(other.variables[0].numpy(), metric.variables[0].numpy())


def test_metrics_of_ones_own(tf):
    class Share(tf.keras.metrics.Metric):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.mean = tf.keras.metrics.Mean()
            self.calls = self.add_weight(name="calls", initializer="zeros")

        def update_state(self, x):
            self.calls.assign_add(1.0)
            self.mean.update_state(x)

        def result(self):
            return {"mean": self.mean.result(), "calls": self.calls + 0.0}

    metric = Share(name="share")
    metric([1.0, 3.0])
    found = metric([5.0])
    assert {key: float(x) for key, x in found.items()} == {"mean": 3.0, "calls": 2.0}
    assert [v.name for v in metric.variables] == ["calls", "total", "count"]
    metric.reset_state()
    assert [float(v.numpy()) for v in metric.variables] == [0.0, 0.0, 0.0]


def test_names_are_numbered(tf):
    class ShareOfNothing(tf.keras.metrics.Metric):
        pass

    first, second = ShareOfNothing(), ShareOfNothing()
    assert (first.name, second.name) == ("share_of_nothing", "share_of_nothing_1")
    for method in (first.update_state, first.result):
        with pytest.raises(NotImplementedError):
            method()


REFUSED = [
    ("Precision", {"thresholds": 1.5}, "Threshold values must be in"),
    ("AUC", {"num_thresholds": 1}, "num_thresholds"),
    ("AUC", {"curve": "nosuch"}, "Invalid AUC curve value"),
    ("AUC", {"summation_method": "nosuch"}, "Invalid AUC summation method"),
    ("AUC", {"num_labels": 2}, "num_labels"),
    ("SensitivityAtSpecificity", {"specificity": 2.0}, "must be in the range"),
    ("RecallAtPrecision", {"precision": 0.5, "num_thresholds": 0}, "num_thresholds"),
    ("F1Score", {"average": "nosuch"}, "Invalid `average`"),
    ("F1Score", {"threshold": 2.0}, "Invalid `threshold`"),
    ("FBetaScore", {"beta": -1.0}, "Invalid `beta`"),
    ("R2Score", {"class_aggregation": "nosuch"}, "class_aggregation"),
    ("R2Score", {"num_regressors": -1}, "num_regressors"),
    ("IoU", {"num_classes": 2, "target_class_ids": [2]}, "out of range"),
]


@pytest.mark.parametrize(("name", "options", "said"), REFUSED)
def test_arguments_that_are_refused(tf, name, options, said):
    with pytest.raises(ValueError, match=said):
        getattr(tf.keras.metrics, name)(**options)


@pytest.mark.numtape_only("Keras has other errors")
@pytest.mark.parametrize("name", ["Precision", "AUC", "F1Score", "R2Score", "MeanSquaredError"])
def test_a_batch_that_does_not_fit_changes_nothing(tf, name):
    metric = getattr(tf.keras.metrics, name)()
    y, p = DATA["one hot"][0]
    metric.update_state(y, p)
    before = [v.numpy() for v in metric.variables]
    for bad in ([y[:2], p], [y, p, np.ones(7)]):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            metric.update_state(*bad)
    for v, value in zip(metric.variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), value)


@pytest.mark.numtape_only("for `Model.compile`")
def test_which_accuracy_is_meant():
    from numtape.keras.models.compile_config import metric_of

    def chosen(y, p, name="accuracy"):
        return metric_of(name, np.zeros(y), np.zeros(p))

    assert type(chosen((4, 1), (4, 1))).__name__ == "BinaryAccuracy"
    assert type(chosen((4,), (4, 3))).__name__ == "SparseCategoricalAccuracy"
    assert type(chosen((4, 1), (4, 3), "acc")).__name__ == "SparseCategoricalAccuracy"
    assert type(chosen((4, 3), (4, 3))).__name__ == "CategoricalAccuracy"
    assert chosen((4,), (4, 3), "acc").name == "acc"
    assert chosen((4,), (4,), "mse").name == "mse"
    assert chosen((4,), (4,), numtape.keras.losses.huber).name == "huber"
    with pytest.raises(ValueError, match="Expected metric"):
        chosen((4,), (4,), None)
