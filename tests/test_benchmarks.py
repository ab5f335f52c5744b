"""The harness runs: what it measures is not looked at here, only what it writes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from counting import computed

ROOT = Path(__file__).resolve().parents[1]


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--libraries", "numtape"]
        + [str(argument) for argument in arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_quick_run_writes_json_and_readme(tmp_path: Path) -> None:
    """One case, one library: every part of the result is there, and the tables replaced."""
    output, readme = tmp_path / "new" / "result.json", tmp_path / "README.md"
    readme.write_text("above\n<!-- benchmarks:begin -->\nold\n<!-- benchmarks:end -->\nbelow\n")
    done = _run("--cases", "scalar_chain", "--output", output, "--readme", readme)
    assert done.returncode == 0, done.stderr

    text = output.read_text()
    result = json.loads(text)
    assert result["schema"] == 3
    assert result["device"] == "cpu"
    assert result["quick"] is True
    assert result["skipped"] == []
    assert {"cpu", "cores", "memory_gib", "os"} <= result["machine"].keys()
    assert {"python", "numpy", "numtape"} <= result["versions"].keys()
    assert result["scaling"] == {}
    assert str(ROOT) not in text

    rates = result["rates"]
    assert all(rates[r] > 1e8 for r in ("copy_one_thread", "copy_all_threads", "products"))
    assert rates["calls"].keys() == {"float32", "float64"}
    assert {"exp", "erf", "sin"} <= rates["calls"]["float32"].keys()

    assert list(result["cases"]) == ["scalar_chain"]
    case = result["cases"]["scalar_chain"]
    assert case["unit"] == "s"
    assert case["errors"] == {}
    eager, replayed = case["goals"]
    assert eager["text"] == "≤ 120 µs, 1/10 PyTorch, 1/50 TF eager"
    assert replayed == {"column": "nt.function", "text": "≤ 15 µs, 1/2 JAX jit", "met": None}
    assert case["columns"].keys() == {"numtape", "nt.function", "jit_compile"}
    column = case["columns"]["numtape"]
    assert 0 < column["min"] <= min(column["median"], column["p25"])
    assert column["p25"] <= column["p75"]
    assert len(column["rounds"]) == result["rounds"]
    assert column["repeats"] >= result["rounds"]
    assert column["ratio"] == 1
    assert column["relative_error"] < 1e-4

    floors = case["roofline"]
    assert floors["bytes"] == 8
    assert floors["operations"] == 0
    assert floors["calls"] == {"sin": 50, "cos": 50}
    assert floors["floor"] < column["median"]

    rewritten = readme.read_text()
    head = "| case | numtape | nt.function | jit_compile | not fused | goal | met |"
    assert rewritten.startswith(f"above\n<!-- benchmarks:begin -->\n{head}")
    assert rewritten.endswith("<!-- benchmarks:end -->\nbelow\n")
    assert "old" not in rewritten
    assert "| time / floor |" in rewritten
    assert rewritten.count(case["title"]) == 2
    assert done.stdout.count(case["title"]) == 2
    if importlib.util.find_spec("matplotlib"):
        assert (output.parent / "result-steps.svg").read_text().startswith("<?xml")


def test_memory_and_scaling(tmp_path: Path) -> None:
    """What runs in fresh workers, and the plots that come of it."""
    output = tmp_path / "result.json"
    done = _run("--cases", "memory_large_net", "--scaling", "--output", output)
    assert done.returncode == 0, done.stderr

    result = json.loads(output.read_text())
    case = result["cases"]["memory_large_net"]
    assert case["unit"] == "MiB"
    assert case["goals"] == [{"column": "numtape", "text": "≤ PyTorch", "met": None}]
    assert case["columns"]["numtape"]["median"] > 0
    assert "roofline" not in case
    assert result["rates"] == {}

    scaling = result["scaling"]
    assert [point["elements"] for point in scaling["elements"]] == [10_000, 100_000]
    assert all(point["seconds"] > 0 for point in scaling["elements"])
    assert [point["rows"] for point in scaling["rows"]] == [100, 1_000]
    assert all(point["record"] > 0 for point in scaling["rows"])
    assert scaling["threads"].keys() == {"black_scholes", "long_chain"}
    plots = {path.name for path in tmp_path.glob("*.svg")}
    if importlib.util.find_spec("matplotlib"):
        assert plots == {"result-elements.svg", "result-rows.svg"}


def test_readme_without_markers_is_refused(tmp_path: Path) -> None:
    """Before anything is measured, and without touching the file."""
    readme = tmp_path / "README.md"
    readme.write_text("no place for a table\n")
    done = _run("--cases", "scalar_chain", "--readme", readme)
    assert done.returncode == 2
    assert "benchmarks:begin" in done.stderr
    assert readme.read_text() == "no place for a table\n"


@pytest.mark.parametrize("name", ["black_scholes", "long_chain"])
def test_formula_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When numtape's step of a formula returns, all of its results are computed and right."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import inputs
    from benchmarks.libs.numtape_ import variants

    data = getattr(inputs, name)(10_000)
    for variant in variants(data).values():
        for _ in range(2):
            results = variant.step()
            assert all(computed(result) for result in results)
            observed = data.observed(results, [])
            assert inputs.relative_error(observed, data.expected()) < 1e-4


def test_work_of_the_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The products of a step: one forward, two back, and none for the gradient by its input."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import inputs

    work = inputs.large_net().work()
    layers = ((784, 512, 2), (512, 512, 3), (512, 10, 3))
    assert work.products == sum(2 * 256 * i * o * times for i, o, times in layers)
    assert work.calls == {"exp": 2560, "log": 256}
    assert inputs.small_net().work().calls == {"tanh": 32 * 128}
