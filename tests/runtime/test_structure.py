"""The structure of the source: layers of imports, and rules that a text search can check."""

import ast
import functools
import re
import sys

import pytest
from processes import PACKAGE

import numtape

pytestmark = pytest.mark.numtape_only("reads the source")

KERNELS = numtape.kernels_folder()
SOURCES = sorted(PACKAGE.rglob("*.py"))


def place(path):
    """A source file's path inside its package."""
    package = KERNELS if KERNELS in path.parents else PACKAGE
    return f"{package.name}/{path.relative_to(package).as_posix()}"


@functools.cache
def nodes(path):
    """All nodes of a source file's syntax tree, cached for several tests."""
    return [*ast.walk(ast.parse(path.read_text("utf-8")))]


def imported(path, package):
    """Full names of all imports in a file, at any level: modules, or names from modules."""
    at = [package.name, *path.relative_to(package).parts[:-1]]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = at[: len(at) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def test_kernels_import_only_numba_numpy_math_and_siblings():
    standard = {
        "__future__",
        "ast",
        "collections",
        "dataclasses",
        "functools",
        "importlib",
        "inspect",
        "math",
        "sys",
        "threading",
        "typing",
        "warnings",
    }
    for path in sorted(KERNELS.rglob("*.py")):
        allowed = {"kernels", "llvmlite", "numba", "numpy", *standard}
        if "simulated" in path.name:  # it never runs on a GPU
            allowed |= {"concurrent", "contextlib", "os", "random"}
        found = {name.partition(".")[0] for name in imported(path, KERNELS)}
        assert found <= allowed, place(path)


# The layers, from the bottom. A layer imports only from layers below it, and from itself.
LAYERS = (
    ("settings", "errors", "executor", "kernels"),
    ("values",),
    ("cpython",),
    ("log",),
    ("compile", "reference"),
    ("plan", "native"),
    ("cpu", "cuda"),
    ("ops",),
    ("interop", "derive"),
    ("bindings", "replay"),
    ("loops",),
    ("api",),
)
LEVEL = {layer: level for level, layers in enumerate(LAYERS) for layer in layers}

# Modules of type aliases. Only type checkers import them, and they may name any type.
ANNOTATIONS = {
    "numtape.core.values.annotations",
    "numtape.keras.annotations",
    "numtape.kernels.annotations",
}
# The log and the objects that it refers to have each other's types.
MUTUAL_TYPES = {
    "numtape.core.derive.tape",
    "numtape.core.log.as_tensor",
    "numtape.core.log.interface",
    "numtape.core.log.log",
    "numtape.core.log.variable",
}


def layer_of(module):
    """The layer of a module: a folder or file of the core, or one of its siblings."""
    top, *rest = module.split(".")[1:] or [""]
    if top == "core" and rest:
        return rest[0]
    return top if top in ("errors", "kernels") else "api"


def modules():
    """All files of the package and its kernels, by import name."""
    for folder, name in ((PACKAGE, "numtape"), (KERNELS, "numtape.kernels")):
        for path in sorted(folder.rglob("*.py")):
            if folder is PACKAGE and KERNELS in path.parents:
                continue
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join([name, *(part for part in parts if part != "__init__")]), path


@functools.cache
def imports_of_modules(for_types=False):
    """The modules that each module imports.

    Args:
      for_types: Whether to include imports under ``if TYPE_CHECKING``, which never run, and to
        leave out those inside functions.
    """
    paths = dict(modules())
    result = {}
    for name, path in paths.items():
        skipped = {
            id(node)
            for branch in nodes(path)
            if _is_skipped(branch, for_types)
            for node in ast.walk(branch)
        }
        at = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        result[name] = set()
        for node in nodes(path):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Import):
                result[name] |= {alias.name for alias in node.names} & paths.keys()
            elif isinstance(node, ast.ImportFrom):
                base = at[: len(at) - node.level + 1] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    whole = f"{module}.{alias.name}"
                    result[name] |= {whole if whole in paths else module} & paths.keys()
        result[name].discard(name)
    return result


def _is_skipped(branch, for_types):
    if for_types:
        return isinstance(branch, ast.FunctionDef)
    return isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"


def test_layers_import_only_from_layers_below():
    imports = imports_of_modules()
    assert {layer_of(name) for name in imports} <= {*LEVEL, "core"}, "a layer that has no level"
    wrong = [
        f"{one} ({layer_of(one)}, level {LEVEL[layer_of(one)]}) imports {other} "
        f"({layer_of(other)}, level {LEVEL[layer_of(other)]})"
        for one, others in imports.items()
        if layer_of(one) in LEVEL
        for other in others
        if layer_of(other) != layer_of(one)
        and LEVEL.get(layer_of(other), 0) >= LEVEL[layer_of(one)]
    ]
    assert wrong == []


def circles(imports):
    """Modules in import cycles, each with its imports of the others."""
    reached = {name: set(others) for name, others in imports.items()}
    for middle in imports:
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    inside = {name for name, others in reached.items() if name in others}
    return {name: sorted(imports[name] & inside) for name in inside}


def test_imports_have_no_cycle():
    # The top-level package imports everything.
    imports = imports_of_modules()
    imports = {name: others - {"numtape"} for name, others in imports.items() if name != "numtape"}
    assert circles(imports) == {}


def test_imports_for_types_have_one_cycle():
    left_out = {"numtape", *ANNOTATIONS}
    imports = {
        name: others - left_out
        for name, others in imports_of_modules(for_types=True).items()
        if name not in left_out
    }
    assert circles(imports).keys() == MUTUAL_TYPES


