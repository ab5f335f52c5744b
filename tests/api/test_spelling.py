"""Names from PyTorch, NumPy and older Keras: errors suggest the right spelling."""

import functools
import inspect
import linecache
import traceback
import warnings

import numpy as np
import pytest

from numtape.compat import traceback_filter

pytestmark = pytest.mark.numtape_only(reason="TensorFlow's messages say less")

ATTRIBUTES = [
    ("optimizer", "zero_grad", "every tape"),
    ("optimizer", "step", "apply_gradients"),
    ("optimizer", "lr", "learning_rate"),
    ("optimizer", "minimize", "GradientTape"),
    ("optimizer", "state_dict", "optimizer.variables"),
    ("model", "parameters", "trainable_weights"),
    ("layer", "parameters", "trainable_weights"),
    ("module", "parameters", "trainable_variables"),
    ("model", "eval", "training=False"),
    ("model", "train", "training=True"),
    ("layer", "forward", "`call`"),
    ("model", "forward", "`call`"),
    ("module", "forward", "`__call__`"),
    ("model", "to", "tf.device"),
    ("model", "zero_grad", "every tape"),
    ("model", "state_dict", "get_weights"),
    ("model", "predict_classes", "argmax"),
    ("model", "fit_generator", "model.fit"),
]


def owner(tf, kind):
    keras = tf.keras
    return {
        "optimizer": keras.optimizers.Adam,
        "layer": lambda: keras.layers.Dense(2),
        "model": lambda: keras.Sequential([keras.layers.Dense(2)]),
        "module": tf.Module,
    }[kind]()


