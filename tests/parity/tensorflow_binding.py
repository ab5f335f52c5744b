"""A pytest plugin that runs TensorFlow's own unit tests, in eager mode, on public names.

The tests import private modules, such as ``tensorflow.python.ops.array_ops``. The plugin rewrites
these imports when it loads a test file: ``array_ops.concat`` becomes numtape's ``tf.concat``. The
same plugin with the real TensorFlow bound to the same public names decides which tests are
*applicable*: those that pass with TensorFlow in this way. Tests of graphs, and of private
attributes of TensorFlow's objects, are skipped by both.

``absl-py`` must be installed. The test files are those of a checkout of TensorFlow, of which the
folder ``tensorflow/python`` is enough. With the folder of this file on ``PYTHONPATH``::

    cd ~/tensorflow
    python -m pytest -p tensorflow_binding -p no:cacheprovider -c /dev/null --rootdir . -q \\
        --continue-on-collection-errors --tb=line --outcomes numtape.txt \\
        tensorflow/python/kernel_tests/array_ops/*_test.py

    TENSORFLOW_BINDING=tensorflow python -m pytest ...the same... --outcomes tensorflow.txt

    python compare_outcomes.py tensorflow.txt numtape.txt tensorflow_failures.txt

The last command counts the applicable tests that pass, and lists the others but for those that
``tensorflow_failures.txt`` names with a reason. ``--seconds 60`` limits the time of each test.
Nothing of TensorFlow's source is imported in the first run but test files and their helpers.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import functools
import importlib
import inspect
import itertools
import os
import re
import signal
import sys
import types
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import pytest
from absl.testing import absltest, parameterized

OTHERS = ("google", "xla", "six", "psutil", "wrapt", "portpicker", "tblib", "dill")
PRIVATE = ("tensorflow.python", "tensorflow.core", "tensorflow.compiler", "tensorflow.dtensor")
# Public modules that have the names of a private module, before those of GENERAL.
PUBLIC = {
    "array_ops": "",
    "backprop": "",
    "bitwise_ops": "bitwise",
    "check_ops": "debugging",
    "checkpoint_management": "train",
    "checkpoint_options": "train",
    "checkpoint": "train",
    "config": "config config.experimental",
    "converter": "autograph.experimental",
    "ctc_ops": "nn",
    "custom_gradient": "",
    "data_flow_ops": "",
    "dataset_ops": "data",
    "def_function": "",
    "dtypes": "dtypes",
    "embedding_ops": "nn",
    "errors": "errors",
    "errors_impl": "errors",
    "factory_ops": "",
    "fft_ops": "signal",
    "forwardprop": "autodiff",
    "gradient_checker_v2": "test",
    "image_ops": "image",
    "init_ops_v2": "",
    "linalg": "linalg",
    "linalg_impl": "linalg",
    "linalg_ops": "linalg",
    "lookup_ops": "lookup lookup.experimental",
    "math_ops": "math",
    "moving_averages": "train",
    "nest": "nest",
    "nn": "nn",
    "nn_impl": "nn",
    "nn_ops": "nn",
    "nn_grad": "nn",
    "random_ops": "random",
    "random_seed": "random",
    "ragged_tensor": "",
    **dict.fromkeys(
        (
            "ragged_array_ops",
            "ragged_concat_ops",
            "ragged_conversion_ops",
            "ragged_functional_ops",
            "ragged_gather_ops",
            "ragged_math_ops",
            "ragged_util",
            "segment_id_ops",
        ),
        "ragged",
    ),
    "signal": "signal",
    "sort_ops": "",
    "sparse_ops": "sparse",
    "special_math_ops": "math math.special",
    "stateful_random_ops": "random",
    "stateless_random_ops": "random",
    "string_ops": "strings",
    "summary_ops_v2": "summary",
    "tensor_array_ops": "",
    "test": "test",
    "googletest": "test",
    "util": "train",
}
GENERAL = (
    " math nn linalg random debugging signal image nest strings sparse ragged io io.gfile train "
    "data data.experimental autodiff bitwise lookup dtypes sets config test experimental "
    "random.experimental lookup.experimental summary"
)
# Names that are called otherwise in public.
ALIASES = {
    "AutoTrackable": "Module",
    "DeleteRecursively": "io.gfile.rmtree",
    "Exists": "io.gfile.exists",
    "Feature": "autograph.experimental.Feature",
    "Glob": "io.gfile.glob",
    "IsDirectory": "io.gfile.isdir",
    "ListDirectory": "io.gfile.listdir",
    "MakeDirs": "io.gfile.makedirs",
    "MkDir": "io.gfile.mkdir",
    "Remove": "io.gfile.remove",
    "DatasetV2": "data.Dataset",
    "EagerTensor": "Tensor",
    "ResourceVariable": "Variable",
    "batch_matmul": "matmul",
    "batch_to_space_nd": "batch_to_space",
    "complex": "dtypes.complex",
    "constant_value": "get_static_value",
    "div_no_nan": "math.divide_no_nan",
    "dilation2d": "nn.dilation2d",
    "fft": "signal.fft",
    "logdet": "linalg.logdet",
    "mat_mul": "matmul",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_solve_ls": "linalg.lstsq",
    "matrix_square_root": "linalg.sqrtm",
    "matrix_transpose": "linalg.matrix_transpose",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "mul": "multiply",
    "multinomial": "random.categorical",
    "neg": "negative",
    "parameterized_truncated_normal": "random.stateless_parameterized_truncated_normal",
    "random_gamma": "random.gamma",
    "random_normal": "random.normal",
    "random_poisson": "random.poisson",
    "random_poisson_v2": "random.poisson",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "self_adjoint_eig": "linalg.eigh",
    "self_adjoint_eigvals": "linalg.eigvalsh",
    "set_random_seed": "random.set_seed",
    "sub": "subtract",
    "swish": "nn.swish",
    "tensor_scatter_add": "tensor_scatter_nd_add",
    "tensor_scatter_max": "tensor_scatter_nd_max",
    "tensor_scatter_min": "tensor_scatter_nd_min",
    "tensor_scatter_sub": "tensor_scatter_nd_sub",
    "tensor_scatter_update": "tensor_scatter_nd_update",
    "truncated_normal": "random.truncated_normal",
}
# The same for functions of `sparse_ops`, without the prefix ``sparse_``.
SPARSE = {
    "dense_matmul": "sparse_dense_matmul",
    "tensor_dense_matmul": "sparse_dense_matmul",
    "tensor_to_dense": "to_dense",
}
BACKEND = os.environ.get("TENSORFLOW_BINDING", "numtape")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if BACKEND == "numtape":
    import numtape as tf
else:
    import tensorflow as tf


tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4
)


class Missing:
    """A name that has no public counterpart. Its use in a test fails, that of the file does not."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if _loading:
            return Missing(f"{self._name}.{name}")
        raise AttributeError(f"missing name: {self._name}.{name}")

    def __call__(self, *args, **kwargs):
        if _loading:
            return Missing(f"{self._name}()")
        raise AttributeError(f"missing name: {self._name}")

    def __mro_entries__(self, bases):
        return (object,)

    def __iter__(self):
        if _loading:
            return iter(())
        raise AttributeError(f"missing name: {self._name}")


