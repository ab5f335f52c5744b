"""A pytest plugin that runs Keras's own tests of `keras.ops` and `keras.random` on numtape.

The tests import modules named ``keras.src...``. The plugin provides those modules: numtape's public
functions under Keras's names, and the helpers of Keras's tests. ``absl-py`` and JAX must be
installed; the folder of a checkout of Keras is in the environment variable ``KERAS_CHECKOUT``::

    KERAS_CHECKOUT=~/keras python -m pytest -p keras_binding --rootdir ~/keras -c /dev/null \\
        ~/keras/keras/src/ops/numpy_test.py

with the folder of this file on ``PYTHONPATH``. Nothing of Keras is imported but its test files.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import re
import shutil
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
from absl.testing import parameterized

import numtape as tf
from numtape import keras
from numtape.keras.layers.base import parse_data_format
from numtape.keras.ops.define import result_type

CHECKOUT = Path(os.environ["KERAS_CHECKOUT"])
BACKEND = os.environ.get("KERAS_TEST_BACKEND", "numtape")
SUBJECTS = {
    "core": keras.ops,
    "einops": keras.ops,
    "image": keras.ops.image,
    "linalg": keras.ops.linalg,
    "math": keras.ops,
    "nn": keras.ops.nn,
    "numpy": keras.ops.numpy,
}
INTS = tuple(f"{sign}int{size}" for sign in ("u", "") for size in (8, 16, 32, 64))
FLOATS = ("bfloat16", "float16", "float32", "float64")
OTHERS = ("bool", "string", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2")


class Namespace(types.ModuleType):
    """A module with some attributes; the rest is looked up in numtape's modules."""

    def __init__(self, name, *fallbacks, **attributes):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(attributes)
        self.__dict__["_fallbacks"] = fallbacks

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        is_operation = name[0].isupper() and self.__name__.startswith("keras.src.ops")
        if is_operation and (function := function_of(name)) is not None:
            return operation_class(function)
        for fallback in self._fallbacks:
            if hasattr(fallback, name):
                return getattr(fallback, name)
        raise AttributeError(f"numtape has no {self.__name__}.{name}")


def function_of(name):
    """The function of a class of operations, such as `keras.ops.expand_dims` of ExpandDims."""
    from numtape.keras.symbolic import OPERATIONS

    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return OPERATIONS.get(name) or getattr(keras.ops, snake, None)


# Parameters of calls of Keras's operations, besides tensors; others are given to the constructor.
CALLED = {
    *"branches choicelist condlist coordinates default elements elems f false_fn function".split(),
    *"index init init_val key loop_vars operands pred primals start_indices tangents".split(),
    *"start step stop true_fn value variable xs y".split(),
}


def operation_class(function):
    """A class like Keras's operations: the options first, then a call with tensors."""
    parameters = inspect.signature(function).parameters.values()
    is_called = {p.name: p.name in CALLED or "TensorLike" in str(p.annotation) for p in parameters}

    class Operation:
        def __init__(self, *args, name=None, **options):
            names = [n for n, called in is_called.items() if not called]
            self.args, self.options = args, {**dict(zip(names, args, strict=False)), **options}

        def __call__(self, *tensors, **more):
            if function.__name__ == "einsum":
                return function(*self.args, *tensors, **more)
            names = [n for n, called in is_called.items() if called and n not in self.options]
            if len(tensors) > len(names):  # options given by position, or any number of operands
                return function(*tensors, **self.options, **more)
            return function(**dict(zip(names, tensors, strict=False)), **self.options, **more)

        call = symbolic_call = compute_output_spec = __call__

    Operation.__name__ = Operation.__qualname__ = function.__name__
    return Operation


def standardize_dtype(dtype):
    if dtype is None:
        return keras.config.floatx()
    if dtype is float or dtype is int:
        return {float: "float32", int: "int32"}[dtype]
    return getattr(dtype, "name", None) or tf.as_dtype(dtype).name


def keras_result_type(*dtypes):
    names = [x.__name__ if x in (int, float) else standardize_dtype(x) for x in dtypes]
    return result_type(*names).name


def named_product(*args, **kwargs):
    """All combinations of the parameters, with a name of the test for each."""
    groups = [list(arg) for arg in args]
    for name, values in kwargs.items():
        groups.append([{"testcase_name": describe(v), name: v} for v in values])
    cases = []
    for parts in itertools.product(*groups):
        case = {key: value for part in parts for key, value in part.items()}
        case["testcase_name"] = "_" + "_".join(part["testcase_name"] for part in parts)
        cases.append(case)
    return cases


