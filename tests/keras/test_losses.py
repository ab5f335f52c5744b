"""Keras losses: values compared with NumPy formulas, weights, labels, reductions."""

import re
import warnings

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

E = 1e-7
LABELS = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]], "float32")
NUMBERS = LABELS.argmax(-1)
RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(4, 3)).astype("float32")
PREDICTED = RANDOM.dirichlet(np.ones(3), 4).astype("float32")
WANTED = RANDOM.normal(size=(4, 3)).astype("float32")


def softmax(x):
    found = np.exp(x - x.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def crossentropy(y, p):
    return -(y * np.log(p)).sum(-1)


def binary(y, p):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(-1)


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


# Maps names to arguments, keyword arguments, and the value for each example.
VALUES = {
    "MeanSquaredError": (WANTED, LOGITS, {}, lambda y, p: ((y - p) ** 2).mean(-1)),
    "MeanAbsoluteError": (WANTED, LOGITS, {}, lambda y, p: np.abs(y - p).mean(-1)),
    "MeanAbsolutePercentageError": (
        WANTED,
        LOGITS,
        {},
        lambda y, p: 100 * np.abs((y - p) / y).mean(-1),
    ),
    "MeanSquaredLogarithmicError": (
        LABELS,
        PREDICTED,
        {},
        lambda y, p: ((np.log1p(y) - np.log1p(p)) ** 2).mean(-1),
    ),
    "CosineSimilarity": (WANTED, LOGITS, {}, lambda y, p: -(unit(y) * unit(p)).sum(-1)),
    "Huber": (
        WANTED,
        LOGITS,
        {"delta": 0.7},
        lambda y, p: np.where(
            np.abs(y - p) < 0.7, (y - p) ** 2 / 2, 0.7 * np.abs(y - p) - 0.7**2 / 2
        ).mean(-1),
    ),
    "LogCosh": (WANTED, LOGITS, {}, lambda y, p: np.log(np.cosh(p - y)).mean(-1)),
    "Hinge": (LABELS, LOGITS, {}, lambda y, p: np.maximum(1 - (2 * y - 1) * p, 0).mean(-1)),
    "SquaredHinge": (
        LABELS,
        LOGITS,
        {},
        lambda y, p: (np.maximum(1 - (2 * y - 1) * p, 0) ** 2).mean(-1),
    ),
    "CategoricalHinge": (
        LABELS,
        LOGITS,
        {},
        lambda y, p: np.maximum(((1 - y) * p).max(-1) - (y * p).sum(-1) + 1, 0),
    ),
    "KLDivergence": (PREDICTED, softmax(LOGITS), {}, lambda y, p: (y * np.log(y / p)).sum(-1)),
    "Poisson": (LABELS, PREDICTED, {}, lambda y, p: (p - y * np.log(p)).mean(-1)),
    "CategoricalCrossentropy": (LABELS, PREDICTED, {}, crossentropy),
    "CategoricalCrossentropy of logits": (
        LABELS,
        LOGITS,
        {"from_logits": True},
        lambda y, p: crossentropy(y, softmax(p)),
    ),
    "CategoricalCrossentropy, smoothed": (
        LABELS,
        PREDICTED,
        {"label_smoothing": 0.3},
        lambda y, p: crossentropy(0.7 * y + 0.1, p),
    ),
    "SparseCategoricalCrossentropy": (
        NUMBERS,
        PREDICTED,
        {},
        lambda y, p: -np.log(p[np.arange(4), y]),
    ),
    "SparseCategoricalCrossentropy of logits": (
        NUMBERS[:, None],
        LOGITS,
        {"from_logits": True},
        lambda y, p: -np.log(softmax(p)[np.arange(4), y[:, 0]]),
    ),
    "BinaryCrossentropy": (LABELS, PREDICTED, {}, binary),
    "BinaryCrossentropy of logits": (
        LABELS,
        LOGITS,
        {"from_logits": True},
        lambda y, p: binary(y, 1 / (1 + np.exp(-p))),
    ),
    "BinaryCrossentropy, smoothed": (
        LABELS,
        PREDICTED,
        {"label_smoothing": 0.2},
        lambda y, p: binary(0.8 * y + 0.1, p),
    ),
    "BinaryFocalCrossentropy": (
        LABELS,
        PREDICTED,
        {"apply_class_balancing": True},
        lambda y, p: (
            (y * 0.25 + (1 - y) * 0.75)
            * (1 - (y * p + (1 - y) * (1 - p))) ** 2
            * -(y * np.log(p) + (1 - y) * np.log(1 - p))
        ).mean(-1),
    ),
    "CategoricalFocalCrossentropy": (
        LABELS,
        PREDICTED,
        {"gamma": 3.0},
        lambda y, p: (-y * 0.25 * (1 - p) ** 3 * np.log(p)).sum(-1),
    ),
    "Dice": (
        LABELS,
        PREDICTED,
        {"axis": -1},
        lambda y, p: 1 - 2 * (y * p).sum(-1) / (y.sum(-1) + p.sum(-1)),
    ),
    "Tversky": (
        LABELS,
        PREDICTED,
        {"alpha": 0.3, "axis": -1},
        lambda y, p: (
            1
            - (y * p).sum(-1)
            / ((y * p).sum(-1) + 0.3 * (y * (1 - p)).sum(-1) + 0.5 * (p * (1 - y)).sum(-1))
        ),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_and_gradients(tf, name):
    """Each example's loss, the mean, and the derivative against finite differences."""
    wanted, predicted, options, formula = VALUES[name]
    make = getattr(tf.keras.losses, name.split()[0].rstrip(","))
    exact = formula(
        *(x.astype("float64") if x.dtype.kind == "f" else x for x in (wanted, predicted))
    )
    each = make(reduction="none", **options)(wanted, predicted)
    np.testing.assert_allclose(each.numpy(), exact, rtol=3e-5, atol=3e-6)
    p = tf.constant(predicted)
    with tf.GradientTape() as tape:
        tape.watch(p)
        loss = make(**options)(wanted, p)
    np.testing.assert_allclose(loss.numpy(), exact.mean(), rtol=3e-5, atol=3e-6)
    gradient, step = tape.gradient(loss, p).numpy(), 1e-5
    direction = RANDOM.normal(size=predicted.shape)
    if "Categorical" in name and "Hinge" not in name and "logits" not in name:
        direction -= predicted * direction.sum(-1, keepdims=True)  # sums stay 1
    ends = [
        formula(
            wanted.astype("float64") if wanted.dtype.kind == "f" else wanted,
            predicted.astype("float64") + sign * step * direction,
        ).mean()
        for sign in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-3, atol=1e-4)


def test_weights_and_reductions(tf):
    y, p = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])
    make = tf.keras.losses.MeanSquaredError
    assert make()(y, p, sample_weight=[0.7, 0.3]).numpy() == pytest.approx(0.25)
    assert make("sum")(y, p).numpy() == 1
    assert make("none")(y, p, [2.0, 0.0]).numpy().tolist() == [1, 0]
    assert make("mean_with_sample_weight")(y, p, [3.0, 1.0]).numpy() == pytest.approx(0.5)
    assert make()(y, p).dtype == tf.float32 and make(dtype="float64")(y, p).dtype == tf.float64
    with pytest.raises(ValueError, match="reduction"):
        make("median")


def test_shapes_that_differ_by_an_axis_of_one(tf):
    loss = tf.keras.losses.MeanSquaredError()
    flat, columns = np.array([1.0, 2.0]), np.array([[1.0], [4.0]])
    assert loss(flat, columns).numpy() == 2
    assert loss(columns, flat).numpy() == 2
    assert tf.keras.losses.MSE(columns, flat).shape == (2,)


@pytest.mark.parametrize("wanted", [(4, 1), (1, 3), (3,), (4, 2), (4,), (2, 4, 3), ()], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "BinaryCrossentropy",
        "BinaryFocalCrossentropy",
        "CategoricalCrossentropy",
        "CategoricalFocalCrossentropy",
        "SparseCategoricalCrossentropy",
    ],
)
def test_labels_of_crossentropies_are_not_broadcast(tf, name, wanted):
    sparse = name.startswith("Sparse")
    if (sparse and wanted in [(4,), (4, 1)]) or (
        name == "CategoricalFocalCrossentropy" and tf.__name__ == "tensorflow"  # it broadcasts
    ):
        return
    given = (tf.zeros(wanted), tf.constant(PREDICTED))
    function = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    calls = [getattr(tf.keras.losses, name)(), getattr(tf.keras.losses, function)]
    if hasattr(tf.keras.metrics, name):
        calls.append(getattr(tf.keras.metrics, name)())
    for call in calls:
        with pytest.raises(ValueError, match="target" if wanted else "target|rank|scalar"):
            call(*given)


