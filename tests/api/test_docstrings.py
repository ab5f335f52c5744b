"""Docstrings of all public names: presence, required sections, and examples that run."""

import builtins
import doctest
import importlib
import inspect
import pydoc
import re
import types

import numpy as np
import pytest
from processes import PACKAGE

import numtape
from numtape.core.cpython.frames import unsupported_reason
from numtape.core.ops.random import STATE
from numtape.function.concrete_function import ConcreteFunction
from numtape.function.function import Function

pytestmark = [
    pytest.mark.numtape_only("about numtape's own text"),
    pytest.mark.cpu_only("examples show what the CPU computes"),
]

# Names without their own example.
QUIET = {
    "Assert",
    "TensorBoard",
    "check_grads",
    "disable_check_numerics",
    "enable_traceback_filtering",
    "group",
    "no_op",
}
NO_EXAMPLE = {
    "LogicalDevice": "list_logical_devices makes them",
    "PhysicalDevice": "list_physical_devices makes them",
    "Algorithm": "names for Generator's argument",
    "get_memory_growth": "needs a GPU",
    "get_memory_info": "needs a GPU",
    "reset_memory_stats": "needs a GPU",
    "set_memory_growth": "needs a GPU",
    "simulated": "depends on the environment",
    "load_data": "needs a file that users download",
    "get_word_index": "needs a file that users download",
}
# Names that accept anything, or raise only errors of converting an operand.
NO_ERROR = {
    "summary_scope",
    "record_if",
    "should_record_summaries",
    "set_step",
    "get_step",
    "flush",
    "create_noop_writer",
    "get_current_name_scope",
    "get_synchronous_execution",
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "list_logical_devices",
    "get_visible_devices",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
    "set_record_traceback",
    "summary",
    "to_dot",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "executing_eagerly",
    "get_static_value",
    "group",
    "init_scope",
    "is_numeric_tensor",
    "is_initialized",
    "is_symbolic_tensor",
    "no_op",
    "timestamp",
    "tuple",
    "is_traceback_filtering_enabled",
    "enable_nondeterministic_scatter",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "nondeterministic_scatter_enabled",
    "tensor_float_32_execution_enabled",
    "get_global_generator",
    "zero_fraction",
    "flatten",
    "functions_run_eagerly",
    "get_soft_device_placement",
    "identity",
    "is_nested",
    "is_tensor",
    "linear",
    "list_physical_devices",
    "load_digits",
    "ndim",
    "rank",
    "round",
    "run_functions_eagerly",
    "set_soft_device_placement",
    "shape",
    "simulated",
    "size",
    "stop_gradient",
    "to_dlpack",
    "guarantee_const",
    "backend",
    "clear_session",
    "epsilon",
    "floatx",
    "image_data_format",
    "get_custom_objects",
    "get_registered_object",
    "CustomObjectScope",
    "pack_x_y_sample_weight",
    "disable_flash_attention",
    "disable_interactive_logging",
    "dtype_policy",
    "enable_interactive_logging",
    "get_label_names",
    "get_uid",
    "is_flash_attention_enabled",
    "is_interactive_logging_enabled",
    "is_keras_tensor",
    "is_nnx_enabled",
    "max_epochs",
    "max_steps_per_epoch",
    "set_max_epochs",
    "set_max_steps_per_epoch",
    # Functions of `data.experimental`, whose errors are those of the methods.
    "Counter",
    "RandomDataset",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "get_next_as_optional",
    "group_by_reducer",
    "ignore_errors",
    "parallel_interleave",
    "prefetch_to_device",
    "rejection_resample",
    "save",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
}
# Classes that users do not instantiate: dtypes are fixed, and ops create tensors.
MADE = {
    "Algorithm",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "ConcreteFunction",
    "DType",
    "ExternalStatePolicy",
    "Function",
    "LogicalDevice",
    "PhysicalDevice",
    "RaggedTensor",
    "ResizeMethod",
    "Tensor",
    "UnconnectedGradients",
    "VariableAggregation",
    "VariableSynchronization",
}


