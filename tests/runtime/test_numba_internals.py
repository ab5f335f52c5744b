"""Numba's private API: one module uses it, and describes it as the installed version has it."""

import ast
import hashlib
import inspect
import re
import tomllib

import numba
import pytest
from numtape.kernels import numba_internals
from processes import PACKAGE, ROOT, run, start

import numtape

pytestmark = [
    pytest.mark.numtape_only("numtape's use of Numba"),
    pytest.mark.cpu_only("the same on each device"),
]
KERNELS = numtape.kernels_folder()
INTERNALS = KERNELS / "numba_internals.py"
PUBLIC = {"config", "errors", "extending", "njit", "types"}
# Private attributes of Numba's objects whose names have no underscore.
PRIVATE = {"fndesc", "overloads", "targetctx", "targetdescr", "typeof_pyval"}
# Digests of the source of Numba's functions whose effects `numba_internals` relies on.
DIGESTS = {
    "BaseContext.call_internal_no_propagate": "12df13307e2c",
    "BaseContext.refresh": "83e8f5cc63a7",
    "CompilerBase._compile_core": "9f6b3c1986df",
    "JITCodeLibrary._ensure_finalized": "fe8a6e1f04e7",
    "JITCodeLibrary._finalize_final_module": "95bbf4fcbb90",
    "JITCodeLibrary._get_module_for_linking": "56dde0e0555b",
    "JITCodeLibrary._optimize_final_module": "e405bd473752",
    "JITCodeLibrary._optimize_functions": "9439219fa946",
    "JITCodeLibrary.add_ir_module": "fb6dd665f0f6",
    "JITCodeLibrary.add_llvm_module": "84621057b308",
    "JITCodeLibrary.finalize": "4b4c34b83488",
    "NativeLowering.run_pass": "0b482df48654",
    "RuntimeLinker.scan_unresolved_symbols": "859e1b3a6d0b",
    "TypingContext.resolve_function_type": "81a6c18964e1",
    "types.Function.get_call_type": "6559c167bfc0",
    "types.Function.get_impl_key": "ebed5750a018",
}


