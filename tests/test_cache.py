"""The folder of compiled kernels: absent, warm, damaged, not to be trusted, shared."""

import ctypes
import itertools
import os
import shutil
import stat
import tempfile

import llvmlite.binding as llvm
import pytest
from processes import PACKAGE, output, run, start

import numtape
from numtape.core import cache, entry

pytestmark = pytest.mark.numtape_only("numtape's own cache")
posix = pytest.mark.skipif(os.name == "nt", reason="no owners and modes as on POSIX")

# A first gradient, and how many files there are after it.
USE = """
import os, sys
import numtape as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = tf.sin(x) * x
found = float(tape.gradient(y, x))
assert tf.reduce_sum(tf.ones((2, 3)), 0).numpy().tolist() == [2.0, 2.0, 2.0]
assert abs(found - (3 * -0.9899925 + 0.14112)) < 1e-5, found
replayed = tf.function(lambda x: x * x + x, jit_compile=True)
assert [replayed(tf.ones(3)).numpy().tolist() for _ in range(2)] == [[2.0] * 3] * 2
place = os.environ["NUMTAPE_CACHE_DIR"]
count = len(os.listdir(place)) if os.path.isdir(place) else 0
print(count, *(name for name in ("numba", "scipy") if name in sys.modules))
"""
# The same where nothing can be compiled: what the cache does not give is missing.
READ = """
import sys
for name in ("compile", "assemble"):
    sys.modules[f"numtape.core.{name}"] = None
""" + USE


def use(place, folder=PACKAGE.parent, script=USE):
    """Run the first gradient. Returns the number of files and the heavy modules imported."""
    count, *modules = run(script, folder=folder, NUMTAPE_CACHE_DIR=place).split()
    return int(count), modules


def wants_to_compile(place, folder=PACKAGE.parent):
    """Whether a process would compile something."""
    child = start(READ, folder=folder, NUMTAPE_CACHE_DIR=place)
    _, errors = child.communicate(timeout=60)
    compilers = "numtape.core.compile", "numtape.core.assemble"
    assert child.returncode == 0 or any(x in errors.splitlines()[-1] for x in compilers), errors
    return child.returncode != 0


def units(place):
    return sorted(place.glob("*.unit"))


# Whole processes.


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that one process has filled, and an equal one that two filled together."""
    alone, shared = (tmp_path_factory.mktemp(name) / "deep" / "cache" for name in ("one", "two"))
    count, modules = use(alone)
    assert count > 1
    assert "numba" in modules
    return alone, shared


@pytest.fixture
def warm(filled, tmp_path):
    """A copy of the folder that one process has filled."""
    return shutil.copytree(filled[0], tmp_path / "cache")


@pytest.mark.slow
def test_empty_cache_is_filled_with_whole_files(filled):
    alone, _ = filled
    assert len(units(alone)) == len(list(alone.iterdir()))
    if os.name != "nt":
        assert stat.S_IMODE(alone.stat().st_mode) == 0o700


def test_a_first_gradient_compiles_no_draw(filled):
    assert not [path.name for path in units(filled[0]) if path.name.startswith("random_")]


@pytest.mark.slow
def test_two_processes_fill_the_same_empty_cache(filled):
    alone, shared = filled
    children = [start(USE, NUMTAPE_CACHE_DIR=shared) for _ in range(2)]
    for child in children:
        output(child)
    assert [path.name for path in sorted(shared.iterdir())] == [p.name for p in units(alone)]
    assert not wants_to_compile(shared)


def test_warm_cache_imports_neither_numba_nor_scipy(warm):
    before = {path.name: path.read_bytes() for path in warm.iterdir()}
    assert use(warm) == (len(before), [])
    assert {path.name: path.read_bytes() for path in warm.iterdir()} == before


@pytest.mark.slow
def test_cache_of_garbage_is_compiled_again(filled, warm):
    for path in warm.iterdir():
        path.write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    assert "numba" in use(warm)[1]
    assert [path.name for path in sorted(warm.iterdir())] == [p.name for p in units(filled[0])]
    assert not wants_to_compile(warm)


@pytest.fixture
def checkout(tmp_path):
    """A copy of the package whose source may be changed."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "numtape", ignore=skip)
    if not (tmp_path / "numtape" / "kernels").is_dir():
        shutil.copytree(numtape.kernels_folder(), tmp_path / "kernels", ignore=skip)
    return tmp_path


def kernel_modules():
    top = numtape.kernels_folder()
    found = [p.relative_to(top).as_posix() for p in top.rglob("*.py") if p.name != "__init__.py"]
    return [name for name in found if not name.startswith("cuda/")]  # what the CPU uses


def test_same_kernels_elsewhere_are_found(warm, checkout):
    assert use(warm, checkout) == (len(units(warm)), [])


@pytest.mark.parametrize("module", sorted(kernel_modules()))
def test_changed_kernel_is_compiled_again(warm, checkout, module):
    (source,) = (p for p in checkout.rglob(module.split("/")[-1])
                 if p.as_posix().endswith(f"kernels/{module}"))  # fmt: skip
    source.write_text(source.read_text("utf-8") + "\n# changed\n", "utf-8")
    assert wants_to_compile(warm, checkout)