class Namespace(types.ModuleType):
    """A private module: helpers of the tests, and public functions under their private names."""

    def __getattr__(self, name):
        if not name.startswith("_"):
            try:
                return public(self.__name__, name)
            except LookupError:
                pass
            if _loading:
                return Missing(f"{self.__name__}.{name}")
        raise AttributeError(f"missing name: {self.__name__}.{name}")


def public(module, name):
    """The public object for a name of a private module."""
    last = module.rpartition(".")[2]
    if last == "ragged_factory_ops":
        paths = [f"ragged.{name.removesuffix('_value')}"]
    elif last == "sparse_ops" and name.startswith("sparse_"):
        short = re.sub(r"_v\d$", "", name.removeprefix("sparse_"))
        paths = [f"sparse.{SPARSE.get(short, short)}"]
    elif name in ALIASES:
        paths = [ALIASES[name]]
    else:
        names = [name, re.sub(r"_v\d$", "", name)]
        parents = [*PUBLIC.get(last, "").split(" "), *GENERAL.split(" ")]
        paths = [f"{parent}.{n}".removeprefix(".") for n in names for parent in parents]
    for path in filter(None, paths):
        try:
            return functools.reduce(getattr, path.split("."), tf)
        except (AttributeError, ImportError):
            pass
    raise LookupError(name)


def identity(x, *args, **kwargs):
    return x


