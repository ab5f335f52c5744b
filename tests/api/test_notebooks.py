"""Every notebook runs from top to bottom without an exception."""

import shutil
from pathlib import Path

import pytest
from processes import ROOT, environment

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Warnings of Jupyter's packages must not become errors; the notebook itself runs in another
# process. For the same reason the packages are imported inside the tests.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.cpu_only("choose their devices"),
]


def test_there_are_notebooks() -> None:
    """Without notebooks the parametrized tests below would pass silently."""
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_clean(path: Path) -> None:
    """A notebook is valid, its code is complete, and its metadata names no machine."""
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert not cell.metadata
        for output in cell.get("outputs", []):
            assert output.output_type != "error"


# The first two display stored measurements; the others take 5 seconds or more.
LATER = "02_performance", "04_gpu", "03_native_loops", "05_derivatives", "06_training"


RECORDING = ("08_internals",)  # shows recordings of functions


def _marks(path: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] * (path.stem in LATER) + [pytest.mark.records] * (
        path.stem in RECORDING
    )


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=_marks(path)) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell runs, in a kernel of the interpreter that runs this test."""
    for name in ("nbformat", "nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(name)
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    # Run a copy, so that nothing is written next to the originals. The performance notebook
    # reads the benchmarks next to its folder.
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # With no folders to search, python3 means sys.executable; a kernel the user has installed
    # under the same name could be any interpreter.
    manager = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[])
    )
    client = NotebookClient(
        nbformat.read(path, as_version=4),
        km=manager,
        timeout=120,
        resources={"metadata": {"path": str(tmp_path / "notebooks")}},
    )
    # A client that was given its manager leaves the kernel running unless told otherwise.
    client.execute(cleanup_kc=True)