def test_circles_finds_a_cycle():
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert circles(imports) == {"b": ["c"], "c": ["b"]}


def test_every_import_is_a_declared_dependency_or_of_python():
    known = {"numtape", "numba", "llvmlite", "numpy", "scipy", "optree", *sys.stdlib_module_names}
    for path in SOURCES:
        if KERNELS not in path.parents:
            extra = {"cuda"} if path.parent.name == "runtime" else set()  # of the extra [cuda]
            extra |= {"PIL"} if path.name in ("codecs.py", "images.py") else set()  # extra [image]
            extra |= {"tensorboardX"} if path.name == "tensorboard.py" else set()  # optional
            extra |= {"sklearn"} if path.name == "wrappers.py" else set()  # optional
            extra |= {"mpi4py"} if path.name == "engine.py" else set()  # of the extra [mpi]
            extra |= {"nccl"} if path.name == "nccl.py" else set()  # of the extra [nccl]
            extra |= {"h5py"} if path.name == "h5.py" else set()  # of the extra [h5]
            extra |= {"PIL"} if path.name == "model_plot.py" else set()  # optional
            found = {n.partition(".")[0] for n in imported(path, PACKAGE)}
            assert found <= known | extra, place(path)


def test_environment_variables_are_read_in_settings_alone():
    for path in SOURCES:
        if place(path) == "numtape/core/settings.py":
            continue
        strings = [
            node.value
            for node in nodes(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [s for s in strings if re.fullmatch(r"NUMTAPE_[A-Z_]+", s)], place(path)
        # CUDA's own variables locate its toolkit and configure numba-cuda; KERAS_HOME is Keras's.
        if path.parent.name != "datasets" and path.name not in ("toolkit.py", "local_files.py"):
            assert not re.search(r"\bos\.(environ|getenv)\b", path.read_text("utf-8")), place(path)


def test_code_does_not_test_the_kind_of_a_log():
    """Kinds of logs differ in overridden methods; see `core/log/interface.py`."""
    for path in SOURCES:
        tests = re.findall(r"\blog\.(?:tracing|symbolic)\b", path.read_text("utf-8"))
        assert tests == [], place(path)


def test_fork_hooks_are_registered_in_settings():
    """Through `settings`, except for hooks that also run before the fork."""
    users = [place(p) for p in SOURCES if "os.register_at_fork(" in p.read_text("utf-8")]
    assert users == ["numtape/core/cpu/fuse.py", "numtape/core/settings.py"]


def test_passes_take_records_and_no_more_than_a_dozen_parameters():
    for path in (*KERNELS.glob("passes/*.py"), KERNELS / "cpu" / "sweep.py"):
        functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef)]
        counts = {f.name: len(f.args.args) for f in functions}
        assert {name: count for name, count in counts.items() if count > 12} == {}, place(path)


def test_print_is_for_the_commands_alone():
    for path in {*SOURCES, *KERNELS.rglob("*.py")} - {PACKAGE / "demo.py", PACKAGE / "__main__.py"}:
        calls = [n.func for n in nodes(path) if isinstance(n, ast.Call)]
        assert "print" not in [getattr(call, "id", "") for call in calls], place(path)


# NUMTAPE_DEVICE.


# Names for what depends on CPython's version, its instructions, or the memory of its objects.
CPYTHON_NAMES = {
    "version_info",
    "hexversion",
    "python_version_tuple",
    "dis",
    "pythonapi",
    "py_object",
    "opcode",
    "opmap",
    "opname",
    "get_instructions",
    "stack_effect",
    "co_exceptiontable",
    "__basicsize__",
    "__weakrefoffset__",
}
# Reading an object's memory, such as ``id(x) + 24``.
CPYTHON_TEXT = re.compile(r"\bid\([^()]*\) *[+-] *\w|from_address\( *id\(")
# Modules that read other memory by its address: arrays, DLPack's structures, stacks of kernels.
READS_MEMORY = {
    "numtape/core/interop.py",
    "numtape/core/loops/runtime/jit.py",
    "numtape/core/values/memory.py",
}
KNOWS_CPYTHON = ("numtape/core/cpython/", "kernels/cpython/")


def test_only_two_packages_know_the_internals_of_cpython():
    for path in sorted({*SOURCES, *KERNELS.rglob("*.py")}):
        if place(path).startswith(KNOWS_CPYTHON):
            continue
        names = {name for node in nodes(path) for name in names_in(node)}
        assert not names & CPYTHON_NAMES, place(path)
        assert "from_address" not in names or place(path) in READS_MEMORY
        assert not CPYTHON_TEXT.search(path.read_text("utf-8")), place(path)


def names_in(node):
    """The names to which a node of a syntax tree refers."""
    if isinstance(node, ast.Attribute):
        if ast.unparse(node) != "numba.version_info":
            yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.name.rpartition(".")[2]
    elif isinstance(node, ast.ImportFrom):
        yield node.module


def test_machine_code_reads_every_word_of_the_process():
    (table,) = (path for path in (KERNELS / "cpython").glob("*.py") if path.name == "words.py")
    words = {name for node in nodes(table) for name in names_in(node) if name.isupper()}
    passes = [*(KERNELS / "cpython").glob("*.py"), *(KERNELS / "passes").glob("*.py")]
    read = {
        name
        for path in passes
        if path != table
        for node in nodes(path)
        if isinstance(node, ast.Name)
        for name in names_in(node)
    }
    assert words - read == {"API_COUNT", "OBJECT_END", "PROCESS_WORDS"}
