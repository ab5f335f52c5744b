"""The folder of compiled kernels: missing, warm, damaged, untrusted, shared."""

import ctypes
import io
import itertools
import os
import shutil
import stat
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from checks import logged
from processes import PACKAGE, output, run, start

import numtape
from numtape.core import settings
from numtape.core.compile import cache, kernel_sources, passes

pytestmark = [
    pytest.mark.numtape_only("numtape's own cache"),
    pytest.mark.cpu_only("machine code for the CPU"),
]
posix = pytest.mark.skipif(os.name == "nt", reason="no owners and modes as on POSIX")

# Compute a first gradient, and print the number of files afterwards.
USE = """
import os, sys
import numtape as tf
from numtape.core import settings
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = tf.sin(x) * x
found = float(tape.gradient(y, x))
assert tf.reduce_sum(tf.ones((2, 3)), 0).numpy().tolist() == [2.0, 2.0, 2.0]
assert abs(found - (3 * -0.9899925 + 0.14112)) < 1e-5, found
replayed = tf.function(lambda x: x * x + x, jit_compile=True)
assert [replayed(tf.ones(100)).numpy().tolist() for _ in range(2)] == [[2.0] * 100] * 2
place = settings.cache_dir()
count = len(os.listdir(place)) if os.path.isdir(place) else 0
print(count, *(name for name in ("numba", "scipy") if name in sys.modules))
"""
# The same without a compiler: anything not in the cache is missing.
READ = (
    """
import sys
sys.executable = None  # nor does another process begin to
for name in ("unit", "llvm"):
    sys.modules[f"numtape.core.compile.{name}"] = None
"""
    + USE
)


def use(place, source=PACKAGE.parent, script=USE):
    """Run the first gradient. Returns the number of files and the heavy modules imported."""
    count, *modules = run(script, folder=source, NUMTAPE_CACHE_DIR=place).split()
    return int(count), modules


def wants_to_compile(place, source=PACKAGE.parent):
    """Whether a process would compile something."""
    child = start(READ, folder=source, NUMTAPE_CACHE_DIR=place)
    _, errors = child.communicate(timeout=60)
    compilers = "numtape.core.compile.numba_compiler", "numtape.core.compile.llvm"
    assert child.returncode == 0 or any(x in errors.splitlines()[-1] for x in compilers), errors
    return child.returncode != 0


def units(place):
    return sorted(place.glob("*.unit"))


# Whole processes.


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder filled by one process, and an equal one filled by two processes together."""
    alone, shared = (tmp_path_factory.mktemp(name) / "deep" / "cache" for name in ("one", "two"))
    count, modules = use(alone)
    assert count > 1
    assert "numba" in modules
    return alone, shared


# The same, followed by the names of the units that it read.
READING = (
    """
import sys
read = set()
sys.addaudithook(lambda event, found: event == "open" and read.add(str(found[0])))
"""
    + USE
    + """
print(*(name for name in read if name.endswith(".unit")))
"""
)


@pytest.fixture(scope="module")
def needed(tmp_path_factory):
    """A folder with the units that one process needs, copied from this run's own cache."""
    run(USE)
    found = tmp_path_factory.mktemp("needed") / "cache"
    found.mkdir(0o700)
    for name in run(READING).splitlines()[1].split():
        shutil.copy2(settings.cache_dir() / name, found)
    return found


@pytest.fixture
def warm(needed, tmp_path):
    """A copy of that folder."""
    return shutil.copytree(needed, tmp_path / "cache")


@pytest.mark.slow
def test_empty_cache_is_filled_with_whole_files(filled):
    alone, _ = filled
    assert len(units(alone)) == len(list(alone.iterdir()))
    if os.name != "nt":
        assert stat.S_IMODE(alone.stat().st_mode) == 0o700


def test_a_first_gradient_needs_no_draw(needed):
    names = [path.name for path in units(needed)]
    assert any(name.startswith("lane_Sin_float32") for name in names)
    assert not [name for name in names if name.startswith("random_")]


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
def test_cache_of_garbage_is_compiled_again(needed, warm):
    for path in warm.iterdir():
        if not path.name.startswith(("passes-derive", "passes-plan")):  # these take the longest
            path.write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    assert "numba" in use(warm)[1]
    assert [path.name for path in sorted(warm.iterdir())] == [p.name for p in units(needed)]
    assert not wants_to_compile(warm)


@pytest.fixture
def checkout(tmp_path):
    """A copy of the package whose source may be modified."""
    shutil.copytree(PACKAGE, tmp_path / "numtape")
    if not (tmp_path / "numtape" / "kernels").is_dir():
        shutil.copytree(numtape.kernels_folder(), tmp_path / "kernels")
    return tmp_path