def test_one_class_only_is_warned_of(tf):
    with pytest.warns(SyntaxWarning, match="num_classes > 1.*binary_crossentropy"):
        tf.keras.losses.CategoricalCrossentropy()(tf.zeros((4, 1)), tf.ones((4, 1)))


# Shapes of labels and predictions: equal, broadcast, and incompatible ones.
PAIRS = [
    ((4, 3), (4, 3)),
    ((4,), (4, 3)),
    ((4, 1), (4, 3)),
    ((4, 3), (4, 1)),
    ((4, 3), (4,)),
    ((1, 3), (4, 3)),
    ((3,), (4, 3)),
    ((4, 3), (1, 3)),
    ((4,), (4, 1)),
    ((4, 1), (4,)),
    ((4,), (4,)),
    ((3, 3), (4, 3)),
    ((2, 4, 3), (2, 4, 3)),
    ((2, 4), (2, 4, 3)),
    ((2, 4, 1), (2, 4, 3)),
    ((4, 3), (2, 4, 3)),
    ((2, 4, 3), (4, 3)),
    ((), (4,)),
    ((4,), ()),
]
NEEDED = {
    "IoU": {"num_classes": 3, "target_class_ids": [0, 1]},
    "MeanIoU": {"num_classes": 3},
    "OneHotIoU": {"num_classes": 3, "target_class_ids": [0, 1]},
    "OneHotMeanIoU": {"num_classes": 3},
    "PrecisionAtRecall": {"recall": 0.5},
    "RecallAtPrecision": {"precision": 0.5},
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5},
}