def same(function=None, *args, **kwargs):
    """A decorator without effect, with or without arguments."""
    is_decorated = isinstance(function, type | types.FunctionType)
    return function if is_decorated else identity


def skip(reason):
    def decorate(function=None, *args, **kwargs):
        if isinstance(function, type | types.FunctionType):
            return unittest.skip(reason)(function)
        return unittest.skip(reason)

    return decorate


def refuse(reason):
    def function(*args, **kwargs):
        raise unittest.SkipTest(reason)

    return function


def nothing(*args, **kwargs):
    return None


def false(*args, **kwargs):
    return False


def true(*args, **kwargs):
    return True


def null_context(*args, **kwargs):
    return contextlib.nullcontext()


class Session:
    """What `with self.session() as sess:` gives in eager mode."""

    graph = property(refuse("graph mode"))

    def __init__(self, case):
        self.case = case

    def run(self, fetches, feed_dict=None, *args, **kwargs):
        if feed_dict:
            raise unittest.SkipTest("graph mode")
        return self.case.evaluate(fetches)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


class TestCase(tf.test.TestCase, *(() if BACKEND == "tensorflow" else (absltest.TestCase,))):
    """`tf.test.TestCase` with sessions that evaluate eagerly."""

    __test__ = False

    def session(self, *args, **kwargs):
        return Session(self)

    cached_session = test_session = session
    test_session.__test__ = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__test__ = True


def combine(**choices):
    """All combinations of values that are of eager mode and of version 2."""
    choices = {
        name: list(values) if isinstance(values, list | tuple) else [values]
        for name, values in choices.items()
    }
    if "mode" in choices:
        choices["mode"] = [mode for mode in choices["mode"] if mode == "eager"]
    if "tf_api_version" in choices:
        choices["tf_api_version"] = [v for v in choices["tf_api_version"] if v == 2]
    rows = itertools.product(*choices.values())
    return [dict(zip(choices, row, strict=True)) for row in rows]


def times(*groups):
    return [
        {k: v for part in parts for k, v in part.items()} for parts in itertools.product(*groups)
    ]


class NamedObject:
    def __init__(self, name, obj):
        self._name, self._obj = name, obj

    def __getattr__(self, name):
        return getattr(self._obj, name)

    def __call__(self, *args, **kwargs):
        return self._obj(*args, **kwargs)

    def __iter__(self):
        return iter(self._obj)

    def __repr__(self):
        return self._name


def generate(rows, test_combinations=()):
    def decorate(function):
        if isinstance(function, type):
            return function
        accepted = inspect.signature(function).parameters
        cases = []
        for number, row in enumerate(rows):
            case = {name: value for name, value in row.items() if name in accepted}
            cases.append({"testcase_name": f"_{number}", **case})
        return (
            parameterized.named_parameters(*cases)(function)
            if cases
            else unittest.skip("graph mode")(function)
        )

    return decorate


@contextlib.contextmanager
def run_functions_eagerly(run_eagerly):
    tf.config.run_functions_eagerly(run_eagerly)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def also_run_as_tf_function(function):
    def run_both(*args, **kwargs):
        function(*args, **kwargs)
        tf.function(lambda: function(*args, **kwargs) or 0)()

    return run_both


def max_error(gradients, numeric):
    pairs = zip(gradients, numeric, strict=True)
    return max((np.abs(np.subtract(a, b)).max(initial=0) for a, b in pairs), default=0)


def add_tests(cls, *args, **kwargs):
    raise AttributeError("missing name: test_util.add_tests")


def nhwc_to_nchw(x):
    order = [0, x.ndim - 1, *range(1, x.ndim - 1)] if hasattr(x, "ndim") else None
    if order is None:
        return [x[0], x[-1], *x[1:-1]]
    return tf.transpose(x, order)


def nchw_to_nhwc(x):
    order = [0, *range(2, x.ndim), 1] if hasattr(x, "ndim") else None
    if order is None:
        return [x[0], *x[2:], x[1]]
    return tf.transpose(x, order)


def method(name):
    def call(variable, *args, **kwargs):
        for ignored in ("validate_shape", "use_locking"):
            kwargs.pop(ignored, None)
        return getattr(variable, name)(*args, **kwargs)

    return call


def scatter(name):
    def call(variable, indices, updates, use_locking=None, name_=None):
        return getattr(variable, name)(tf.IndexedSlices(updates, indices))

    return call