def kernel_modules():
    top = numtape.kernels_folder()
    found = [p.relative_to(top).as_posix() for p in top.rglob("*.py") if p.name != "__init__.py"]
    # The modules that the CPU uses for a first gradient; a test below covers the others' keys.
    later = (
        "adjoint_sums",
        "along",
        "call_layout",
        "calls",
        "conv",
        "determinants",
        "lanes",
        "lapack",
        "panels",
        "philox",
        "pool",
        "products",
        "slices",
        "small_matmul",
        "sorting",
        "systems",
        "updates",
    )
    later = {f"cpu/{name}.py" for name in later} | {
        f"passes/{name}.py"
        for name in (
            "repeated_call",
            "repeated_gradient",
            "repeated_evaluation",
            "call_words",
            "evaluation_words",
            "gradient_words",
        )
    }
    later |= {"cpython/buffers.py", "cpython/recording.py"}
    later.add("annotations.py")  # for type checkers only
    return [
        name for name in found if not name.startswith(("cuda/", "loops/")) and name not in later
    ]


def test_same_kernels_elsewhere_are_found(warm, checkout):
    assert use(warm, checkout) == (len(units(warm)), [])


# One module of each folder; tests below check that keys contain the source of the others.
@pytest.mark.parametrize(
    "module",
    [
        name
        if name in ("jit.py", "cpu/sweep.py", "functions/circular.py", "passes/layout.py")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(kernel_modules())
    ],
)
def test_changed_kernel_is_compiled_again(warm, checkout, module):
    (source,) = (
        p
        for p in checkout.rglob(module.split("/")[-1])
        if p.as_posix().endswith(f"kernels/{module}")
    )
    source.write_text(source.read_text("utf-8") + "\n# changed\n", "utf-8")
    assert wants_to_compile(warm, checkout)


def test_changed_body_of_an_op_is_compiled_again(warm, checkout):
    source = checkout / "numtape" / "core" / "ops" / "elementwise.py"
    text = source.read_text("utf-8")
    assert text.count('"sin(x)"') == 1
    source.write_text(text.replace('"sin(x)"', '"sin(x) + 0.0 * x"'), "utf-8")
    assert wants_to_compile(warm, checkout)


# The loader alone, with a unit that compiles quickly.

numbers = itertools.count()


