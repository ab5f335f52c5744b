"""Installation: every folder of the package, the kernels inside it, and nothing else."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from processes import ROOT, environment, run

pytestmark = [
    pytest.mark.numtape_only("builds the package"),
    pytest.mark.cpu_only("the same on each device"),
]

PROJECT = ROOT / "pyproject.toml"
SETTINGS = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["setuptools"]
DATA = ("numtape/py.typed", "numtape/datasets/digits.npz", "numtape/datasets/README.md")
USE = """
import sys, numtape as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x * x
assert float(tape.gradient(y, x)) == 6.0
import numtape.kernels.passes.rows
from numtape.datasets import load_digits
assert len(load_digits()[0]) == 1797
assert "kernels" not in sys.modules
print(tf.__file__)
"""


def packages_in(folder, name):
    """Names of the packages under the folder of the package `name`."""
    for path in sorted(folder.rglob("__init__.py")):
        yield ".".join([name, *path.parent.relative_to(folder).parts])


def test_every_package_is_listed():
    found = {*packages_in(ROOT / "numtape", "numtape")}
    found |= {*packages_in(ROOT / "kernels", "numtape.kernels")}
    assert sorted(SETTINGS["packages"]) == sorted(found)


def test_every_folder_with_source_is_a_package():
    for top in ("numtape", "kernels"):
        for path in (ROOT / top).rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), path.relative_to(ROOT)


def test_import_makes_no_top_level_kernels():
    assert run("import sys, numtape; print('kernels' in sys.modules)") == "False"


def test_numtape_works_from_a_bare_checkout(tmp_path):
    copied(tmp_path)
    where = run(USE, folder=tmp_path)
    assert where == str(tmp_path / "numtape" / "__init__.py")


def test_kernels_folder_is_the_checkouts_sibling(tmp_path):
    copied(tmp_path)
    found = run("import numtape; print(numtape.kernels_folder())", folder=tmp_path)
    assert found == str(tmp_path / "kernels")


@pytest.mark.slow
def test_wheel_from_sdist_is_complete_and_works_by_itself(tmp_path):
    sdist = setuptools("build_sdist", copied(tmp_path / "source"), tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = setuptools("build_wheel", unpacked, tmp_path / "wheel")
    assert wheel.name.endswith("-py3-none-any.whl")

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    expected = {f"numtape/{name}" for name in sources(ROOT / "numtape")}
    expected |= {f"numtape/kernels/{name}" for name in sources(ROOT / "kernels")}
    assert {name for name in names if name.endswith(".py")} == expected
    assert set(DATA) <= names
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"numtape"}

    where = run(USE, folder=tmp_path / "site")
    assert where == str(tmp_path / "site" / "numtape" / "__init__.py")


def sources(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}


def copied(target):
    """A copy of the checkout without ignored files."""
    target.mkdir(exist_ok=True)
    for name in ("numtape", "kernels"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, target)
    if not (target / "README.md").exists():
        (target / "README.md").write_text("numtape\n")
    return target


def setuptools(step, source, target):
    """Build with the backend directly, without a network or a build environment."""
    pytest.importorskip("setuptools")
    target.mkdir()
    script = f"import sys, setuptools.build_meta as b; print(b.{step}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(target)],
        cwd=source,
        env=environment(
            source, SOURCE_DATE_EPOCH=os.environ.get("SOURCE_DATE_EPOCH", "1700000000")
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]