VARIABLES = dict.fromkeys(
    "global_variables_initializer local_variables_initializer variables_initializer "
    "initialize_all_variables initialize_local_variables".split(),
    nothing,
)
GRAPH = refuse("graph mode")
TEST = {
    "TestCase": TestCase,
    "TensorFlowTestCase": TestCase,
    "main": nothing,
    "mock": unittest.mock,
    "is_gpu_available": false,
    "is_built_with_cuda": false,
    "is_built_with_rocm": false,
    "is_built_with_xla": false,
    "is_built_with_gpu_support": false,
    "gpu_device_name": str,
    "get_temp_dir": lambda: __import__("tempfile").mkdtemp(),
    "Benchmark": object,
    "benchmark_config": nothing,
    "disable_with_predicate": lambda *args, **kwargs: same,
    "create_local_cluster": lambda *args, **kwargs: ([], []),
    "StubOutForTesting": Missing("StubOutForTesting"),
    "TensorFlowBenchmark": object,
}
HELPERS = {
    "test": TEST,
    "googletest": TEST,
    "benchmark": TEST,
    "test_util": {
        **TEST,
        **dict.fromkeys(
            "run_deprecated_v1 run_in_graph_and_eager_modes run_v2_only disable_xla disable_tfrt "
            "run_all_in_graph_and_eager_modes assert_no_new_pyobjects_executing_eagerly "
            "assert_no_new_tensors with_eager_op_as_function disable_control_flow_v2 "
            "enable_control_flow_v2 run_without_tensor_float_32 run_all_without_tensor_float_32 "
            "run_in_async_and_sync_mode assert_no_garbage_created disable_mlir_bridge "
            "xla_allow_fallback with_control_flow_v2 enable_output_all_intermediates "
            "no_xla_auto_jit with_forward_compatibility_horizons disable_ubsan "
            "disable_asan run_all_in_deprecated_graph_mode_only enable_eager_op_as_function "
            "disable_eager_op_as_function set_xla_env_flag build_as_function_and_v1_graph "
            "with_all_except_xla disable_eager_op_as_function".split(),
            same,
        ),
        **dict.fromkeys(
            "run_v1_only run_all_in_deprecated_graph_mode_only deprecated_graph_mode_only".split(),
            skip("graph mode"),
        ),
        **dict.fromkeys("run_gpu_only run_cuda_only run_gpu_or_tpu".split(), skip("GPU")),
        **dict.fromkeys(
            "use_gpu device force_gpu force_cpu deterministic_ops skip_if_error".split(),
            null_context,
        ),
        **dict.fromkeys(
            "is_xla_enabled IsMklEnabled is_asan_enabled is_tsan_enabled is_msan_enabled "
            "is_ubsan_enabled GpuSupportsHalfMatMulAndConv IsBuiltWithROCm is_gpu_available "
            "CheckForDisabledROCm IsCPUTargetAvailable".split(),
            false,
        ),
        "also_run_as_tf_function": also_run_as_tf_function,
        "run_functions_eagerly": run_functions_eagerly,
        "AbstractGradientTape": lambda use_tape=True, persistent=False: tf.GradientTape(
            persistent=True
        ),
        "add_tests": add_tests,
        "NHWCToNCHW": nhwc_to_nchw,
        "NCHWToNHWC": nchw_to_nhwc,
        "matmul_without_tf32": lambda a, b, *args, **kwargs: tf.matmul(a, b, *args, **kwargs),
    },
    "context": {
        "executing_eagerly": tf.executing_eagerly,
        "eager_mode": null_context,
        "graph_mode": GRAPH,
        "_reset_context": nothing,
        "_reset_jit_compiler_flags": nothing,
        "num_gpus": lambda: len(tf.config.list_physical_devices("GPU")),
        "run_eager_op_as_function_enabled": false,
        "ensure_initialized": nothing,
        "collect_graphs": null_context,
        "execution_mode": null_context,
        "async_wait": nothing,
        "SYNC": 0,
        "ASYNC": 1,
    },
    "ops": {
        "Graph": GRAPH,
        "get_default_graph": GRAPH,
        "reset_default_graph": GRAPH,
        "get_collection": GRAPH,
        "add_to_collection": GRAPH,
        "executing_eagerly_outside_functions": true,
        "EagerTensor": type(tf.constant(1)),
        "enable_eager_execution": nothing,
        "colocate_with": null_context,
    },
    "variables": VARIABLES,
    "variables_lib": VARIABLES,
    "state_ops": {
        "assign": method("assign"),
        "assign_add": method("assign_add"),
        "assign_sub": method("assign_sub"),
        **{
            f"scatter_{kind}": scatter(f"scatter_{kind}")
            for kind in "update add sub mul div min max".split()
        },
        **{
            f"scatter_nd_{kind}": method(f"scatter_nd_{kind}")
            for kind in "update add sub min max".split()
        },
    },
    "tensor_shape": {
        "unknown_shape": lambda rank=None, **kw: tf.TensorShape(
            None if rank is None else [None] * rank
        ),
        "as_shape": lambda shape: tf.TensorShape(shape),
        "scalar": lambda: tf.TensorShape([]),
        "vector": lambda n: tf.TensorShape([n]),
        "matrix": lambda m, n: tf.TensorShape([m, n]),
    },
    "array_ops": {"placeholder": GRAPH, "placeholder_with_default": lambda x, shape=None: x},
    "session": {"Session": GRAPH, "InteractiveSession": GRAPH},
    "gradient_checker_v2": {"max_error": max_error},
    "gradient_checker": {"compute_gradient_error": GRAPH, "compute_gradient": GRAPH},
    "combinations": {
        "combine": combine,
        "times": times,
        "generate": generate,
        "NamedObject": NamedObject,
    },
    "test_combinations": {
        "combine": combine,
        "times": times,
        "generate": generate,
        "NamedObject": NamedObject,
    },
    "tf2": {"enabled": true, "enable": nothing},
    "config": {"set_logical_device_configuration": nothing},  # there are four from the start
    "compat": {
        "forward_compatible": true,
        "forward_compatibility_horizon": null_context,
        "as_bytes": lambda x: x if isinstance(x, bytes) else x.encode(),
        "as_str": lambda x: x if isinstance(x, str) else x.decode(),
        "as_text": lambda x: x if isinstance(x, str) else x.decode(),
        "as_str_any": lambda x: x.decode() if isinstance(x, bytes) else str(x),
        "collections_abc": collections.abc,
    },
    "control_flow_util": {
        "ENABLE_CONTROL_FLOW_V2": True,
        "EnableControlFlowV2": true,
        "GraphOrParentsInXlaContext": false,
    },
    "control_flow_v2_toggles": {"control_flow_v2_enabled": true},
    "tf_logging": {name: nothing for name in "info warning warn error vlog debug".split()},
    "test_ops": {},
    "np_arrays": {},
}
HELPERS["test_lib"] = TEST
_modules: dict[str, types.ModuleType] = {}
_loading: list[str] = []  # files that are being run