class Tiny:
    """A unit of one function that returns 7; counts its compilations."""

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
        """Load and run the unit. Returns the number of compilations so far."""
        address = cache.load(self.name, source, self.compile)[self.name]
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(address)() == 7
        return self.compiled


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder of this process."""
    found = tmp_path / "cache"
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(found))
    monkeypatch.setattr(cache, "_warned", set())
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
    code, functions, _ = cache._unpack(path.name, path.read_bytes())
    path.write_bytes(cache._pack(path.name, (code, functions, ["no_such_symbol_anywhere"])))
    assert [tiny.use(), tiny.use()] == [2, 2]
    path.write_bytes(cache._pack(path.name, (code, functions, ["sin", "memcpy"])))
    assert tiny.use() == 2


def test_file_of_another_unit_is_compiled_again(place):
    one, other = Tiny(), Tiny()
    one.use(), other.use()
    paths = sorted(place.iterdir())
    contents = [path.read_bytes() for path in paths]
    paths[0].write_bytes(contents[1])
    paths[1].write_bytes(contents[0])
    assert [one.use(), other.use()] == [2, 2]
    assert [path.read_bytes() for path in paths] == contents


def test_key_holds_source_versions_and_cpu(place, monkeypatch):
    tiny = Tiny()
    assert [tiny.use("text"), tiny.use("other"), tiny.use("text")] == [1, 2, 2]
    versions = cache.llvmlite.__version__, llvm.get_process_triple()
    for name in (*versions, *cache.processor()):
        assert name in cache._environment()
    monkeypatch.setattr(cache, "_environment", lambda: "another machine")
    assert tiny.use("text") == 3


def test_keys_of_kernels_hold_the_whole_source():
    """The keys of elementwise, array, fused and native-loop kernels list their modules."""
    from numtape.core.compile.array_kernels import _SOURCES
    from numtape.core.compile.lane_kernels import VECTOR_SOURCES
    from numtape.core.loops.runtime import compiled_sweeps

    vectors = {*VECTOR_SOURCES}
    assert {*kernel_sources.transitive_imports("cpu.scalar")} <= vectors
    assert {*kernel_sources.transitive_imports(*_SOURCES)} <= {*vectors, *_SOURCES}
    assert {*kernel_sources.transitive_imports("cpu.fused")} <= {*vectors, "body", "cpu.fused"}
    assert {*kernel_sources.transitive_imports("loops.stack")} <= {*compiled_sweeps._SOURCES}


def test_keys_of_passes_for_python_hold_the_whole_source(monkeypatch):
    from numtape.core.compile.passes import compilers
    from numtape.core.cpu import repeated_evaluation
    from numtape.core.derive import repeated_gradients
    from numtape.core.native import fast_path, recorder
    from numtape.core.replay import repeated_calls
    from numtape.core.replay.observe import guards

    keys = []

    def load(unit, key, build):
        keys.append(key)
        return {"numtape_any": 0}

    monkeypatch.setattr(fast_path.disk, "load", load)
    for module, listed in {
        "passes.repeated_evaluation": repeated_evaluation.PASSES,
        "passes.repeated_gradient": repeated_gradients.PASSES,
        "passes.repeated_call": repeated_calls.PASSES,
        "passes.guards": guards.PASSES,
        "cpython.recording": recorder.PASSES,
        "cpython.buffers": (),
    }.items():
        fast_path.load_passes("any", module, {"any": 1}, listed)
        needed = {*kernel_sources.transitive_imports(module)}
        assert {"constants", "jit", "cpython.words", module} <= needed
        assert compilers() in keys[-1]
        # `jit` imports the other one for Numba, without which passes are translated.
        for name in needed - {"numba_internals"}:
            path = numtape.kernels_folder().joinpath(*name.split(".")).with_suffix(".py")
            assert path.read_text("utf-8") in keys[-1], name


def test_keys_of_loops_of_floats_hold_what_compiles_them(monkeypatch):
    from numtape.core.compile import lane_kernels
    from numtape.core.cpu import fuse
    from numtape.core.ops import elementwise
    from numtape.core.values.dtypes import float32

    keys, text = [], (settings.PACKAGE / "core" / "compile" / "llvm.py").read_text("utf-8")

    def load(name, source, compile):
        keys.append(source)
        return {name: 0}

    monkeypatch.setattr(cache, "load", load)
    lane_kernels.compile_lane.__wrapped__(elementwise.exp.op, (float32,), float32)
    monkeypatch.setattr(fuse, "_addresses", {})
    fuse._compile_loop("a loop", False)
    assert [text in key for key in keys] == [True, True]


@pytest.mark.parametrize("unit", passes.UNITS)
def test_keys_of_passes_hold_the_whole_source(monkeypatch, unit):
    """The key has the text of each module of the unit's passes, and of their imports."""
    keys = []

    def load(name, source, compile):
        keys.append(source)
        return {f"numtape_{symbol}": 0 for symbol in passes.UNITS[unit]}

    monkeypatch.setattr(passes.disk, "load", load)
    passes.addresses.__wrapped__(unit)
    needed = kernel_sources.transitive_imports(*passes.UNITS[unit].values())
    assert {"jit", "passes.tables"} <= set(needed)
    for name in needed:
        path = numtape.kernels_folder().joinpath(*name.split(".")).with_suffix(".py")
        assert path.read_text("utf-8") in keys[0], name


@pytest.mark.parametrize("why", ["in the way", "below a file"])
def test_folder_that_cannot_be_made(tf, place, monkeypatch, why):
    place.write_text(why)
    if why == "below a file":
        monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(place / "below"))
    tiny = Tiny()
    with logged(tf) as said:
        assert [tiny.use(), tiny.use()] == [1, 2]
    assert len(said) == 1
    assert "cannot be used" in said[0]
    assert "NUMTAPE_CACHE_DIR" in said[0]
    assert not cache.writable()
    assert place.read_text() == why


# Ownership of the folder, whose object code is executed.


def modes(top):
    return {p: stat.S_IMODE(p.stat().st_mode) for p in (top, *top.rglob("*"))}


def give_away(monkeypatch, *paths):
    """Make these files and folders appear to belong to another user; the fixture undoes it."""
    theirs = {(found.st_dev, found.st_ino) for found in map(os.lstat, paths)}

    def changed(ask):
        def asked(*arguments, **options):
            found = ask(*arguments, **options)
            if (found.st_dev, found.st_ino) not in theirs:
                return found
            fields = list(found)
            fields[stat.ST_UID] = os.geteuid() + 1
            return os.stat_result(fields)

        return asked

    for name in ("fstat", "lstat", "stat"):
        monkeypatch.setattr(os, name, changed(getattr(os, name)))


