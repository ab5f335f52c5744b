"""``python -m numtape cache warm`` compiles what most programs need first."""

import importlib

import pytest
from processes import run

import numtape
from numtape import warm
from numtape.__main__ import main
from numtape.core.compile import cache

pytestmark = pytest.mark.numtape_only("numtape's cache")

# Native loops depend on the program. Kernels of LAPACK are for decompositions of many matrices.
PROGRAMS_OWN = {"calls", "lapack"}


def modules_with_kernels():
    folder = numtape.kernels_folder() / "cpu"
    names = [path.stem for path in sorted(folder.glob("*.py"))]
    return [name for name in names if "KERNELS" in (folder / f"{name}.py").read_text("utf-8")]


def test_all_kernels_are_compiled():
    jobs = [name for name, _ in warm.jobs(["float32"])]
    compiled = {name.partition(" ")[0] for name in jobs}
    compiled |= {"random." + name.split()[1] for name in jobs if name.startswith("random ")}
    for module in {*modules_with_kernels()} - PROGRAMS_OWN:
        kernels = importlib.import_module(f"numtape.kernels.cpu.{module}").KERNELS
        prefix = "" if module == "arrays" else f"{module}."
        assert {prefix + name for name in kernels} <= compiled


def test_names_of_jobs_say_which_failed():
    names = [name for name, _ in warm.jobs(["float32", "float64"])]
    assert "Sin float64" in names
    assert len(names) < 500


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder."""
    folder = tmp_path / "cache"
    folder.mkdir(0o700)
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(folder))
    return folder


def test_processes_fill_the_cache_and_report_failures(place, monkeypatch, capsys):
    jobs = list(warm.jobs(["float32"]))
    monkeypatch.setattr(warm, "jobs", lambda dtypes: iter(jobs[:0]))
    assert main(["cache", "warm"]) == 0
    numbers = {name: number for number, (name, _) in enumerate(jobs)}
    monkeypatch.setattr(warm, "jobs", lambda dtypes: iter([*jobs, ("unknown", None)]))
    failures = []
    warm._drive(
        ["float32"], iter([numbers["Sin float32"], len(jobs), numbers["Cos float32"]]), failures
    )
    assert failures == ["unknown"]
    assert [path.name[:8] for path in place.glob("lane_*")] == ["lane_Sin"]


def test_folder_that_cannot_be_written_to_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(cache, "writable", lambda: False)
    assert main(["cache", "warm"]) == 1
    assert "cannot be written to" in capsys.readouterr().err


FIT = """
import logging
logging.basicConfig(level="INFO", format="%(message)s", handlers=[logging.FileHandler("{log}")])
import numpy as np
import numtape as tf

layers = tf.keras.layers
model = tf.keras.Sequential([
    layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
rng = np.random.default_rng(0)
x, y = rng.standard_normal((64, 12, 12, 1)).astype("f"), rng.integers(0, 10, 64)
model.fit(x, y, batch_size=32, verbose=0)
"""


@pytest.mark.slow
def test_a_network_finds_everything_compiled(place, tmp_path):
    assert main(["cache", "warm", "--processes", "2"]) == 0
    log = tmp_path / "log"
    run(FIT.replace("{log}", str(log)), NUMTAPE_CACHE_DIR=str(place))
    assert "Compiled" not in log.read_text("utf-8")