def describe(value):
    if isinstance(value, list | tuple):
        return "_".join(map(describe, value))
    return re.sub(r"\W", "_", getattr(value, "__name__", None) or str(value))


class TestCase(parameterized.TestCase):
    """The checks of Keras's class of tests."""

    def setUp(self):
        keras.backend.clear_session(free_memory=False)

    def get_temp_dir(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(folder))
        return folder

    def convert_to_numpy(self, x):
        return np.array(x)

    def assertAllClose(
        self, actual, desired, atol=1e-6, rtol=1e-6, tpu_atol=None, tpu_rtol=None, msg=None
    ):
        np.testing.assert_allclose(
            np.array(actual), np.array(desired), atol=atol, rtol=rtol, err_msg=msg or ""
        )

    def assertNotAllClose(self, x1, x2, atol=1e-6, rtol=1e-6, msg=None):
        assert not np.allclose(np.array(x1), np.array(x2), atol=atol, rtol=rtol), msg

    def assertAlmostEqual(self, actual, desired, decimal=3, tpu_decimal=None, msg=None):
        np.testing.assert_almost_equal(np.array(actual), np.array(desired), decimal, msg or "")

    def assertAllEqual(self, actual, desired, msg=None):
        np.testing.assert_array_equal(np.array(actual), np.array(desired), err_msg=msg or "")

    def assertLen(self, iterable, expected_len, msg=None):
        self.assertEqual(len(iterable), expected_len, msg=msg)

    def assertAllInRange(self, target, lower, upper):
        values = np.array(target)
        assert lower <= values.min() and values.max() <= upper

    def run_layer_test(
        self,
        layer_cls,
        init_kwargs,
        input_shape=None,
        input_dtype="float32",
        input_data=None,
        expected_output_shape=None,
        expected_output_dtype=None,
        expected_output=None,
        supports_masking=None,
        call_kwargs=None,
        **others,
    ):
        layer = layer_cls(**init_kwargs)
        restored = layer_cls.from_config(layer.get_config())
        self.assertEqual(restored.get_config(), layer.get_config())
        if supports_masking is not None:
            self.assertEqual(layer.supports_masking, supports_masking)
        if input_shape is not None:
            input_data = (
                np.random.default_rng(0).uniform(size=input_shape).astype(input_dtype or "float32")
            )
        if input_data is None:
            return
        x = tf.convert_to_tensor(input_data)
        output = layer(x, **(call_kwargs or {}))
        symbolic = layer_cls(**init_kwargs)(keras.Input(x.shape[1:], dtype=x.dtype.name))
        if expected_output_shape is not None:
            self.assertEqual(tuple(output.shape), tuple(expected_output_shape))
            self.assertEqual(tuple(symbolic.shape)[1:], tuple(expected_output_shape)[1:])
        if expected_output_dtype is not None:
            self.assertDType(output, expected_output_dtype)
        if expected_output is not None:
            self.assertAllClose(output, expected_output)

    def assertSparse(self, x, sparse=True):
        self.assertFalse(sparse)

    assertRagged = assertSparse

    def assertDType(self, x, dtype, msg=None):
        kind = standardize_dtype(x.dtype if hasattr(x, "dtype") else type(x))
        self.assertEqual(kind, standardize_dtype(dtype), msg=msg)


def no(*args):
    return False