@posix
def test_folder_is_made_for_the_user_alone(place, monkeypatch):
    before = os.umask(0)
    try:
        monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(place / "deep" / "er"))
        Tiny().use()
    finally:
        os.umask(before)
    (file,) = (place / "deep" / "er").iterdir()
    assert set(modes(place).values()) == {0o700, 0o600}
    assert modes(place)[file] == 0o600


@posix
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_folder_that_others_can_only_read_is_used_as_it_is(tf, place, mode):
    place.mkdir()
    place.chmod(mode)
    tiny = Tiny()
    with logged(tf) as said:
        assert [tiny.use(), tiny.use()] == [1, 1]
    assert stat.S_IMODE(place.stat().st_mode) == mode
    assert not said


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777, 0o2775])
@pytest.mark.parametrize("which", ["folder", "one above"])
@pytest.mark.parametrize("link", [False, True])
def test_folder_that_others_can_write_to_is_neither_used_nor_changed(
    tf, place, tmp_path, monkeypatch, mode, link, which
):
    tiny = Tiny()
    opened = place / "below" if which == "one above" else place
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(opened))
    tiny.use()
    place.chmod(mode)
    before = modes(tmp_path)
    if link:
        (tmp_path / "link").symlink_to(opened)
        monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "link"))
    sticky = which == "one above" and mode & stat.S_ISVTX
    with logged(tf) as said:
        assert [tiny.use(), tiny.use(), tiny.use()] == ([1, 1, 1] if sticky else [2, 3, 4])
        assert cache.writable() is bool(sticky)
    if sticky:  # as in /tmp, others cannot rename foreign files
        assert not said
        return
    assert len(said) == 1
    for fact in (str(place), f"{mode:04o}", "chmod", "cache clear", "NUMTAPE_CACHE_DIR"):
        assert fact in said[0]
    (tmp_path / "link").unlink(missing_ok=True)
    assert modes(tmp_path) == before


@posix
@pytest.mark.parametrize("which", ["folder", "one above"])
def test_folder_of_another_user_is_not_used(tf, place, monkeypatch, which):
    tiny = Tiny()
    tiny.use()
    before = modes(place)
    give_away(monkeypatch, place if which == "folder" else place.parent)
    with logged(tf) as said:
        assert [tiny.use(), tiny.use()] == [2, 3]
    assert len(said) == 1
    assert "belongs to user" in said[0]
    assert modes(place) == before


@posix
@pytest.mark.parametrize("how", ["owner", "mode", "link", "folder", "pipe"])
def test_file_that_others_may_have_written_is_made_anew(tf, place, tmp_path, monkeypatch, how):
    """It may have been planted while the folder was writable for others."""
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    content = path.read_bytes()
    if how == "owner":
        give_away(monkeypatch, path)
    elif how == "mode":
        path.chmod(0o666)
    else:
        path.rename(tmp_path / "elsewhere")
        if how == "link":
            path.symlink_to(tmp_path / "elsewhere")
        elif how == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    with logged(tf) as said:
        used = [tiny.use(), tiny.use(), tiny.use()]
    assert used == ([2, 3, 4] if how == "folder" else [2, 2, 2])
    if how != "folder":
        assert path.read_bytes() == content
        assert stat.S_ISREG(os.lstat(path).st_mode)
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    if how in ("owner", "mode"):
        assert len(said) == 1
        assert "cache clear" in said[0]
        assert path.name in said[0]


@posix
def test_folder_exchanged_while_it_is_open_is_not_read(place, tmp_path):
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    with cache.open_folder(place) as found:
        place.rename(tmp_path / "old")
        place.mkdir()
        path.write_text("planted")
        assert found.read(path.name) == (tmp_path / "old" / path.name).read_bytes()
        found.write("new", b"new")
    assert sorted(p.name for p in place.iterdir()) == [path.name]
    assert (tmp_path / "old" / "new").read_bytes() == b"new"


def test_open_folders_are_closed(place):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc")
    tiny = Tiny()
    tiny.use()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        tiny.use()
        tiny.use(f"other {tiny.compiled}")
    assert len(os.listdir("/proc/self/fd")) == before


NOTED = (
    """
import logging, os, sys
logging.basicConfig(format="%(name)s: %(message)s")
"""
    + USE
)


