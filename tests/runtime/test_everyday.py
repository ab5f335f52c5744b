"""Everyday workloads: eager numtape and replays agree on tiny inputs; the harness, its report."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.everyday import report, run
from benchmarks.everyday.case import as_is
from benchmarks.everyday.cases import CASES
from benchmarks.everyday.process import EAGER, HEADINGS, JAX, REPLAYED, TORCH
from benchmarks.everyday.server import LARGE, EverydayServer, difference, sample

pytestmark = [pytest.mark.numtape_only("a benchmark"), pytest.mark.cpu_only("a benchmark")]
ROOT = Path(__file__).resolve().parents[2]
KINDS = {workload.kind: name for name, workload in CASES.items()}


@pytest.mark.parametrize("name", KINDS.values())
def test_replays_agree_with_eager_steps(name):
    case = CASES[name].make(tiny=True)
    results = []
    for build in case.builders("numtape").values():
        step = build()
        repeats = [case.compared(step()) for _ in range(max(3, case.checked_steps))]
        results.append([sample(array) for arrays in repeats for array in arrays])
    assert results[0]
    assert difference(results[1], results[0]) <= case.allowed_difference()


def test_each_workload_has_every_library_that_can_run_it():
    assert len(CASES) > 70
    for name, workload in CASES.items():
        assert hasattr(workload.kind, "torch"), name
        if not workload.kind.__module__.endswith("data") and name != "fit_64_batches":
            assert hasattr(workload.kind, "jax"), name


def test_a_large_array_is_compared_by_a_sample():
    x = np.arange(2.0 * LARGE)
    whole, part = sample(x[:LARGE]), sample(x)
    assert len(whole) == LARGE
    assert len(part) < LARGE
    assert difference([part], [sample(x + 1.0)]) > 0
    assert len(sample(np.ones(3, np.complex64))) == 6
    assert difference([np.array([1.0, np.nan])], [np.array([1.0, 2.0])]) == np.inf
    assert difference([np.ones(2)], [np.ones(3)]) == np.inf


def test_a_mismatch_fails_the_workload(monkeypatch):
    """It is reported, and the workload is not timed."""
    right, wrong = {"first": 0.1, "results": [np.ones(2)]}, {"first": 0.1, "results": [np.zeros(2)]}

    class Workers:
        def call(self, library, method, *arguments):
            assert method == "prepare"
            return {h: wrong if h == REPLAYED else right for h in HEADINGS[library]}

    case = run.measure("sort_1m", ["numtape", "torch"], Workers(), 2, tiny=True)
    assert case["columns"] == {}
    assert case["errors"] == {REPLAYED: "differs from PyTorch by 1.0e+00"}


def test_a_server_prepares_and_times_both_ways():
    server = EverydayServer("numtape")
    outcome = server.prepare("sabr_100k", True)
    assert outcome.keys() == {EAGER, REPLAYED}
    assert outcome[EAGER]["first"] > 0
    assert all(t > 0 for t in server.batch(REPLAYED, run.TINY_BATCH))
    assert as_is(server) is server


RESULT = {
    "threads": {
        "1": {
            name: {
                "columns": {
                    h: {"minimum": t / 2, "median": t} for h, t in zip(columns, times, strict=True)
                },
                "errors": {},
            }
            for name, columns, times in (
                ("a", (EAGER, REPLAYED, TORCH, JAX), (4e-3, 1e-3, 2e-3, 4e-3)),
                ("b", (EAGER, REPLAYED, TORCH), (4e-3, 8e-3, 1e-3)),
            )
        }
        | {"c": {"columns": {}, "errors": {JAX: "differs from PyTorch by 1.0e+00"}}}
    },
    "first": {"a": {"numtape, empty": 1.5}},
    "memory": {"a": {"numtape": 12.0}},
}


def test_the_report_compares_with_the_best_peer(tmp_path):
    text = report.plain(RESULT)
    rows = [line.split() for line in text.splitlines()]
    assert ["a", "4", "ms", "1", "ms", "2", "ms", "4", "ms", "0.5"] in rows
    assert ["b", "4", "ms", "8", "ms", "1", "ms", "\N{EN DASH}", "8", "*"] in rows
    assert "over the best peer: geometric mean 2.00 of 2; 1 at most 1.0, 1 above 1.2" in text
    assert "c, JAX jit: differs from PyTorch" in text
    assert ["a", "1.5", "s"] in rows
    assert ["a", "12.0", "MiB"] in rows
    table = report.markdown(RESULT)
    assert "| a | 4 ms | 1 ms | 2 ms | 4 ms | 0.5 |" in table
    assert "- nt.function over the best peer: geometric mean 2.00 of 2" in table
    assert "| a | 12.0 MiB |" in table
    pytest.importorskip("matplotlib")
    report.draw(RESULT, tmp_path / "ratios.svg")
    assert (tmp_path / "ratios.svg").stat().st_size > 1000


def test_an_interrupted_run_keeps_the_workloads_that_were_done(tmp_path, monkeypatch):
    output = tmp_path / "part.json"

    def measure(name, *_):
        if name == "top_k_1000x1000":
            raise KeyboardInterrupt
        return {"columns": {}, "errors": {}}

    monkeypatch.setattr(run, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        run.main(["--cases", "sort_1m,top_k_1000x1000", "--json", str(output)])
    assert list(json.loads(output.read_text())["threads"]["1"]) == ["sort_1m"]


@pytest.mark.slow
def test_the_command_writes_json(tmp_path):
    command = [sys.executable, "-m", "benchmarks.everyday", "--tiny", "--rounds", "1"]
    options = ["--cases", "sabr_100k,sort_1m", "--libraries", "numtape", "--first", "--memory"]
    output = tmp_path / "result.json"
    done = subprocess.run(
        [*command, *options, "--json", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    assert result["threads"]["1"].keys() == {"sabr_100k", "sort_1m"}
    assert result["first"]["sort_1m"].keys() == {
        f"{heading}, {cache}" for heading in (EAGER, REPLAYED) for cache in ("empty", "warm")
    }
    assert result["memory"]["sort_1m"].keys() == {EAGER, REPLAYED}