def test_changed_body_of_an_op_is_compiled_again(warm, checkout):
    source = checkout / "numtape" / "core" / "ops" / "elementwise.py"
    text = source.read_text("utf-8")
    assert text.count('"sin(x)"') == 1
    source.write_text(text.replace('"sin(x)"', '"sin(x) + 0.0 * x"'), "utf-8")
    assert wants_to_compile(warm, checkout)


# The loader by itself, with a unit that is compiled in no time.

numbers = itertools.count()


class Tiny:
    """A unit of one function that returns 7; counts how often it is compiled."""

    def __init__(self):
        self.name = f"tiny{next(numbers)}"
        self.compiled = 0

    def compile(self):
        self.compiled += 1
        cache._engine()
        module = llvm.parse_assembly(f"define i64 @{self.name}() {{ ret i64 7 }}")
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        return machine.emit_object(module), [self.name], []

    def use(self, source="text"):
        """Load it and run it. Returns how often it was compiled until now."""
        address = cache.load(self.name, source, self.compile)[self.name]
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(address)() == 7
        return self.compiled


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder of this process."""
    found = tmp_path / "cache"
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(found))
    return found


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "garbage": lambda content: b"\x7fELF" + bytes(range(256)) * 40,
    "zeros": lambda content: bytes(len(content)),
    "head only": lambda content: content[:43],
    "head and length": lambda content: content[:44],
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "bit of the head": lambda content: flipped(content, 3),
    "bit of the checksum": lambda content: flipped(content, 20),
    "bit of the length": lambda content: flipped(content, 42),
    "bit of the code": lambda content: flipped(content, len(content) // 2),
    "last bit": lambda content: flipped(content, len(content) - 1),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_file_is_compiled_again(place, kind):
    tiny = Tiny()
    assert [tiny.use(), tiny.use()] == [1, 1]
    (path,) = place.iterdir()
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert [tiny.use(), tiny.use()] == [2, 2]
    assert path.read_bytes() == whole


def test_folder_in_the_files_place(place):
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    path.unlink()
    path.mkdir()
    assert [tiny.use(), tiny.use()] == [2, 3]


def test_file_that_needs_a_missing_symbol_is_compiled_again(place):
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    code, functions, _ = cache._read(path)
    cache._write(path, (code, functions, ["no_such_symbol_anywhere"]))
    assert [tiny.use(), tiny.use()] == [2, 2]
    cache._write(path, (code, functions, ["sin", "memcpy"]))
    assert tiny.use() == 2


def test_key_holds_source_versions_and_cpu(place, monkeypatch):
    tiny = Tiny()
    assert [tiny.use("text"), tiny.use("other"), tiny.use("text")] == [1, 2, 2]
    for name in (cache.llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_process_triple()):
        assert name in cache._environment()
    monkeypatch.setattr(cache, "_environment", lambda: "another machine")
    assert tiny.use("text") == 3


def test_keys_of_passes_hold_the_whole_source():
    for name in ("jit", "log.plan", "log.rows"):
        path = numtape.kernels_folder().joinpath(*name.split(".")).with_suffix(".py")
        assert path.read_text("utf-8") in entry.kernel_source("log.follow", name)


@posix
def test_folder_is_made_for_the_user_alone(place):
    Tiny().use()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o777, 0o755, 0o770, 0o707])
def test_folder_open_to_others_is_closed(place, mode):
    place.mkdir()
    place.chmod(mode)
    tiny = Tiny()
    assert [tiny.use(), tiny.use()] == [1, 1]
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
def test_folder_of_another_user_is_not_used(place, monkeypatch):
    tiny = Tiny()
    tiny.use()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert [tiny.use(), tiny.use()] == [2, 3]
    assert len(list(place.iterdir())) == 1


@posix
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="root writes anywhere")
def test_read_only_folder_is_read(place):
    tiny = Tiny()
    tiny.use()
    place.chmod(0o500)
    try:
        assert [tiny.use(), tiny.use("other"), tiny.use("other")] == [1, 2, 3]
    finally:
        place.chmod(0o700)


def test_folder_that_cannot_be_made(place, monkeypatch):
    place.write_text("in the way")
    tiny = Tiny()
    assert [tiny.use(), tiny.use()] == [1, 2]
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(place / "below"))
    assert tiny.use() == 3
    assert place.read_text() == "in the way"


@pytest.mark.parametrize("step", ["mkstemp", "replace"])
def test_full_disk_costs_a_compile_only(place, monkeypatch, step):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile if step == "mkstemp" else os, step, full)
    tiny = Tiny()
    assert [tiny.use(), tiny.use()] == [1, 2]


def test_leftovers_of_a_killed_process_do_not_matter(place):
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    (place / "x.part").write_bytes(path.read_bytes()[:50])
    assert tiny.use() == 1


# Units that different processes compiled.

REDUCE = """
import sys, numpy as np, numtape as tf
x = np.arange(600.0).reshape(3, 200) - 300.0
for name in sys.argv[1:]:
    print(getattr(tf, f"reduce_{name}")(x, 0).numpy()[-1])
"""


def test_helpers_of_the_same_name_are_not_mistaken_for_each_other(tmp_path):
    """What Numba calls a function depends on what it compiled before, in each process alone."""
    for name in ("sum", "max", "min"):
        run(REDUCE, name, NUMTAPE_CACHE_DIR=tmp_path)
    found = run(REDUCE, "sum", "max", "min", NUMTAPE_CACHE_DIR=tmp_path).split()
    assert found == ["297.0", "299.0", "-101.0"]