ops = Namespace("keras.src.ops", keras.ops, KerasTensor=keras.KerasTensor)
dtypes = Namespace(
    "keras.src.backend.common.dtypes",
    ALLOWED_DTYPES=("float16", "float32", "float64", *INTS, "bfloat16", *OTHERS),
    INT_TYPES=INTS,
    FLOAT_TYPES=FLOATS,
    FLOAT8_TYPES=OTHERS[4:],
    result_type=keras_result_type,
)
keras_tensor = Namespace(
    "keras.src.backend.common.keras_tensor",
    KerasTensor=keras.KerasTensor,
    any_symbolic_tensors=lambda x, kwargs=None: keras.ops.define.is_symbolic((x, kwargs or {})),
)
common = Namespace(
    "keras.src.backend.common",
    dtypes=dtypes,
    keras_tensor=keras_tensor,
    is_int_dtype=lambda x: standardize_dtype(x) in INTS,
    is_float_dtype=lambda x: standardize_dtype(x) in FLOATS,
    standardize_dtype=standardize_dtype,
)
backend = Namespace(
    "keras.src.backend",
    keras.backend,
    keras.config,
    keras.ops,
    tf,
    backend=lambda: BACKEND,
    common=common,
    config=Namespace("keras.src.backend.config", keras.config, backend=lambda: BACKEND),
    result_type=keras_result_type,
    standardize_dtype=standardize_dtype,
    is_int_dtype=common.is_int_dtype,
    is_float_dtype=common.is_float_dtype,
    KerasTensor=keras.KerasTensor,
    Variable=tf.Variable,
    SUPPORTS_SPARSE_TENSORS=False,
    SUPPORTS_RAGGED_TENSORS=False,
    SUPPORTS_COMPLEX_DTYPES=True,
    standardize_data_format=parse_data_format,
    numpy=ops,
    nn=ops,
)
test_utils = Namespace("keras.src.testing.test_utils", named_product=named_product)
testing = Namespace(
    "keras.src.testing",
    TestCase=TestCase,
    test_utils=test_utils,
    assert_array_equal=np.testing.assert_array_equal,
    **{
        f"{name}_uses_{device}": no
        for name in ("jax", "tensorflow", "torch")
        for device in ("gpu", "tpu")
    },
    uses_gpu=no,
    uses_tpu=no,
)
random = Namespace("keras.src.random", keras.random)
ops.random = random
random.random = Namespace("keras.src.random.random", keras.random)
random.seed_generator = Namespace("keras.src.random.seed_generator", keras.random)
src = Namespace(
    "keras.src", keras, backend=backend, ops=ops, testing=testing, random=random, tree=tf.nest
)
MODULES = {
    "keras": Namespace("keras", keras, src=src, ops=ops, backend=backend),
    "keras.src": src,
    "keras.src.tree": tf.nest,
    "keras.src.ops": ops,
    "keras.src.ops.random": random.random,
    "keras.src.backend": backend,
    "keras.src.backend.config": backend.config,
    "keras.src.backend.common": common,
    "keras.src.backend.common.dtypes": dtypes,
    "keras.src.backend.common.keras_tensor": keras_tensor,
    "keras.src.testing": testing,
    "keras.src.testing.test_utils": test_utils,
    "keras.src.random": random,
    "keras.src.random.random": random.random,
    "keras.src.random.seed_generator": random.seed_generator,
    "keras.src.utils": Namespace("keras.src.utils", keras.utils),
    "keras.src.utils.rng_utils": Namespace("keras.src.utils.rng_utils", keras.utils),
    "keras.src.saving": Namespace("keras.src.saving", keras.saving),
    "keras.src.saving.object_registration": Namespace("registration", keras.saving),
    "keras.src.layers": Namespace("keras.src.layers", keras.layers),
    "keras.src.layers.core": Namespace("keras.src.layers.core", keras.layers),
    "keras.src.layers.core.input_layer": Namespace("input_layer", keras.layers, Input=keras.Input),
    "keras.src.utils.backend_utils": Namespace(
        "keras.src.utils.backend_utils", convert_tf_tensor=lambda x, dtype=None: x
    ),
    "keras.src.utils.image_utils": Namespace(
        "keras.src.utils.image_utils", keras.utils, keras.preprocessing.image
    ),
    "keras.src.utils.image_dataset_utils": Namespace(
        "keras.src.utils.image_dataset_utils", keras.utils
    ),
    "keras.src.models": Namespace("keras.src.models", keras.models, keras),
    "grain": Namespace("grain"),
    "conftest": Namespace("conftest", skip_if_backend=lambda *args: lambda function: function),
}
MODULES["keras.src.layers.core"].input_layer = MODULES["keras.src.layers.core.input_layer"]
MODULES["keras.src.saving"].object_registration = MODULES["keras.src.saving.object_registration"]
for _name, _module in SUBJECTS.items():
    _subject = Namespace(f"keras.src.ops.{_name}", _module, keras.ops)
    setattr(ops, _name, _subject)
    MODULES[_subject.__name__] = _subject


if importlib.util.find_spec("tensorflow") is None:  # tests that only make datasets with it
    MODULES["tensorflow"] = Namespace("tensorflow", tf)
    MODULES["tensorflow.data"] = tf.data
_BOXES = "keras.src.layers.preprocessing.image_preprocessing.bounding_boxes"
for _name in ("converters", "iou"):
    MODULES[f"{_BOXES}.{_name}"] = keras.utils.bounding_boxes


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules above, and test files of the checkout that other tests import."""

    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            return importlib.machinery.ModuleSpec(name, self)
        if name.startswith("keras.src."):
            file = CHECKOUT.joinpath(*name.split(".")).with_suffix(".py")
            if name.endswith(("_test", "_utils")) and file.exists():
                return importlib.util.spec_from_file_location(name, file)
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        return MODULES.get(spec.name) or Namespace(spec.name, keras)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
for _name, _module in MODULES.items():
    sys.modules[_name] = _module