@pytest.mark.numtape_only("of numtape's names")
def test_each_class_has_a_row():
    losses = numtape.keras.losses
    known = {name for name in losses.__all__ if isinstance(getattr(losses, name), type)} - {"Loss"}
    elsewhere = {"CTC", "CategoricalGeneralizedCrossEntropy", "Circle"}  # of integer labels
    assert known - elsewhere == {name.split()[0].rstrip(",") for name in VALUES}


# Shapes that Keras broadcasts and numtape refuses.
STRICTER = (
    "CategoricalFocalCrossentropy",
    "categorical_focal_crossentropy",
    "Precision",
    "Recall",
    "TruePositives",
    "TrueNegatives",
    "FalsePositives",
    "FalseNegatives",
    "IoU",
    "MeanIoU",
    "BinaryIoU",
    "OneHotIoU",
    "OneHotMeanIoU",
    "F1Score",
    "FBetaScore",
    "R2Score",
)
SUBJECTS = [
    (kind, name)
    for kind in ("losses", "metrics")
    for name in getattr(numtape.keras, kind).__all__
    if name
    not in (
        "get",
        "Loss",
        "Metric",
        "Mean",
        "Sum",
        "MeanMetricWrapper",
        "deserialize",
        "serialize",
        "Accuracy",
    )
]


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize(("kind", "name"), SUBJECTS)
def test_shapes_of_labels_as_keras(kind, name):
    """Each pair of shapes yields Keras's value, or an error if Keras raises one."""
    warnings.simplefilter("ignore")
    libraries = numtape, installed()
    if not hasattr(getattr(libraries[1].keras, kind), name):
        pytest.skip("Keras does not have it under this name")
    for wanted, predicted in PAIRS:
        y = RANDOM.integers(0, 2, wanted).astype("float32")
        p = RANDOM.uniform(0.1, 0.9, predicted).astype("float32")
        found = []
        for library in libraries:
            subject = getattr(getattr(library.keras, kind), name)
            if isinstance(subject, type):
                subject = subject(**NEEDED.get(name, {}))
            try:
                found.append(np.asarray(subject(library.constant(y), library.constant(p))))
            except Exception as error:
                found.append(error)
        ours, theirs = found
        if not isinstance(ours, Exception):
            assert not isinstance(theirs, Exception), (wanted, predicted, ours, theirs)
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
            continue
        assert isinstance(ours, ValueError | numtape.errors.InvalidArgumentError)
        scalar = () in (wanted, predicted)
        if not (name in STRICTER or (scalar and name.lower().startswith("cosine"))):
            assert isinstance(theirs, Exception), (wanted, predicted, ours, theirs)
        if isinstance(theirs, ValueError):
            assert isinstance(ours, ValueError), (wanted, predicted, ours, theirs)


def test_a_class_that_does_not_count(tf):
    make = tf.keras.losses.SparseCategoricalCrossentropy
    labels = np.array([0, 2, -1, 1])
    loss = make(from_logits=True, ignore_class=-1)(labels, LOGITS)
    exact = -np.log(softmax(LOGITS.astype("float64")))[[0, 1, 3], [0, 2, 1]].mean()
    assert loss.numpy() == pytest.approx(exact, rel=1e-5)


def test_a_loss_of_ones_own(tf):
    class Largest(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.reduce_max(tf.abs(y_true - y_pred), -1)

    loss = Largest(name="mine")
    y, p = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [3.0, 0.0]])
    assert loss(y, p).numpy() == 2
    assert loss.name == "mine" and Largest().name == "largest"
    with pytest.raises(NotImplementedError):
        tf.keras.losses.Loss()(y, p)


