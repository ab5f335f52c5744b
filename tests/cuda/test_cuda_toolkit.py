"""The CUDA toolkit: search paths, versions, and the contents of a cubin's cache key."""

import importlib.util
import inspect
import re
import types
from pathlib import Path

import pytest
from processes import run
from stub_driver import stub_gpu

import numtape
from numtape import DeviceError
from numtape.core.compile import cache
from numtape.core.cuda import codegen, fusion, launches
from numtape.core.cuda.runtime import compiler, toolkit

pytestmark = pytest.mark.numtape_only("how numtape compiles for CUDA")
FOUND = all(importlib.util.find_spec(name) for name in ("numba_cuda", "cuda"))
compiles = pytest.mark.skipif(not FOUND, reason="pip install 'numtape[cuda]' to compile for CUDA")

CAPABILITY = (9, 0)
DTYPES = ["int64", "*float32"]

# A kernel with a device function, compiled in a child process.
KERNEL = """
import importlib
from numtape.core.cuda.runtime import compiler
target = importlib.import_module("numtape.kernels.cuda.target")
cuda = target.cuda
@target.device
def twice(x):
    return x + x
def kernel(n, x):
    i = cuda.grid(1)
    if i < n:
        x[i] = twice(x[i])
assert compiler.cubin(kernel, ["int64", "*float32"], "kernel", (9, 0))[:4] == b"\\x7fELF"
"""

# Simulates NumPy 2.5 on import of numba-cuda 0.30: it warns, and lacks a function.
WARNS = """
import builtins, sys, warnings
imported = builtins.__import__
def warned(name, globals=None, locals=None, fromlist=(), level=0):
    helpers = "numba.cuda.np.npdatetime_helpers"
    if helpers in (f"{name}.{x}" for x in fromlist or ()) and helpers not in sys.modules:
        text = "The 'generic' unit for NumPy timedelta is deprecated, and will raise an error"
        warnings.warn(text, DeprecationWarning)
    return imported(name, globals, locals, fromlist, level)
builtins.__import__ = warned
"""
LACKS = """
import numpy as np
if hasattr(np, "row_stack"):
    del np.row_stack
    np.__all__ = [name for name in np.__all__ if name != "row_stack"]
"""


@compiles
def test_numba_cuda_under_a_newer_numpy():
    script = WARNS + LACKS + KERNEL + "print(hasattr(np, 'row_stack'), len(warnings.filters))"
    count = run("import warnings; import numtape; print(len(warnings.filters))")
    assert run(script) == f"False {count}"


def test_the_simulator_under_a_newer_numpy():
    script = "import numtape as nt; print(float(nt.reduce_sum(nt.range(5.0) ** 2)))"
    variables = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}
    assert run(WARNS + script, **variables) == "30.0"


@pytest.fixture
def afresh():
    """Clears the caches of found libraries before and after the test."""
    for found in (toolkit.library, toolkit.prepare, compiler.versions):
        found.cache_clear()
    yield
    for found in (toolkit.library, toolkit.prepare, compiler.versions):
        found.cache_clear()


