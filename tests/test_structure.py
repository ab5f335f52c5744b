"""How the source is built: which room may use which, and rules that a search can check."""

import ast
import re
import sys

import pytest
from processes import PACKAGE

import numtape

pytestmark = pytest.mark.numtape_only("reads the source")

KERNELS = numtape.kernels_folder()
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 600  # lines


def place(path):
    """A source file's name inside its package."""
    package = KERNELS if KERNELS in path.parents else PACKAGE
    return f"{package.name}/{path.relative_to(package).as_posix()}"


def imported(path, package):
    """Full names of all that a file imports, wherever in it: modules, or names from modules."""
    at = [package.name, *path.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = at[: len(at) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.py")), ids=place)
def test_kernels_import_only_numba_numpy_math_and_siblings(path):
    standard = {"__future__", "ast", "collections", "dataclasses", "functools", "math", "sys",
                "threading", "typing"}  # fmt: skip
    allowed = {"kernels", "llvmlite", "numba", "numpy", *standard}
    assert {name.partition(".")[0] for name in imported(path, KERNELS)} <= allowed


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=place)
def test_core_imports_no_api_module(path):
    allowed = ("numtape.core", "numtape.config", "numtape.errors", "numtape.kernels")
    # A function of the package that says where the kernels' source lies.
    own = [n for n in imported(path, PACKAGE) if n.partition(".")[0] == "numtape"]
    assert [n for n in own if not n.startswith(allowed) and n != "numtape.kernels_folder"] == []


def test_every_import_is_a_declared_dependency_or_of_python():
    known = {"numtape", "numba", "llvmlite", "numpy", "scipy", "optree", *sys.stdlib_module_names}
    for path in SOURCES:
        if KERNELS not in path.parents:
            extra = {"cuda"} if path.parent.name == "runtime" else set()  # of the extra [cuda]
            found = {n.partition(".")[0] for n in imported(path, PACKAGE)}
            assert found <= known | extra, place(path)


def test_environment_variables_are_read_in_config_alone():
    for path in SOURCES:
        if place(path) == "numtape/config.py":
            continue
        strings = [
            node.value for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]  # fmt: skip
        assert not [s for s in strings if re.fullmatch(r"NUMTAPE_[A-Z_]+", s)], place(path)
        if path.parent.name != "datasets":
            assert not re.search(r"\bos\.(environ|getenv)\b", path.read_text("utf-8")), place(path)


@pytest.mark.parametrize("path", sorted({*SOURCES, *KERNELS.rglob("*.py")}), ids=place)
def test_no_long_file(path):
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def test_print_is_for_the_commands_alone():
    for path in {*SOURCES, *KERNELS.rglob("*.py")} - {PACKAGE / "demo.py", PACKAGE / "__main__.py"}:
        calls = [n.func for n in ast.walk(ast.parse(path.read_text("utf-8"))) if hasattr(n, "func")]
        assert "print" not in [getattr(call, "id", "") for call in calls], place(path)


# NUMTAPE_DEVICE.