def modules():
    """The public modules by name: those with `__all__`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] not in ("core", "kernels", "__main__"):
            names = ("numtape", *(part for part in parts if part != "__init__"))
            module = importlib.import_module(".".join(names))
            if hasattr(module, "__all__"):
                yield module.__name__, module


def public():
    """Every public object except modules, once, under its first name."""
    seen = set()
    for name, module in MODULES.items():
        for attribute in module.__all__:
            value = getattr(module, attribute)
            if not isinstance(value, types.ModuleType) and id(value) not in seen:
                seen.add(id(value))
                yield f"{name}.{attribute}".replace("numtape", "tf", 1), value


def methods():
    """Functions and properties of public classes, under the class that defines them."""
    seen = set()
    for owner, kind in CLASSES.items():
        for name, value in inspect.getmembers_static(kind):
            where = next((base for base in kind.__mro__ if name in vars(base)), object)
            called = isinstance(value, property | staticmethod | classmethod)
            if (
                not name.startswith("_")
                and where.__module__.startswith("numtape")
                and (called or inspect.isroutine(value))
                and id(value) not in seen
            ):
                seen.add(id(value))
                yield f"{owner}.{name}", getattr(value, "__func__", value)


MODULES = dict(sorted(modules()))
OBJECTS = dict(public())
FUNCTIONS = {name: value for name, value in OBJECTS.items() if inspect.isroutine(value)}
CLASSES = {name: value for name, value in OBJECTS.items() if inspect.isclass(value)}
# classes of decorated functions
CLASSES |= {"Function": Function, "ConcreteFunction": ConcreteFunction}
METHODS = dict(methods())
TEXTS = {
    name: inspect.getdoc(value) or "" for name, value in {**FUNCTIONS, **CLASSES, **METHODS}.items()
}


def last(name):
    return name.rpartition(".")[2]


def is_error(value):
    return inspect.isclass(value) and issubclass(value, Exception)


def sections(text):
    """The text of each section, by its title."""
    parts = re.split(r"^([A-Z]\w+):$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def arguments(text):
    """The names in the arguments section, in order."""
    found = re.findall(r"^  ([\w*]+(?:, [\w*]+)*):", sections(text).get("Args", ""), re.MULTILINE)
    return [name.lstrip("*") for group in found for name in group.split(", ")]


def test_all_that_is_public_is_found():
    assert {"numtape", "numtape.math", "numtape.keras.layers", "numtape.config"} <= set(MODULES)
    assert len(FUNCTIONS) > 150
    rest = OBJECTS.keys() - FUNCTIONS.keys() - CLASSES.keys()
    assert {type(OBJECTS[name]) for name in rest} == {numtape.DType, type(None), int, float, str}


@pytest.mark.parametrize("name", MODULES)
def test_dir_shows_public_names_only(name):
    shown = [entry for entry in dir(MODULES[name]) if not re.fullmatch(r"__\w+__", entry)]
    assert sorted(shown) == sorted(MODULES[name].__all__)
    assert not [entry for entry in shown if entry.startswith("_")]


def test_each_text_begins_with_a_sentence():
    wrong = [
        name
        for name, text in TEXTS.items()
        if not re.fullmatch(r"[^\n]{3,}[.:]", text.partition("\n\n")[0])
    ]
    assert wrong == []


# Functions that take any number of operands, as in TensorFlow.
LOOSE = {
    "array_api.broadcast_arrays": ["arrays"],
    "array_api.meshgrid": ["arrays"],
    "array_api.result_type": ["arrays"],
    "group": ["inputs", "kwargs"],
    "print": ["inputs", "kwargs"],
    "nest.map_structure": ["structures"],
    "meshgrid": ["args"],
    "einsum": ["inputs", "kwargs"],
    "io.gfile.join": ["paths"],
    "keras.ops.einsum": ["operands", "kwargs"],
    "keras.ops.layer_normalization": ["kwargs"],
    "keras.ops.meshgrid": ["x"],
    "keras.ops.multi_hot": ["kwargs"],
    "keras.ops.rearrange": ["axes_lengths"],
    "keras.ops.switch": ["operands"],
    "keras.backend.result_type": ["dtypes"],
    "keras.models.save_model": ["kwargs"],
    "keras.saving.load_weights": ["kwargs"],
    "ragged.map_flat_values": ["args", "kwargs"],
    "sparse.map_values": ["args", "kwargs"],
    "keras.preprocessing.image.save_img": ["kwargs"],
    "keras.utils.save_img": ["kwargs"],
    **{
        f"keras.layers.{name}": ["kwargs"]
        for name in (
            "add",
            "average",
            "concatenate",
            "dot",
            "maximum",
            "minimum",
            "multiply",
            "subtract",
        )
    },
}


def test_functions_have_signatures_of_their_operands():
    for name, function in FUNCTIONS.items():
        parameters = inspect.signature(function).parameters.values()
        loose = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        assert loose == LOOSE.get(name.removeprefix("tf.").removeprefix("linalg."), []), name


def test_functions_say_what_they_take_give_and_raise():
    for name, function in FUNCTIONS.items():
        signature, found = inspect.signature(function), sections(TEXTS[name])
        assert arguments(TEXTS[name]) == list(signature.parameters), name
        nothing = signature.return_annotation in ("None", "Iterator[None]")
        assert ("Returns" in found) == (not nothing), name
        has_errors = last(name) not in NO_ERROR or name.startswith("tf.array_api.")
        assert ("Raises" in found) == has_errors, name


def test_errors_that_are_named_are_there():
    for name, text in TEXTS.items():
        for error in re.findall(r"^  (\w+):", sections(text).get("Raises", ""), re.MULTILINE):
            known = getattr(numtape.errors, error, None) or getattr(builtins, error, None)
            assert is_error(known), (name, error)


def test_classes_say_how_they_are_made():
    for name, kind in CLASSES.items():
        if not is_error(kind) and last(name) not in MADE:
            assert arguments(TEXTS[name]) == list(inspect.signature(kind).parameters), name


def test_methods_name_their_own_arguments():
    for name, value in METHODS.items():
        if callable(value) and "Args" in sections(TEXTS[name]):
            taken = [p for p in inspect.signature(value).parameters if p not in ("self", "cls")]
            assert arguments(TEXTS[name]) == taken, name


def test_each_has_an_example():
    without = {
        last(name)
        for name in (*FUNCTIONS, *CLASSES)
        if ">>> " not in TEXTS[name] and not is_error(OBJECTS.get(name))
    }
    assert without == set(NO_EXAMPLE)


NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


class Checker(doctest.OutputChecker):
    """Allows numbers to differ in their last digits, which depend on the machine."""

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        texts = ["".join(NUMBER.sub("#", text).split()) for text in (want, got)]
        expected, found = ([float(x) for x in NUMBER.findall(text)] for text in (want, got))
        return texts[0] == texts[1] and np.allclose(found, expected, rtol=1e-5, atol=1e-12)


# Examples that depend on recording.
RECORDING = {"Function.experimental_get_tracing_count", "Function.paths"}


# Packages that the examples of some names need, beyond those of the extra [test].
PACKAGES = {"keras.wrappers": "sklearn"}


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if ">>> " in text])
def test_example(name, monkeypatch):
    if name in RECORDING and unsupported_reason():
        pytest.skip(unsupported_reason())
    for part, package in PACKAGES.items():
        if part in name:
            pytest.importorskip(package)
    monkeypatch.setattr(STATE, "seed", STATE.seed)
    monkeypatch.setattr(STATE, "draws", STATE.draws)
    names = {"tf": numtape, "np": np}
    example = doctest.DocTestParser().get_doctest(TEXTS[name], names, name, None, 0)
    quiet = last(name) in QUIET or last(name).startswith("assert_")
    assert quiet or any(part.want for part in example.examples)
    said = []
    runner = doctest.DocTestRunner(Checker(), False, doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)


def test_wrong_examples_are_seen():
    check = Checker().check_output
    assert check("array([0.1, 2.0000001])\n", "array([0.1,  2.])\n", 0)
    assert not check("array([0.1, 2.1])\n", "array([0.1, 2.])\n", 0)
    assert not check("array([1.], dtype=float32)\n", "array([1.])\n", 0)


def test_help_shows_signature_and_text():
    text = pydoc.plain(pydoc.render_doc(numtape.matmul))
    assert re.search(
        r"^matmul\(\s*a: '?TensorLike'?,\s*b: '?TensorLike'?,\s*transpose_a", text, re.M
    )
    assert ">>> tf.matmul(a, [[1.0], [10.0]])" in text
    text = pydoc.plain(pydoc.render_doc(numtape.nn.relu))
    assert re.search(r"^relu\(\s*features: '?TensorLike'?, ", text, re.M)
    assert "features: A tensor (floats or integers), or a number" in text