@posix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="plays another user")
def test_what_another_user_planted_is_not_executed(warm):
    """A file that is valid except for its owner, and would end the process with status 66."""
    (victim,) = warm.glob("lane_Sin_float32_float32-*.unit")  # quick to recompile
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    symbol = victim.name.rpartition("-")[0]
    module = llvm.parse_assembly(
        "declare void @_exit(i32)\n"
        f"define i64 @{symbol}(i64, i64, i64, i64, i64) {{ call void @_exit(i32 66) ret i64 0 }}"
    )
    machine = llvm.Target.from_default_triple().create_target_machine(
        reloc="pic", codemodel="large"
    )
    built = machine.emit_object(module), [symbol], ["_exit"]
    victim.write_bytes(cache._pack(victim.name, built))
    child = start(USE, NUMTAPE_CACHE_DIR=warm)
    child.communicate(timeout=60)
    assert child.returncode == 66  # so it would be executed
    os.chown(victim, 65534, 65534)
    child = start(NOTED, NUMTAPE_CACHE_DIR=warm)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert errors.count("numtape: ") == 1
    assert "belongs to user 65534" in errors
    assert victim.stat().st_uid == 0
    assert not wants_to_compile(warm)


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


# Without a home.


def test_user_without_a_home_has_no_folder(tf, monkeypatch):
    monkeypatch.setattr(cache, "_warned", set())
    for name in ("NUMTAPE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def unknown(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    tiny = Tiny()
    with logged(tf) as said:
        assert [tiny.use(), tiny.use()] == [1, 2]
    assert len(said) == 1
    assert "NUMTAPE_CACHE_DIR" in said[0]
    assert (cache.size(), cache.clear(), cache.writable()) == ((0, 0), 0, False)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of XDG's")
def test_cache_folder_of_the_desktop_is_absolute(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMTAPE_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for setting, expected in [
        ("", tmp_path / ".cache"),
        ("here", tmp_path / ".cache"),
        (str(tmp_path / "x"), tmp_path / "x"),
    ]:
        monkeypatch.setenv("XDG_CACHE_HOME", setting)
        assert settings.cache_dir() == expected / "numtape"


# Full disks.


def full(*_, **__):
    raise OSError(28, "No space left on device")


class Full(io.BytesIO):
    write = full


@pytest.mark.parametrize("step", ["open", "write", "replace"])
def test_full_disk_costs_a_compile_only(place, monkeypatch, step):
    if step == "write":

        def opening(handle, mode):
            os.close(handle)
            return Full()

        monkeypatch.setattr(os, "fdopen", opening)
    elif step == "open":
        real = os.open
        monkeypatch.setattr(
            os,
            "open",
            lambda path, flags, *rest, **options: (
                full() if flags & os.O_CREAT else real(path, flags, *rest, **options)
            ),
        )
    else:
        monkeypatch.setattr(os, step, full)
    tiny = Tiny()
    assert [tiny.use(), tiny.use()] == [1, 2]
    assert list(place.iterdir()) == []


def test_interrupted_write_leaves_nothing(place, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    tiny = Tiny()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tiny.use()
    assert list(place.iterdir()) == []
    assert [tiny.use(), tiny.use()] == [2, 2]


SMALL = """
import sys
from numtape.core.compile import cache
if sys.argv[1:]:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
compiled = []
def build():
    compiled.append(1)
    return bytes(100), ["none"], []
for _ in range(2):
    cache.load_or_compile("none", "text", build)
print(len(compiled))
"""


@posix
@pytest.mark.parametrize("limit", [0, 100])
def test_files_that_may_not_grow(place, limit):
    options = {"NUMTAPE_CACHE_DIR": place, "NUMTAPE_RECORD": "python"}  # an import writes nothing
    assert run(SMALL, limit, **options) == "2"
    assert list(place.iterdir()) == []
    assert run(SMALL, **options) == "1"
    assert len(list(place.iterdir())) == 1


def test_leftovers_of_a_killed_process_do_not_matter(place):
    tiny = Tiny()
    tiny.use()
    (path,) = place.iterdir()
    part = place / f"x{cache.PART}"
    part.write_bytes(path.read_bytes()[:50])
    others = place / "download.part"
    others.touch()
    assert tiny.use() == 1
    assert cache.clear() == 2
    assert list(place.iterdir()) == [others]


# Units compiled by different processes.

REDUCE = """
import sys, numpy as np, numtape as tf
x = np.arange(600.0).reshape(3, 200) - 300.0
for name in sys.argv[1:]:
    print(getattr(tf, f"reduce_{name}")(x, 0).numpy()[-1])
"""


@pytest.mark.slow
def test_helpers_of_the_same_name_are_not_mistaken_for_each_other(warm):
    """Numba's names of functions depend on what each process compiled before."""
    for name in ("max", "min"):
        run(REDUCE, name, NUMTAPE_CACHE_DIR=warm)
    found = run(REDUCE, "max", "min", NUMTAPE_CACHE_DIR=warm).split()
    assert found == ["299.0", "-101.0"]