@pytest.fixture
def nothing(monkeypatch, tmp_path, afresh):
    """Simulates a machine without wheels, toolkits and ``nvcc``."""
    monkeypatch.setattr(toolkit, "_WHEELS", dict.fromkeys(toolkit._WHEELS, "no-such-wheel"))
    monkeypatch.setattr(toolkit, "INSTALLED", tmp_path / "installed")
    monkeypatch.setattr(toolkit.sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    for name in toolkit.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def made(root, release=13000, folder="nvvm/lib64", **links):
    """Creates a toolkit of empty files or of links."""
    for name in (f"{folder}/libnvvm.so.4", "lib64/libnvJitLink.so.13", str(toolkit.LIBDEVICE)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        link = links.get(path.name.partition(".")[0])
        path.symlink_to(link) if link else path.touch()
    (root / "include").mkdir()
    (root / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {release}\n")
    return root


@pytest.mark.parametrize("name", ["CUDA_PATH", "CUDA_HOME"])
@pytest.mark.parametrize("folder", ["nvvm/lib64", "lib"])
def test_a_toolkit_that_a_variable_names(nothing, monkeypatch, tmp_path, name, folder):
    root = made(tmp_path / "toolkit", 13010, folder)
    made(tmp_path / "installed")
    monkeypatch.setenv(name, str(root))
    found = toolkit.library("libnvvm")
    assert found == (root / folder / "libnvvm.so.4", "13.1", root)
    assert toolkit.paths()["libdevice"] == str(root / toolkit.LIBDEVICE)


def test_an_installed_toolkit(nothing, monkeypatch, tmp_path):
    root = made(tmp_path / "installed")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "gone"))  # an empty path
    assert toolkit.library("libnvvm").root == root
    (root / "version.json").write_text('{"cuda": {"version": "13.2.1"}}')
    toolkit.library.cache_clear()
    assert toolkit.library("libnvJitLink").release == "13.2"


def test_the_toolkit_of_nvcc(nothing, monkeypatch, tmp_path):
    root = made(tmp_path / "toolkit")
    nvcc = root / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.touch(0o755)
    monkeypatch.setenv("PATH", str(nvcc.parent))
    assert toolkit.library("libnvvm").root == root


def test_a_toolkit_that_does_not_say_its_release(nothing, tmp_path):
    root = made(tmp_path / "installed")
    (root / "include" / "cuda.h").unlink()
    assert toolkit.library("libnvvm").release == "of 0 bytes"


def test_no_toolkit(nothing, tmp_path):
    for name in ("libnvvm", "libnvJitLink"):
        with pytest.raises(DeviceError, match=rf"{name} was not found.*CUDA_HOME.*numtape"):
            toolkit.library(name)


def test_missing_packages(monkeypatch):
    with pytest.raises(DeviceError, match=r"no-such-package is not installed.*pip install"):
        toolkit.version("no-such-package")


# A machine whose only libNVVM belongs to a toolkit that the system's loader does not search.
NO_WHEEL = """
import ctypes, os
from importlib import metadata
installed, distribution = metadata.distributions, metadata.distribution
def found(name):
    if name == "nvidia-nvvm":
        raise metadata.PackageNotFoundError(name)
    return distribution(name)
metadata.distribution = found
metadata.distributions = lambda **what: (
    x for x in installed(**what) if x.metadata["Name"] != "nvidia-nvvm"
)
class Library(ctypes.CDLL):
    def __init__(self, name, mode=ctypes.DEFAULT_MODE, **options):
        if str(name).startswith("libnvvm") and not mode & os.RTLD_NOLOAD:
            raise OSError(name)
        super().__init__(name, mode, **options)
ctypes.CDLL = Library
"""


@compiles
def test_compiling_with_a_toolkit(tmp_path):
    links = {name: toolkit.library(name).path for name in ("libnvvm", "libnvJitLink")}
    root = made(tmp_path / "toolkit", **links, libdevice=toolkit.paths()["libdevice"])
    used = """
print(*(os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME")))
print(compiler.versions().splitlines()[2])
from numba.cuda.cuda_paths import get_cuda_paths
print(get_cuda_paths()["libdevice"].info)
"""
    said = run(NO_WHEEL + KERNEL + used, CUDA_PATH=tmp_path / "none", CUDA_HOME=root).splitlines()
    assert said == [f"{root} {root}", "libnvvm 13.0", str(root / toolkit.LIBDEVICE)]


@pytest.fixture
def numba_cuda(afresh):
    compiler.load()
    from numba import cuda

    return cuda


def kernel(n, x):
    if n:
        x[0] = n


@compiles
def test_a_compiler_that_would_fuse(numba_cuda, monkeypatch):
    from numba.cuda import codegen
    from numba.cuda.cudadrv import nvvm

    other = types.SimpleNamespace(**vars(nvvm))  # with its original compile function
    monkeypatch.setattr(codegen, "nvvm", other)
    with pytest.raises(DeviceError, match=rf"numba-cuda [\d.]+ .* numba-cuda=={compiler.TESTED}"):
        compiler.ptx(kernel, DTYPES, "kernel", CAPABILITY)


@compiles
def test_a_compiler_that_has_changed(numba_cuda, monkeypatch):
    from numba.cuda import dispatcher

    monkeypatch.delattr(dispatcher, "get_current_device")
    with pytest.raises(DeviceError, match="numba-cuda"):
        compiler.ptx(kernel, DTYPES, "kernel", CAPABILITY)


@compiles
def test_a_compiler_that_does_not_fit(afresh, monkeypatch, tmp_path):
    def other(name):
        raise AttributeError("module 'numba.types' has no such attribute")

    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler.importlib, "import_module", other)
    with pytest.raises(DeviceError, match=rf"no such attribute.*numba-cuda=={compiler.TESTED}"):
        stub_gpu(monkeypatch).kernel(lambda: other(""), DTYPES, "kernel", "text")