@pytest.mark.parametrize(("kind", "name", "said"), ATTRIBUTES)
def test_an_attribute_that_is_elsewhere(tf, kind, name, said):
    thing = owner(tf, kind)
    assert not hasattr(thing, name)
    assert not hasattr(type(thing), name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': write .*{said}"):
        getattr(thing, name)
    if name != "lr":  # that one would have no effect
        setattr(thing, name, 3)
        assert getattr(thing, name) == 3


def test_a_learning_rate_is_not_set_in_vain(tf):
    optimizer = tf.keras.optimizers.SGD(0.5)
    with pytest.raises(AttributeError, match="learning_rate"):
        optimizer.lr = 0.1
    assert float(optimizer.learning_rate) == 0.5
    with pytest.raises(ValueError, match=r"not recognized: {'lr': 0.1}: write learning_rate"):
        tf.keras.optimizers.Adam(lr=0.1)

    class Own(tf.keras.optimizers.SGD):
        def __init__(self, rate):
            super().__init__(rate)
            self.lr = rate

    assert Own(0.25).lr == 0.25


def test_attributes_of_one_s_own_come_first(tf):
    class Model(tf.keras.Model):
        def forward(self, x):
            return x + 1.0

        def call(self, x):
            return self.forward(x)

    assert float(Model()(tf.constant([1.0]))[0]) == 2.0

    class Part(tf.Module):
        def parameters(self):
            return "mine"

    assert Part().parameters() == "mine"


NAMES = {
    "nn.Linear": "Dense",
    "nn.Module": "tf.keras.Model",
    "nn.Conv2d": "Conv2D",
    "nn.CrossEntropyLoss": "SparseCategoricalCrossentropy",
    "nn.MSELoss": "MeanSquaredError",
    "nn.Parameter": "tf.Variable",
    "nn.ReLU": "tf.keras.layers.ReLU",
    "nn.functional": "tf.nn",
    "optim": "tf.keras.optimizers",
    "random.randn": "tf.random.normal",
    "log": "tf.math.log",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_elsewhere(tf, name):
    module, _, last = name.rpartition(".")
    with pytest.raises(AttributeError, match=NAMES[name]):
        getattr(getattr(tf, module) if module else tf, last)


KEYWORDS = [
    ("reduce_sum", "dim", "axis"),
    ("reduce_sum", "axes", "axis"),
    ("reduce_sum", "keepdim", "keepdims"),
    ("reduce_mean", "keep_dims", "keepdims"),
    ("reduce_max", "reduction_indices", "axis"),
    ("reduce_logsumexp", "dim", "axis"),
    ("argmax", "dim", "axis"),
    ("argmin", "dimension", "axis"),
    ("nn.softmax", "dim", "axis"),
    ("nn.log_softmax", "dim", "axis"),
    ("cumsum", "dim", "axis"),
    ("stack", "dim", "axis"),
    ("squeeze", "dim", "axis"),
    ("norm", "dim", "axis"),
    ("sort", "dim", "axis"),
]


@pytest.mark.parametrize(("name", "keyword", "right"), KEYWORDS)
def test_a_keyword_that_is_spelled_otherwise(tf, name, keyword, right):
    function = functools.reduce(getattr, name.split("."), tf)
    said = rf"{function.__name__}\(\) got an unexpected .* argument '{keyword}': write {right}="
    with pytest.raises(TypeError, match=said):
        function(tf.ones((2, 2)), **{keyword: 1})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nosuch'$"):
        function(tf.ones((2, 2)), nosuch=1)
    assert right in inspect.signature(function).parameters
    assert "wrong" not in inspect.signature(function).parameters


CALLS = {
    "tf.concat([x, x], dim=0)": "concat() got an unexpected keyword argument 'dim': write axis=",
    "tf.one_hot([1], num_classes=3)": (
        "one_hot() got an unexpected keyword argument 'num_classes': write depth="
    ),
    "tf.range(start=0, stop=3)": "range() got an unexpected keyword argument 'stop': write limit=",
    "tf.random.normal((2,), std=3)": (
        "normal() got an unexpected keyword argument 'std': write stddev="
    ),
    "tf.gather(x, index=[0])": (
        "gather() got an unexpected keyword argument 'index': did you mean indices=?"
    ),
    "tf.concat()": "concat() missing 2 required positional arguments: 'values' and 'axis'",
    "tf.fill((2,), 3, nosuch=4)": "fill() got an unexpected keyword argument 'nosuch'",
    "keras.layers.Dense(unit=1)": (
        "Dense() got an unexpected keyword argument 'unit': did you mean units=?"
    ),
    "keras.layers.Dense(1, act='relu')": (
        "Unrecognized keyword arguments passed to Dense: {'act': 'relu'}: did you mean activation=?"
    ),
    "keras.layers.Dense(*range(14))": (
        "Dense() takes from 1 to 10 positional arguments but 14 were given"
    ),
    "keras.layers.Conv2D(2)": "Conv2D() missing 1 required positional argument: 'kernel_size'",
    "keras.layers.Dropout(p=0.5)": "Dropout() got an unexpected keyword argument 'p': write rate=",
    "keras.optimizers.Adam(learningrate=1)": (
        "Adam() got an unexpected keyword argument 'learningrate': did you mean learning_rate=?"
    ),
    "keras.losses.MeanSquaredError(reduce=1)": (
        "MeanSquaredError() got an unexpected keyword argument 'reduce': did you mean reduction=?"
    ),
    "keras.callbacks.EarlyStopping(patienc=1)": (
        "EarlyStopping() got an unexpected keyword argument 'patienc': did you mean patience=?"
    ),
    "Own()": "Dense() got an unexpected keyword argument 'unit': did you mean units=?",
    "keras.Sequential().fit(epoch=1)": (
        "model.fit() got an unexpected keyword argument 'epoch': did you mean epochs=?"
    ),
    "keras.Sequential().fit(1, 2, 3, 4, *range(20))": (
        "model.fit() takes from 0 to 16 positional arguments but 24 were given"
    ),
    "tf.data.Dataset.range(3).batch(batchsize=3)": (
        "dataset.batch() got an unexpected keyword argument 'batchsize': did you mean batch_size=?"
    ),
    "tf.data.Dataset.from_tensor_slices(tensor=3)": "dataset.from_tensor_slices() got an "
    "unexpected keyword argument 'tensor': did you mean tensors=?",
}


@pytest.mark.parametrize("code", CALLS)
def test_arguments_that_python_refuses(tf, code, filtering):
    class Own(tf.keras.layers.Dense):
        def __init__(self):
            super().__init__(unit=1)

    with pytest.raises((TypeError, ValueError)) as caught:
        eval(code, {"tf": tf, "keras": tf.keras, "x": tf.ones((2, 2)), "Own": Own})
    assert str(caught.value) == CALLS[code]
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files <= {__file__, "<string>"}


def test_errors_of_the_program_s_own_calls_stay(tf):
    """A wrong call inside a user function is not mistaken for a call of numtape."""

    def loss(y):
        return y

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", loss)
    with pytest.raises(TypeError, match=r"loss\(\) takes 1 positional argument but 2 were given$"):
        model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)


# The message, and the program, in which `m` is a model and `x`, `y` are its data.
PROGRAMS = {
    "an item of a tensor": (TypeError, "y = tf.tensor_scatter_nd_update", "tf.ones(3)[0] = 1"),
    "an item of a variable": (
        TypeError,
        r"write v\[i\].assign\(value\)",
        "tf.Variable([1.0, 2.0])[0] = 1.0",
    ),
    "an item deleted": (TypeError, "doesn't support item deletion", "t = tf.ones(3)\ndel t[0]"),
    "a loss by NumPy": (
        TypeError,
        "NumPy left the tape.* tf.reduce_mean for np.mean",
        """
def loss(y, p):
    return np.mean(np.asarray(y - p) ** 2)
m.compile("sgd", loss)
m.fit(x, y, verbose=0)""",
    ),
    "a loss of Python's": (
        ValueError,
        "No gradients provided",
        """
m.compile("sgd", lambda y, p: float(tf.reduce_mean((y - p) ** 2)))
m.fit(x, y, verbose=0)""",
    ),
    "a loss without return": (
        ValueError,
        "None values not supported: the loss 'loss' gives None",
        """
def loss(y, p):
    tf.reduce_mean((y - p) ** 2)
m.compile("sgd", loss)
m.fit(x, y, verbose=0)""",
    ),
    "call without return": (
        ValueError,
        "None values not supported: `M.call",
        """
class M(tf.keras.Model):
    def call(self, x):
        x + 1.0
m = M()
m.compile("sgd", "mse")
m.fit(x, y, verbose=0)""",
    ),
    "call without return, in a model that is built": (
        ValueError,
        "None values not supported: `M.call",
        """
class M(tf.keras.Model):
    def call(self, x):
        x + 1.0
m = M()
m.built = True
m.predict(x, verbose=0)""",
    ),
    "a layer without return": (
        ValueError,
        "None values not supported: `L.call",
        """
class L(tf.keras.layers.Layer):
    def call(self, x):
        x + 1.0
tf.keras.Sequential([L(), tf.keras.layers.Dense(1)])(x)""",
    ),
    "None for a layer": (
        ValueError,
        "Got 'None'.* end `call` with `return`",
        "tf.keras.layers.Dense(1)(None)",
    ),
    "an optimizer's class": (
        ValueError,
        r"Adam is a class, .* write Adam\(\)",
        "m.compile(tf.keras.optimizers.Adam)",
    ),
    "a callback's class": (
        TypeError,
        r"History is a class, .* write History\(\)",
        """
m.compile("sgd", "mse")
m.fit(x, y, verbose=0, callbacks=[tf.keras.callbacks.History])""",
    ),
    "a layer's class": (
        ValueError,
        r"write Flatten\(\)",
        "tf.keras.Sequential([tf.keras.layers.Flatten])",
    ),
    "no layer at all": (
        ValueError,
        r"Received: 1 \(of type <class 'int'>\)$",
        "tf.keras.Sequential([1])",
    ),
    "a value that shows itself in several lines": (
        ValueError,
        r"convert a value \(first \.\.\.\) with an unsupported type",
        """
class Table:
    def __repr__(self):
        return "first" + chr(10) + "second"
tf.constant(Table())""",
    ),
    "a loss that nobody has": (
        ValueError,
        "Did you mean 'mean_squared_error'",
        "m.compile('sgd', 'mean_square_error')",
    ),
    "an optimizer that nobody has": (
        ValueError,
        "Did you mean 'rmsprop'",
        "m.compile('rms_prop')",
    ),
    "a metric that nobody has": (
        ValueError,
        "Did you mean 'accuracy'",
        "m.compile('sgd', 'mse', metrics=['accurracy'])",
    ),
    "an activation that nobody has": (
        ValueError,
        "Did you mean 'relu'",
        "tf.keras.layers.Dense(2, 'rellu')",
    ),
    "validation data without targets": (
        ValueError,
        r"`validation_data` must have targets: pass a pair \(x, y\)",
        """
m.compile("sgd", "mse")
m.fit(x, y, verbose=0, validation_data=x)""",
    ),
    "an input that does not fit a layer": (
        ValueError,
        "^Input 0 of layer 'dense.*' is incompatible .* with shape \\(4, 5\\)$",
        """
m(x)
m.layers[0](np.ones((4, 5)))""",
    ),
    "labels that are no classes": (
        Exception,
        r"7 is not in \[0, 1\) .* In loss 'sparse_.*', for shapes \(4,\)",
        """
m.compile("sgd", "sparse_categorical_crossentropy")
m.fit(x, np.array([0, 0, 7, 0]), verbose=0)""",
    ),
    "targets of another shape": (
        Exception,
        r"Incompatible shapes.* In loss 'mse', for shapes \(4, 5\) and \(4, 3\)",
        """
m = tf.keras.Sequential([tf.keras.layers.Dense(3)])
m.compile("sgd", "mse")
m.fit(x, np.ones((4, 5)), verbose=0)""",
    ),
    "an index that an embedding lacks": (
        Exception,
        r"an index of 9 .* In Embedding 'embedding.*', for shapes \(4, 2\)",
        """
m = tf.keras.Sequential([tf.keras.layers.Embedding(3, 2)])
m.predict(np.full((4, 2), 9), verbose=0)""",
    ),
    "an example without an axis of examples": (
        ValueError,
        r"the batch axis is missing; x\[None\]",
        """
m(x)
m.predict(x[0], verbose=0)""",
    ),
    "weights that are not made yet": (
        AttributeError,
        "'Dense' object has no attribute 'kernel': write layer.build",
        "tf.keras.layers.Dense(2).kernel",
    ),
    "an input_shape that is a number": (
        ValueError,
        r"Cannot convert '3' to a shape: `input_shape` is a tuple, \(3,\)",
        "tf.keras.layers.Dense(2, input_shape=3)",
    ),
    "a method that optimizers had": (
        AttributeError,
        "no attribute 'minimize'",
        "tf.keras.optimizers.SGD().minimize",
    ),
    "a model without super": (
        RuntimeError,
        r"you forgot to call `super\(\).__init__\(\)`",
        """
class M(tf.keras.Model):
    def __init__(self):
        self.n = 1
M().compile("sgd", "mse")""",
    ),
    "a layer without super": (
        RuntimeError,
        r"you forgot to call `super\(\).__init__\(\)`",
        """
class L(tf.keras.layers.Layer):
    def __init__(self):
        self.inner = tf.keras.layers.Dense(1)
L()(x)""",
    ),
    "a module without super": (
        AttributeError,
        r"does not call `super\(\).__init__\(\)`",
        """
class M(tf.Module):
    def __init__(self):
        self.w = tf.Variable(1.0)
M().name""",
    ),
    "forward": (
        NotImplementedError,
        "has `forward`, PyTorch's name for it",
        """
class M(tf.keras.Model):
    def forward(self, x):
        return x
M()(x)""",
    ),
}


@pytest.fixture
def filtering():
    before = traceback_filter.is_enabled()
    traceback_filter.enable(True)
    yield
    traceback_filter.enable(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_told_what_is_wrong(tf, name, filtering):
    kind, said, text = PROGRAMS[name]
    place = f"<{name}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    names = {
        "tf": tf,
        "np": np,
        "x": np.ones((4, 3), "float32"),
        "y": np.ones((4, 1), "float32"),
        "m": tf.keras.Sequential([tf.keras.layers.Dense(1)]),
        "__name__": "program",
    }
    with pytest.raises(kind, match=f"(?s){said}") as caught:
        exec(compile(text, place, "exec"), names)
    frames = traceback.extract_tb(caught.value.__traceback__)[1:]
    assert frames and {frame.filename for frame in frames} == {place}


def test_the_class_of_a_loss_is_taken_for_it(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", tf.keras.losses.MeanSquaredError)
    assert model.evaluate(np.ones((4, 3)), np.full((4, 1), 3.0), verbose=0) == 9.0


def test_whole_numbers_as_labels_of_two_classes(tf):
    p = np.array([0.1, 0.9, 0.8, 0.2], "float32")
    wanted = -np.mean(np.log([0.9, 0.9, 0.8, 0.8]))
    for labels in ([0, 1, 1, 0], np.array([0, 1, 1, 0]), tf.constant([0, 1, 1, 0])):
        found = tf.keras.losses.binary_crossentropy(labels, tf.constant(p))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_metric_of_several_values_is_an_array_in_logs(tf):
    layer = tf.keras.layers.Dense(1, "sigmoid", kernel_initializer="zeros")
    model = tf.keras.Sequential([layer])
    metric = tf.keras.metrics.Recall(thresholds=[0.25, 0.75])
    model.compile("sgd", "mse", metrics=[metric])
    x, y = np.ones((4, 2)), np.ones((4, 1))
    _, found = model.evaluate(x, y, verbose=0)
    assert type(found) is np.ndarray
    assert found.tolist() == [1.0, 0.0]


def test_a_warning_shows_the_program_s_line(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model.fit(
            np.ones((4, 2)),
            np.ones((4, 1)),
            verbose=0,
            epochs=3,
            callbacks=[tf.keras.callbacks.EarlyStopping()],
        )
    (one,) = caught
    assert one.filename == __file__
    assert "Available metrics are: loss" in str(one.message)
