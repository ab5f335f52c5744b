"""The folder of compiled kernels: absent, warm, damaged, not to be trusted, shared."""

import os
import shutil
import stat

import pytest
from processes import PACKAGE, output, run, start

import numtape

pytestmark = [pytest.mark.numtape_only("numtape's own cache"), pytest.mark.slow]

# A first gradient, and how many files were made for it.
USE = """
import os, sys
import numtape as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = tf.sin(x) * x
found = float(tape.gradient(y, x))
assert abs(found - (3 * -0.9899925 + 0.14112)) < 1e-5, found
folder = os.environ["NUMTAPE_CACHE_DIR"]
count = len(os.listdir(folder)) if os.path.isdir(folder) else 0
print(count, *(name for name in ("numba", "scipy") if name in sys.modules))
"""
windows = pytest.mark.skipif(os.name == "nt", reason="no owners and modes as on POSIX")


def use(folder, **options):
    """Run the first gradient. Returns the number of files and the heavy modules imported."""
    count, *modules = run(USE, NUMTAPE_CACHE_DIR=folder, **options).split()
    return int(count), modules


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that one process has filled."""
    folder = tmp_path_factory.mktemp("cache") / "deep" / "cache"
    count, modules = use(folder)
    assert count > 1
    assert "numba" in modules
    return folder


@pytest.fixture
def warm(filled, tmp_path):
    """A copy of it."""
    return shutil.copytree(filled, tmp_path / "cache")


def units(folder):
    return sorted(folder.glob("*.unit"))


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_empty_cache_is_filled_with_whole_files(filled):
    assert len(units(filled)) == len(list(filled.iterdir()))


@windows
def test_folder_is_the_users_alone(filled):
    assert stat.S_IMODE(filled.stat().st_mode) == 0o700


def test_warm_cache_imports_neither_numba_nor_scipy(warm):
    before = contents(warm)
    assert use(warm)[1] == []
    assert contents(warm) == before


def test_compiling_is_reproducible(filled, tmp_path):
    use(tmp_path / "cache")
    assert [path.name for path in units(tmp_path / "cache")] == [p.name for p in units(filled)]


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "garbage": lambda content: b"\x7fELF" + bytes(range(256)) * 40,
    "zeros": lambda content: bytes(len(content)),
    "cut to its head": lambda content: content[:43],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "cut by one byte": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "bit in the head": lambda content: flipped(content, 3),
    "bit in the checksum": lambda content: flipped(content, 20),
    "bit in the length": lambda content: flipped(content, 42),
    "bit in the code": lambda content: flipped(content, len(content) // 2),
    "bit at the end": lambda content: flipped(content, len(content) - 1),
}


def test_damaged_files_count_as_absent(filled):
    """Read by the loader itself, so that every kind of damage costs no compile."""
    from numtape.core import cache

    for path in units(filled):
        whole = path.read_bytes()
        assert cache._read(path) is not None
        for kind, damage in DAMAGE.items():
            broken = path.with_suffix(".broken")
            broken.write_bytes(damage(whole))
            try:
                assert cache._read(broken) is None, (path.name, kind)
            finally:
                broken.unlink()


@pytest.mark.parametrize("kind", ["empty", "garbage", "cut in the middle", "bit in the code"])
def test_damaged_files_are_compiled_again(filled, warm, kind):
    damaged = units(warm)[:2] if kind != "garbage" else units(warm)
    for path in damaged:
        path.write_bytes(DAMAGE[kind](path.read_bytes()))
    assert "numba" in use(warm)[1]
    assert {p.name for p in units(warm)} == {p.name for p in units(filled)}
    assert use(warm)[1] == []


def test_missing_symbol_is_noticed(monkeypatch):
    from numtape.core import cache

    assert cache._usable(["sin", "memcpy"])
    assert not cache._usable(["sin", "no_such_symbol_anywhere"])


# Folders that cannot be used.


def test_file_in_the_folders_place(tmp_path):
    place = tmp_path / "cache"
    place.write_text("in the way")
    assert use(place / "below")[0] == 0
    assert "numba" in use(place)[1]
    assert place.read_text() == "in the way"


@windows
def test_folder_open_to_others_is_closed(warm):
    warm.chmod(0o777)
    use(warm)
    assert stat.S_IMODE(warm.stat().st_mode) == 0o700


@windows
def test_folder_of_another_user_is_not_used(warm):
    if os.getuid() == 0:
        os.chown(warm, 12345, 12345)
    else:
        warm = "/"
    before = sorted(os.listdir(warm))
    assert "numba" in use(warm)[1]
    assert sorted(os.listdir(warm)) == before


@windows
def test_read_only_folder_is_read(warm):
    if os.getuid() == 0:
        pytest.skip("root may write anywhere")
    units(warm)[0].unlink()
    warm.chmod(0o500)
    try:
        assert "numba" in use(warm)[1]
    finally:
        warm.chmod(0o700)


def test_folder_that_cannot_be_written_costs_a_compile_only(tmp_path):
    """As a full disk would: every attempt to write fails."""
    full = "import tempfile\ndef no(*_, **__): raise OSError(28, 'full')\ntempfile.mkstemp = no\n"
    assert run(full + USE, NUMTAPE_CACHE_DIR=tmp_path).split()[0] == "0"


# Processes beside each other, and versions after each other.


def test_two_processes_fill_the_same_empty_cache(filled, tmp_path):
    folder = tmp_path / "cache"
    children = [start(USE, NUMTAPE_CACHE_DIR=folder) for _ in range(2)]
    for child in children:
        output(child)
    assert {p.name for p in folder.iterdir()} == {p.name for p in units(filled)}
    assert use(folder)[1] == []


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [("log/rows.py", "STOP = 1", "STOP = 0 + 1"), ("jit.py", "INT64 =", "INT64 = ALIAS =")],
)
def test_changed_kernel_is_compiled_again(warm, tmp_path, module, old, new):
    shutil.copytree(PACKAGE, tmp_path / "numtape", ignore=shutil.ignore_patterns("__pycache__"))
    if not (tmp_path / "numtape" / "kernels").is_dir():
        shutil.copytree(numtape.kernels_folder(), tmp_path / "kernels")
    same = use(warm, folder=tmp_path)
    assert same == (len(units(warm)), [])
    (source,) = (p for p in tmp_path.rglob(module) if "kernels" in p.parts)
    text = source.read_text("utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), "utf-8")
    count, modules = use(warm, folder=tmp_path)
    assert "numba" in modules
    assert count > same[0]


def test_changed_body_of_an_op_is_compiled_again(warm, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "numtape", ignore=shutil.ignore_patterns("__pycache__"))
    if not (tmp_path / "numtape" / "kernels").is_dir():
        shutil.copytree(numtape.kernels_folder(), tmp_path / "kernels")
    source = tmp_path / "numtape" / "core" / "ops" / "elementwise.py"
    text = source.read_text("utf-8")
    assert text.count('"sin(x)"') == 1
    source.write_text(text.replace('"sin(x)"', '"sin(x) + 0.0 * x"'), "utf-8")
    before = len(units(warm))
    count, modules = use(warm, folder=tmp_path)
    assert "numba" in modules
    assert count == before + 1