def test_names(tf):
    losses = tf.keras.losses
    assert losses.get("mse") is losses.mse and losses.get(None) is None
    assert isinstance(losses.get("Huber"), losses.Huber)
    assert losses.get("bce") is losses.get("BCE") is losses.get("binary_crossentropy")
    again = losses.Hinge.from_config(losses.Hinge(name="mine").get_config())
    assert isinstance(again, losses.Hinge) and again.name == "mine"
    with pytest.raises(ValueError, match="nosuch"):
        losses.get("nosuch")


def test_training_with_a_loss(tf):
    """As in the guide on MLPs: logits, sparse labels, a tape, an optimizer."""
    model = tf.keras.layers.Dense(3)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.5)
    x = LABELS + 0.1 * LOGITS
    values = []
    for _ in range(60):
        with tf.GradientTape() as tape:
            value = loss(NUMBERS, model(x))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        values.append(float(value))
    assert values[-1] < 0.2 < values[0]


# Losses that recover logits: the activation that makes probabilities, and the loss.
SURE = np.array([[90.0, 0.0, -3.0], [30.0, -2.0, 1.0]], "float32")
ALTHOUGH = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "float32")
MAKERS = {
    "Keras's": lambda tf, name, x: getattr(tf.keras.activations, name)(x),
    "the op": lambda tf, name, x: getattr(tf.nn, name)(x),
    "layers": lambda tf, name, x: tf.keras.Sequential(
        [
            tf.keras.layers.Dense(3, name, kernel_initializer="identity"),
            tf.keras.layers.Activation("linear"),
        ]
    )(x),
    "reshaped": lambda tf, name, x: tf.reshape(getattr(tf.keras.activations, name)(x), (2, 3)),
    "of a function": lambda tf, name, x: tf.function(getattr(tf.keras.activations, name))(x),
    "half": lambda tf, name, x: getattr(tf.keras.activations, name)(tf.cast(x, tf.float16)),
    "along another axis": lambda tf, name, x: tf.keras.activations.softmax(x, 0),
    "looked at": lambda tf, name, x: [y := getattr(tf.keras.activations, name)(x), y.numpy()][0],
}
LOSSES = {
    "CategoricalCrossentropy": ALTHOUGH,
    "SparseCategoricalCrossentropy": ALTHOUGH.argmax(-1),
    "BinaryCrossentropy": ALTHOUGH,
    "BinaryFocalCrossentropy": ALTHOUGH,
}


def losses_of_sure_ones(tf):
    """Each loss and its gradient: direct, in a function, and with the probabilities passed on."""
    found = {}
    x, found_of = tf.constant(SURE), tf.keras.losses
    for name, labels in LOSSES.items():
        for activation in ("softmax", "sigmoid"):
            for made, make in MAKERS.items():
                loss = getattr(found_of, name)(dtype="float16" if made == "half" else None)

                def both(x, make=make, activation=activation, loss=loss, labels=labels):
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        value = loss(labels, make(tf, activation, x))
                    return value, tape.gradient(value, x)

                calls = [both, tf.function(both)] if made == "the op" else [both]
                found[name, activation, made] = [
                    np.nan_to_num(np.asarray(y, "float64")) for call in calls for y in call(x)
                ]
    return found


def test_crossentropies_take_the_logits_behind_probabilities_as_keras_does():
    theirs = losses_of_sure_ones(installed())
    for key, ours in losses_of_sure_ones(numtape).items():
        for one, other in zip(ours, theirs[key], strict=True):
            rel = 5e-3 if key[-1] == "half" else 2e-5
            np.testing.assert_allclose(one, other, rel, 1e-6, err_msg=str(key))


def test_logits_in_fit_and_of_ops_in_calls():
    model = numtape.keras.Sequential(
        [numtape.keras.layers.Dense(3, numtape.nn.softmax, kernel_initializer="identity")]
    )
    for loss, found in (("categorical_crossentropy", (90 + 29) / 2), ("binary_crossentropy", None)):
        model.compile("sgd", loss)
        first = model.evaluate(SURE, ALTHOUGH, verbose=0)
        assert first == model.evaluate(SURE, ALTHOUGH, verbose=0)
        assert first == pytest.approx(found, rel=1e-5) if found else first < 16


def test_logits_that_are_said_to_be_given_but_are_not(tf):
    loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    with pytest.warns(UserWarning, match="from_logits=True"):
        found = loss(ALTHOUGH, tf.keras.activations.softmax(tf.constant(SURE)))
    assert found.numpy() == pytest.approx((90 + 29) / 2, rel=1e-5)