def test_the_tested_version_is_the_one_that_is_asked_for():
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    (asked,) = re.findall(r'"numba-cuda\[cu13\]==([\d.]+)"', project.read_text("utf-8"))
    assert asked == compiler.TESTED


# Keys.


def found_by(gpu, source="text", dtypes=DTYPES):
    """Returns whether a cubin is in the cache; else compiles it."""
    compiled = []

    def make():
        compiled.append(1)
        return kernel

    gpu.kernel(make, dtypes, "kernel", source)
    return not compiled


@compiles
def test_cubins_are_used_on_another_host(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "cache"))
    gpu = stub_gpu(monkeypatch)
    gpu.capability = CAPABILITY
    assert not found_by(gpu)
    (path,) = (tmp_path / "cache").iterdir()
    content = path.read_bytes()
    assert b"\x7fELF" in content
    before = cache._file("unit", "text")
    monkeypatch.setattr(cache, "processor", lambda: ("another", "+feature"))
    monkeypatch.setattr(cache.llvm, "get_process_triple", lambda: "another-host")
    monkeypatch.setattr(cache.llvmlite, "__version__", "0.0")
    cache._environment.cache_clear()
    try:
        assert cache._file("unit", "text") != before
        assert found_by(gpu)
    finally:
        monkeypatch.undo()
        cache._environment.cache_clear()


def test_what_cubins_depend_on(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "load", lambda: None)
    monkeypatch.setattr(compiler, "cubin", lambda function, *_: bytes(64))
    version = ["numba-cuda 1"]
    monkeypatch.setattr(compiler, "versions", lambda: version[0])
    gpu = stub_gpu(monkeypatch)
    call = {}

    def found():
        return found_by(gpu, **call)

    assert [found(), found()] == [False, True]
    version[0] = "numba-cuda 2"
    assert [found(), found()] == [False, True]
    gpu.capability = (10, 0)
    assert [found(), found()] == [False, True]
    call["dtypes"] = ["int64", "*float64"]
    assert [found(), found()] == [False, True]
    call["source"] = "another text"
    assert [found(), found()] == [False, True]
    monkeypatch.setattr(compiler, "_own_text", lambda: "other options")
    assert [found(), found()] == [False, True]


@compiles
def test_versions_name_compiler_and_libraries():
    names = [line.split()[0] for line in compiler.versions().splitlines()]
    assert names == ["numba-cuda", "cuda-core", "libnvvm", "libnvJitLink"]


def test_keys_of_kernels_hold_every_source():
    script = """
import importlib, pkgutil, sys
import numtape
for name in [name for name in sys.modules if name.startswith("numtape.kernels.")]:
    del sys.modules[name]  # those that numtape needs itself
room = importlib.import_module("numtape.kernels.cuda")
for module in pkgutil.iter_modules(room.__path__):
    importlib.import_module(f"{room.__name__}.{module.name}")
print(*(name for name, module in sys.modules.items()
        if name.startswith("numtape.kernels.") and not hasattr(module, "__path__")))
"""
    needed = run(script, NUMBA_ENABLE_CUDASIM="1").split()
    names = {name.removeprefix("numtape.kernels.") for name in needed}
    assert {"cuda.scalar", "cuda.target", "functions.elementary"} <= names
    assert names <= set(launches.sources())
    text = launches._source()
    for name in (*launches.sources(), "cuda.__init__"):
        path = numtape.kernels_folder().joinpath(*name.split(".")).with_suffix(".py")
        assert path.read_text("utf-8") in text
    for make in (codegen.function, fusion.compile_kernel):  # combine a text with these functions
        assert Path(inspect.getfile(make)).read_text("utf-8") in text