def checkout_of(file):
    for folder in Path(file).resolve().parents:
        if (folder / "tensorflow" / "python").is_dir():
            return folder
    raise RuntimeError(f"{file} is in no checkout of TensorFlow.")


def module_of(root, name):
    """The namespace of a private module, or a helper of tests that is read from the checkout."""
    if name in _modules:
        return _modules[name]
    last = name.rpartition(".")[2]
    file = root.joinpath(*name.split(".")).with_suffix(".py")
    is_helper = re.search(r"(_test(_util|_lib|_base|s)?|_testdata|test_base|test_data)$", last)
    if is_helper and last not in HELPERS and file.exists():
        return load(root, name, file)
    module = _modules[name] = Namespace(name)
    module.__dict__.update(HELPERS.get(last, {}))
    return module


def import_or_missing(module, name):
    """The object of an import from a package that may not be installed."""
    try:
        imported = importlib.import_module(module)
        return imported if name is None else getattr(imported, name)
    except (ImportError, AttributeError):
        return Missing(f"{module}.{name}")


def bind(root, module, name=None):
    """The object of ``from module import name``."""
    if not module.startswith(PRIVATE):
        return import_or_missing(module, name)
    if name is None:
        return module_of(root, module)
    path = root.joinpath(*module.split("."), name)
    if path.is_dir() or path.with_suffix(".py").exists() or module.endswith("protobuf"):
        return module_of(root, f"{module}.{name}")
    try:
        return getattr(module_of(root, module), name)
    except AttributeError:
        return Missing(f"{module}.{name}")