def attributes(tree):
    """The names of all attributes in a source."""
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def names_of_numba(tree):
    """Modules and objects of Numba that a source names, also in strings, as ``numba.name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        else:
            names = []
        yield from (name for name in names if re.fullmatch(r"numba(\.\w+)+", name))


def other_sources():
    """The paths of all other modules, their syntax trees, and whether they are about CUDA.

    `numba.cuda` is another package, numba-cuda, of which numtape accepts a single version.
    """
    for path in sorted({*PACKAGE.rglob("*.py"), *KERNELS.rglob("*.py")} - {INTERNALS}):
        yield path.as_posix(), ast.parse(path.read_text("utf-8")), "cuda" in path.parts


def test_other_modules_import_only_the_public_api():
    found = {
        f"{path}: {name}"
        for path, tree, is_cuda in other_sources()
        for name in names_of_numba(tree)
        if name.split(".")[1] not in PUBLIC | ({"cuda"} if is_cuda else set())
    }
    assert found == set()


@pytest.mark.slow
def test_other_modules_use_no_private_attributes():
    keys = {*numba_internals.PARAMETERS}
    keys |= {f".{name}" for names in numba_internals.REFERENCES.values() for name in names.split()}
    private = {name for key in keys if (name := key.rpartition(".")[2]).startswith("_")} | PRIVATE
    found = {
        f"{path}: {name}"
        for path, tree, is_cuda in other_sources()
        if not is_cuda and ("numba_internals" in ast.unparse(tree) or [*names_of_numba(tree)])
        for name in attributes(tree) & private
    }
    assert found == set()


def test_private_attributes_are_in_the_tables():
    tree = ast.parse(INTERNALS.read_text("utf-8"))
    nodes = [*ast.walk(tree)]
    own = {x.attr for x in nodes if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)}
    own |= {x.name for x in nodes if isinstance(x, ast.FunctionDef)}
    listed = {key.rpartition(".")[2] for key in numba_internals.PARAMETERS}
    listed |= {x for names in numba_internals.REFERENCES.values() for x in names.split()}
    used = {name for name in attributes(tree) if name.startswith("_") and not name.startswith("__")}
    assert used - listed <= own
    assert PRIVATE - {"fndesc"} <= listed


def test_the_tables_describe_the_installed_numba():
    first, end = numba_internals.KNOWN
    assert first <= numba.version_info.short < end
    assert [*numba_internals.differences()] == []


@pytest.mark.parametrize("path", DIGESTS)
def test_sources_are_those_of_known_versions(path):
    source = inspect.getsource(numba_internals.attribute(path))
    assert hashlib.sha256(source.encode()).hexdigest()[:12] == DIGESTS[path], (
        f"Numba {numba.__version__} has another {path}. Read it, adapt kernels/numba_internals.py, "
        "and then change the digest."
    )


def test_the_package_requires_known_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    first, end = (".".join(map(str, version)) for version in numba_internals.KNOWN)
    assert f"numba>={first},<{end}" in project["dependencies"]


def change(monkeypatch, name, value):
    """Replace an attribute of a class of Numba, named like the keys of the tables."""
    owner, _, attribute = name.rpartition(".")
    monkeypatch.setattr(numba_internals.attribute(owner), attribute, value)


def test_changed_parameters_are_named(monkeypatch):
    change(monkeypatch, "Dispatcher.compile", lambda self, sig, options: None)
    assert [*numba_internals.differences()] == [
        "the parameters of Dispatcher.compile are 'self sig options', not 'self sig'"
    ]


def test_a_missing_attribute_is_named(monkeypatch):
    monkeypatch.delattr(numba_internals.RuntimeLinker, "PREFIX")
    assert [*numba_internals.differences()] == ["RuntimeLinker.PREFIX is missing"]


def test_a_method_that_is_no_longer_called_is_named(monkeypatch):
    change(monkeypatch, "JITCodeLibrary.finalize", lambda self: self._finalize_final_module())
    assert [*numba_internals.differences()] == [
        "JITCodeLibrary.finalize does not use _optimize_final_module"
    ]


def test_a_changed_pipeline_is_named(monkeypatch):
    pipeline = numba_internals.DefaultPassBuilder.define_nopython_pipeline

    def without_ssa(state, name="nopython"):
        made = pipeline(state, name)
        made.passes = [x for x in made.passes if x[0].__name__ != "ReconstructSSA"]
        return made

    change(monkeypatch, "DefaultPassBuilder.define_nopython_pipeline", staticmethod(without_ssa))
    assert [*numba_internals.differences()] == [
        "the stages of the pipeline differ in ReconstructSSA"
    ]


# A version of Numba that numtape does not know, with a change; then a sum, which Numba compiles.
UNKNOWN = """
import numba
numba.__version__ = "9.1.0"
numba.version_info = numba.version_info._replace(short=(9, 1))
{change}
import numtape as tf
print((tf.constant([1, 2]) // 2).numpy())
"""
CHANGES = {
    "numba.core.codegen.CodeLibrary.enable_object_caching = lambda self, path: None": (
        "the parameters of JITCodeLibrary.enable_object_caching are 'self path', not 'self'"
    ),
    "numba.core.compiler.DefaultPassBuilder.define_nopython_pipeline = lambda state: None": (
        "the parameters of DefaultPassBuilder.define_nopython_pipeline are 'state', not "
        "'state name'; AttributeError: 'NoneType' object has no attribute 'passes'"
    ),
    "del numba.core.compiler._LowerResult": (
        r"cannot import name '_LowerResult' from 'numba.core.compiler' (.*)"
    ),
}


@pytest.mark.slow
def test_an_unknown_version_without_differences_is_used(tmp_path):
    assert run(UNKNOWN.format(change=""), NUMTAPE_CACHE_DIR=tmp_path) == "[0 1]"


@pytest.mark.parametrize(
    "change",
    [pytest.param(change, marks=[pytest.mark.slow] * (k > 0)) for k, change in enumerate(CHANGES)],
)
def test_an_unknown_version_that_differs_is_an_error(tmp_path, change):
    child = start(UNKNOWN.format(change=change), NUMTAPE_CACHE_DIR=tmp_path)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 1
    assert re.fullmatch(
        r"ImportError: numtape does not support Numba 9\.1\.0, whose internals differ from those "
        rf'of known versions: {CHANGES[change]}\. Install "numba>=0\.65,<0\.69"\.',
        errors.splitlines()[-1],
    )