class Imports(ast.NodeTransformer):
    """Replaces imports of TensorFlow's modules."""

    def visit_ImportFrom(self, node):
        if not (node.module or "").startswith((*PRIVATE, *OTHERS)):
            return node
        return [
            self.assign(alias.asname or alias.name, node, f"{node.module!r}, {alias.name!r}")
            for alias in node.names
        ]

    def visit_Import(self, node):
        statements = []
        for alias in node.names:
            if alias.name == "tensorflow" or alias.name.startswith("tensorflow.compat"):
                statements.append(self.assign(alias.asname or "tensorflow", node, None))
            elif alias.name.startswith((*PRIVATE, *OTHERS)):
                if alias.asname or "." not in alias.name:
                    name = alias.asname or alias.name
                    statements.append(self.assign(name, node, repr(alias.name)))
            else:
                statements.append(ast.copy_location(ast.Import([alias]), node))
        return statements or ast.copy_location(ast.Pass(), node)

    @staticmethod
    def assign(name, node, arguments):
        value = "__tf__" if arguments is None else f"__bind__({arguments})"
        statement = ast.parse(f"{name} = {value}").body[0]
        for part in ast.walk(statement):
            ast.copy_location(part, node)
        return statement


def load(root, name, file):
    """Run a file of the checkout with its imports replaced."""
    module = _modules[name] = types.ModuleType(name)
    module.__file__ = str(file)
    module.__bind__ = functools.partial(bind, root)
    module.__tf__ = tf
    tree = ast.fix_missing_locations(Imports().visit(ast.parse(Path(file).read_text("utf-8"))))
    sys.modules[name] = module  # for pickles, and `inspect`
    _loading.append(name)
    try:
        exec(compile(tree, str(file), "exec"), module.__dict__)
    finally:
        _loading.pop()
    return module


OUTCOMES: dict[str, tuple[str, str]] = {}


class TestFile(pytest.Module):
    """A test file of TensorFlow's."""

    def _getobj(self):
        root = checkout_of(self.path)
        name = ".".join(self.path.resolve().relative_to(root).with_suffix("").parts)
        try:
            return load(root, f"tests_of_{name.replace('.', '_')}", self.path)
        except Exception as error:
            import traceback

            raise self.CollectError("".join(traceback.format_exception(error)[-3:])) from error


def pytest_addoption(parser):
    parser.addoption("--outcomes", help="write the outcome of each test to this file")
    parser.addoption("--seconds", type=int, default=60, help="the time limit of each test")


def pytest_collect_directory(path, parent):
    return pytest.Dir.from_parent(parent, path=path)  # `__init__.py` is not imported


def pytest_pycollect_makemodule(module_path, parent):
    if (module_path.name.endswith("_test.py")) and "tensorflow" in module_path.parts:
        return TestFile.from_parent(parent, path=module_path)
    return None


# A private attribute of anything but the test itself.
PRIVATE_NAME = re.compile(r"(?<!\bself)(?<!\bcls)\._(?!_)[a-zA-Z]\w*")


def pytest_collection_modifyitems(items):
    for item in items:
        function = inspect.unwrap(getattr(item, "function", None) or type)
        with contextlib.suppress(OSError, TypeError):
            lines = inspect.getsource(function).splitlines()
            if any(PRIVATE_NAME.search(line.partition("#")[0]) for line in lines):
                item.add_marker(pytest.mark.skip(reason="private names"))


def pytest_pycollect_makeitem(collector, name, obj):
    return [] if name == "test_session" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def stop(*args):
        raise TimeoutError("the test takes too long")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(item.config.getoption("seconds"))
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    if OUTCOMES.get(report.nodeid, ("passed",))[0] != "failed":  # of several subtests
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else ""
        if isinstance(report.longrepr, tuple):
            message = report.longrepr[2]
        OUTCOMES[report.nodeid] = report.outcome, " ".join(message.split())[:300]


def pytest_sessionstart(session):
    if (path := session.config.getoption("outcomes")) is not None:
        Path(path).write_text("", "utf-8")
        session.config.pluginmanager.register(Writer(path))


class Writer:
    """Writes a line for each test when it ends: a test may end the process."""

    def __init__(self, path):
        self.path = path

    def pytest_runtest_logfinish(self, nodeid):
        if nodeid in OUTCOMES:
            outcome, message = OUTCOMES[nodeid]
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{outcome}\t{nodeid}\t{message}\n")
