"""The benchmark harness runs and writes complete results; the figures are not checked."""

import contextlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from log_queries import computed
from processes import run

from benchmarks import libs, measure, run as main, tables, training
from benchmarks.cases import CASES

pytestmark = pytest.mark.cpu_only("the harness chooses the device")
ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.slow
def test_quick_run_writes_json_and_readme(tmp_path: Path) -> None:
    """One case, one library: the result is complete, and the tables are replaced."""
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
    assert column["first_step"] > column["min"]

    floors = case["roofline"]
    assert floors["bytes"] == 8
    assert floors["operations"] == 0
    assert floors["calls"] == {"sin": 50, "cos": 50}
    assert floors["floor"] < column["median"]

    rewritten = readme.read_text()
    head = "| time a step | numtape | replayed |\n| --- | ---: | ---: |\n| 100 scalar ops |"
    assert rewritten.startswith(f"above\n<!-- benchmarks:begin -->\n{head}")
    assert rewritten.endswith("<!-- benchmarks:end -->\nbelow\n")
    assert "old" not in rewritten
    assert done.stdout.count(case["title"]) == 2
    if importlib.util.find_spec("matplotlib"):
        assert (output.parent / "result-steps.svg").read_text().startswith("<?xml")
        assert (output.parents[1] / "benchmarks/results/peers.svg").exists()


@pytest.mark.thorough
def test_memory_and_scaling(tmp_path: Path) -> None:
    """The measurements in fresh workers, and their plots."""
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
    """The error comes before any measurement and leaves the file unchanged."""
    readme = tmp_path / "README.md"
    readme.write_text("no place for a table\n")
    done = _run("--cases", "scalar_chain", "--readme", readme)
    assert done.returncode == 2
    assert "benchmarks:begin" in done.stderr
    assert readme.read_text() == "no place for a table\n"


@pytest.mark.parametrize("name", ["black_scholes", "long_chain"])
def test_formula_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When numtape's step of a formula returns, all results are computed and correct."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import inputs
    from benchmarks.libs.numtape_ import variants

    data = getattr(inputs, name)(10_000)
    for variant in variants(data).values():
        for _ in range(2):
            results = variant.step()
            assert all(computed(result) for result in results)
            observed = data.compute_observed(results, [])
            assert inputs.relative_error(observed, data.compute_expected()) < 1e-4


SMALL_PROGRAMS = {
    "asian_option": (50, 64),
    "small_solves": (5, 3),
    "lstm_step": (3, 4, 3, 5),
    "convolution_step": (2, 7, (1, 2, 3)),
    "hessian": (5,),
    "jacobian": (5,),
}


# Libraries that compile with XLA or as C++ take too long for a test.
QUICK_LIBRARIES = ("numtape", "torch", "autograd", "drjit", "casadi", "warp", "mlx")
LEFT_OUT = {
    ("autograd", "convolution_step"),
    ("drjit", "small_solves"),
    ("drjit", "convolution_step"),
    ("drjit", "hessian"),
    ("casadi", "convolution_step"),
    ("warp", "small_solves"),
    ("warp", "lstm_step"),
    ("warp", "convolution_step"),
    ("warp", "hessian"),
    ("mlx", "small_solves"),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch's, by its own function
@pytest.mark.parametrize("library", QUICK_LIBRARIES)
@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_programs_are_right(name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variant matches the result derived by hand, or the library is left out with a reason."""
    monkeypatch.syspath_prepend(ROOT)
    pytest.importorskip(libs.LIBRARIES[library].package)
    from benchmarks import inputs, programs

    data = getattr(programs, name)(*SMALL_PROGRAMS[name])
    module = importlib.import_module(f"benchmarks.libs.{library}_")
    if (library, name) in LEFT_OUT:
        with pytest.raises(libs.LeftOut, match="no "):
            module.variants(data)
        return
    found = module.variants(data)
    assert set(found) <= set(libs.LIBRARIES[library].headings)
    for variant in found.values():
        for _ in range(2):
            observed = data.compute_observed(variant.step(), [])
            assert inputs.relative_error(observed, data.compute_expected()) < 1e-5
    assert data.work().traffic > 0


@pytest.mark.parametrize("name", ["asian_option", "lstm_step", "convolution_step"])
def test_programs_by_hand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directional derivatives of the formulas by hand match differences of values."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import programs

    data = getattr(programs, name)(*SMALL_PROGRAMS[name])
    random = np.random.default_rng(0)
    points, fixed = ([x.astype(float) for x in xs] for xs in (data.inputs, data.constants))
    along = [random.normal(size=x.shape) for x in points]
    value, *gradients = data.by_hand(*points, *fixed)
    high, low = (
        data.by_hand(*(x + h * d for x, d in zip(points, along, strict=True)), *fixed)[0]
        for h in (1e-6, -1e-6)
    )
    slope = sum(np.vdot(g, d) for g, d in zip(gradients, along, strict=True))
    assert slope == pytest.approx((high - low) / 2e-6, rel=1e-5)
    assert value > 0


def test_work_of_the_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step has one product forward, two in reverse, and none for the gradient of its input."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import inputs

    work = inputs.large_net().work()
    layers = ((784, 512, 2), (512, 512, 3), (512, 10, 3))
    assert work.products == sum(2 * 256 * i * o * times for i, o, times in layers)
    assert work.calls == {"exp": 2560, "log": 256}
    assert inputs.small_net().work().calls == {"tanh": 32 * 128}


def _on_gpu(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--device", "cuda"]
        + [str(argument) for argument in arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_gpu_run_in_the_simulator(tmp_path: Path) -> None:
    """The whole run up to the JSON; peers without a GPU are named, and no goal is judged."""
    output = tmp_path / "result.json"
    done = _on_gpu(
        "--quick",
        "--cases",
        "long_chain",
        "softmax",
        "gather",
        "--libraries",
        "numtape",
        "torch",
        "--output",
        output,
        NUMBA_ENABLE_CUDASIM="1",
        CUDA_VISIBLE_DEVICES="",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    assert result["schema"] == 1
    assert result["device"] == "cuda"
    assert result["simulated"] is result["quick"] is True
    assert result["gpu"]["name"] == "Numba's simulator"
    assert list(result["skipped"]) == ["torch"]
    assert result["columns"] == ["numtape", "nt.function"]
    assert result["ceilings"].keys() == {"copy", "float32", "tf32", "float64"}
    assert result["overheads"].keys() == {"launch", "replay of one kernel"}
    assert {"python", "numba", "numtape"} <= result["versions"].keys()
    assert str(ROOT) not in output.read_text()

    assert list(result["cases"]) == ["long_chain", "softmax", "gather"]
    for case in result["cases"].values():
        assert case["errors"] == {}
        assert {goal["met"] for goal in case["goals"]} == {None}
        for column in case["columns"].values():
            assert column["median"] > 0
            assert column["first_step"] > 0
            assert column["relative_error"] < 1e-4
            assert column["kernels"] >= 1
            assert column["peak_bytes"] > case["roofline"]["bytes"] / 2
    replayed = result["cases"]["long_chain"]["columns"]["nt.function"]
    assert replayed["difference"] == 0
    assert result["cases"]["long_chain"]["roofline"]["bytes"] == 4 * 4 * 43 + 4
    assert "SIMULATED" in done.stdout
    if importlib.util.find_spec("matplotlib"):
        plots = {path.name for path in tmp_path.glob("*.svg")}
        assert plots == {"result-rates.svg", "result-steps.svg"}


@pytest.mark.slow
def test_gpu_run_without_time(tmp_path: Path) -> None:
    """Cases beyond the budget are reported, not measured."""
    output = tmp_path / "result.json"
    done = _on_gpu("--budget", 0, "--cases", "sum", "--output", output, NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stderr
    assert str(output) in done.stderr
    result = json.loads(output.read_text())
    assert "numtape: sum" in result["left_out"]
    assert result["cases"]["sum"]["columns"] == {}


def test_gpu_run_without_gpu() -> None:
    """The error states why no GPU can be used, and nothing is measured."""
    done = _on_gpu(NUMBA_ENABLE_CUDASIM="0", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert "NUMTAPE_DEVICE=cpu" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [("--readme",), ("--cases", "import_only")])
def test_gpu_run_refuses_what_is_for_the_cpu(arguments: tuple[str, ...]) -> None:
    done = _on_gpu(*arguments)
    assert done.returncode == 2
    assert "error: " in done.stderr


def test_simulated_results_are_marked_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebook and the README search for cuda-*.json only."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.gpu.run import default_output

    assert default_output("2030-01-02", False).match("cuda-2030-01-02.json")
    assert not default_output("2030-01-02", True).match("cuda-*")


def test_results_of_a_folder_that_cannot_be_written_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Results go to the folder for temporary files instead."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import report

    monkeypatch.setattr(report.os, "access", lambda path, mode: True)
    assert report.default_output("a.json") == ROOT / "benchmarks" / "results" / "a.json"
    monkeypatch.setattr(report.os, "access", lambda path, mode: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert report.default_output("a.json") == tmp_path / "numtape-benchmarks" / "a.json"


@pytest.mark.slow
@pytest.mark.parametrize("library", ["numtape", "torch", "jax"])
def test_gpu_steps_are_right(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, each library matches the result derived by hand, twice in a row."""
    monkeypatch.syspath_prepend(ROOT)
    # By default JAX preallocates most of a GPU's memory, but other tests run in parallel.
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    pytest.importorskip(library)
    from benchmarks.gpu.cases import CASES
    from benchmarks.gpu.libs import LIBRARIES
    from benchmarks.gpu.worker import GpuCaseServer

    module = importlib.import_module(f"benchmarks.gpu.libs.{library}_")
    monkeypatch.setattr(module, "CUDA", "cpu", raising=False)
    served = GpuCaseServer(library)
    library_class = getattr(module, LIBRARIES[library].class_name)
    served._library = library_class.__new__(library_class)  # skips the check for a GPU
    for case in CASES.values():
        data = case.data("tiny" if library == "jax" else "small").for_check()
        for make in served.library.steps(data).values():
            error = served._check(case, data, make())["relative_error"]
            assert error < 1e-4, case.name


def test_a_wrong_gpu_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step with an error slightly above rounding is not timed."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.gpu.cases import CASES
    from benchmarks.gpu.libs import BenchmarkStep
    from benchmarks.gpu.worker import GpuCaseServer

    case = CASES["sum_rows"]
    data = case.data("tiny")
    served = GpuCaseServer("numtape")
    served._library = SimpleNamespace(fetch=np.asarray)
    right = data.compute_expected()[0]
    assert served._check(case, data, BenchmarkStep(lambda: [right]))["relative_error"] == 0
    with pytest.raises(ArithmeticError, match="off by"):
        served._check(case, data, BenchmarkStep(lambda: [right * 1.001]))


def test_gpu_steps_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fast steps are timed in batches, slow ones singly; a variant's exception is its outcome."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.gpu import libs
    from benchmarks.gpu.cases import CASES
    from benchmarks.gpu.inputs import Data
    from benchmarks.gpu.worker import LONG, GpuCaseServer
    from benchmarks.worker import Batch

    counts: list[int] = []

    class Fake(libs.GpuLibrary):
        taken = 0.01

        def allow_tensor_float(self, allowed: bool) -> None:
            pass

        def steps(self, data: Data) -> dict[str, Callable[[], libs.BenchmarkStep]]:
            right = lambda: libs.BenchmarkStep(data.compute_expected)  # noqa: E731
            return {
                "right": right,
                "wrong": lambda: libs.BenchmarkStep(lambda: [0 * data.compute_expected()[0]]),
            }

        def seconds(self, run: Callable[[], object], count: int) -> float:
            counts.append(count)
            return self.taken * count

        def fetch(self, array: np.ndarray, most: int | None = None) -> np.ndarray:
            return array if most is None else array.reshape(-1)[-most:]

        def free(self) -> None:
            pass

        def peak(self) -> int:
            return 7

    served = GpuCaseServer("numtape")
    served._library = Fake()
    work, outcome = served.measure("sum_rows", "small", Batch(1e-9, 5, 60.0))
    assert work.traffic == CASES["sum_rows"].data("small").work().traffic
    assert outcome["wrong"] == {"failed": "a step is off by 1.0e+00"}
    right = outcome["right"]
    assert counts == [1] + 5 * [4]
    assert right["times"] == pytest.approx(5 * [0.01])
    assert right["peak"] == 7
    assert right["kernels"] is None
    assert [tail.shape for tail in right["tails"]] == [(64,)]

    counts.clear()
    Fake.taken = 2 * LONG
    served.measure("sum_rows", "small", Batch(0.1, 5, 1e-9))
    assert counts == [1, 1, 1]  # limited by patience


def test_bytes_that_gpu_steps_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each input is read once, and each result written once."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.gpu import inputs

    n = 1_000
    assert inputs.long_chain(n).moved == 4 * (2 * n + 2 * n + 1)
    assert inputs.black_scholes(n, "float32").moved == 4 * 11 * n
    assert inputs.black_scholes(n, "float64").moved == 8 * 11 * n
    assert inputs.total(20, 30, None).moved == 4 * (600 + 1)
    assert inputs.total(20, 30, 1).moved == 4 * (600 + 20)
    assert inputs.total(20, 30, 0).moved == 4 * (600 + 30)
    assert inputs.softmax(20, 30, False).moved == 4 * 2 * 600
    assert inputs.softmax(20, 30, True).moved == 4 * 4 * 600
    assert inputs.layer_norm(20, 30, True).moved == 4 * (4 * 600 + 4 * 30)
    gather = inputs.gather(50, 8)
    rows = np.unique(gather.inputs[1]).size
    assert rows < 50
    assert gather.moved == 4 * (rows * 8 + 50 + 50 * 8)
    assert inputs.scatter_add(50, 8).moved == 4 * (2 * 50 * 8 + 50)
    assert inputs.asian(4, 6).moved == 0
    large = inputs.long_chain(2 * inputs.BLOCK + 3).inputs[0]
    assert (large[:3] == large[-3:]).all()  # a block, repeated


def test_gpu_floors_and_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor is bytes or products at a measured rate; goals need all of their figures."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.cases import BEST_PEER, Limit
    from benchmarks.gpu import result
    from benchmarks.gpu.cases import FLOOR, OWN
    from benchmarks.inputs import MinimalWork
    from benchmarks.report import goals
    from benchmarks.tables import TIMES

    rates = result.best({"copy": {"one": 3e12, "two": 4e12}, "tf32": {"one": 4e14}, "float64": {}})
    assert rates == {"copy": 4e12, "tf32": 4e14}
    found = result.floors(MinimalWork(8_000_000_000, 0, {}, "float32"), False, rates)
    assert found["floor"] == found["floor_memory"] == 2e-3
    assert found["floor_products"] is None
    found = result.floors(MinimalWork(4_000_000, 4 * 10**12, {}, "float32"), True, rates)
    assert found["floor"] == found["floor_products"] == 1e-2
    found = result.floors(MinimalWork(0, 4 * 10**12, {}, "float32"), False, rates)
    assert found["floor"] is None

    limits = (Limit(1.25, FLOOR, "nt.function"), Limit(1.0, "JAX jit", "nt.function"))
    medians = {"numtape": 9.0, "nt.function": 2.4, "PyTorch": 8.0, "JAX jit": 2.5}
    (goal,) = goals(limits, medians, "s", OWN, {FLOOR: 2.0})
    assert goal["text"] == f"≤ 1.25 {TIMES} floor, JAX jit"
    assert goal["met"] is True
    (goal,) = goals(limits, medians, "s", OWN, {FLOOR: 1.9})
    assert goal["met"] is False
    (goal,) = goals(limits, {"nt.function": 2.4}, "s", OWN, {FLOOR: 2.0})
    assert goal["met"] is None
    # Neither a floor nor numtape's columns count as a peer.
    best = (Limit(1.0, BEST_PEER, "numtape"),)
    ours = {"numtape": 2.0, "atomics": 1.0}
    for peer, met in ((1.9, False), (2.1, True)):
        (goal,) = goals(best, {**ours, "JAX jit": peer}, "s", OWN, {FLOOR: 0.5})
        assert goal["met"] is met


def test_gpu_result_compares_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library with deviating results has no figure; the other figures make a table."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.gpu import result, tables
    from benchmarks.gpu.measure import Found
    from benchmarks.inputs import MinimalWork
    from benchmarks.report import ReportRow

    row = ReportRow()
    for heading, seconds in (("nt.function", 1.0), ("PyTorch", 3.0), ("JAX jit", 2.0)):
        row.samples[heading] = [[seconds, seconds]]
        row.details[heading] = {"first_step": 5.0, "peak_bytes": 2e9, "relative_error": 1e-6}
    found = Found({"sum": row}, works={"sum": MinimalWork(8_000_000_000, 0, {}, "float32")})
    one = np.ones(3)
    found.tails["sum"] = {"nt.function": [one], "PyTorch": [one + 1e-6], "JAX jit": [one * 1.01]}
    found.gpus = {name: {"name": "GPU", "clock": "events"} for name in ("numtape", "torch", "jax")}
    found.ceilings = {"copy": {"PyTorch": 1e10}}
    found.left_out = ["torch.compile: sum"]
    about = {"date": "today", "quick": False, "simulated": False, "driver": None, "versions": {}}
    whole = result.collect(found, ["numtape", "torch", "jax", "torch.compile"], about)

    case = whole["cases"]["sum"]
    assert case["columns"].keys() == {"nt.function", "PyTorch"}
    assert case["errors"] == {"JAX jit": "differs from nt.function by 1.0e-02"}
    assert case["columns"]["PyTorch"]["difference"] == pytest.approx(1e-6)
    assert case["roofline"]["floor"] == 0.8
    assert case["columns"]["nt.function"]["of_floor"] == 0.8
    assert {goal["column"]: goal["met"] for goal in case["goals"]} == {
        "numtape": None,
        "nt.function": True,
    }
    assert whole["columns"] == ["nt.function", "PyTorch"]
    json.dumps(whole, allow_nan=False)
    floors = tables.markdown_floors(whole)
    assert "| 8 GB | 8 GB/s | 800 ms | 80 % | 5 s | 2 GB | 2 GB |" in floors
    assert "Left out over budget: torch.compile: sum" in tables.markdown_cases(whole)


def test_a_timer_of_the_gpu() -> None:
    """Events are recorded in the stream, awaited and destroyed; the time is in seconds."""
    from numtape.core.cuda.runtime import resources
    from numtape.core.cuda.runtime.driver import CudaTimer

    calls: list[tuple[object, ...]] = []

    class Device:
        _driver = SimpleNamespace(CUevent_flags=SimpleNamespace(CU_EVENT_DEFAULT=0))
        stream = "stream"

        def enter_context(self) -> contextlib.AbstractContextManager[None]:
            return contextlib.nullcontext()

        def _do(self, name: str, *arguments: object) -> object:
            calls.append((name, *arguments))
            return {"cuEventCreate": len(calls), "cuEventElapsedTime": 1.5}.get(name)

    timer = CudaTimer(Device())  # type: ignore[arg-type]
    timer.begin()
    assert timer.end() == 1.5e-3
    del timer
    resources.let_go()
    assert calls == [
        ("cuEventCreate", 0),
        ("cuEventCreate", 0),
        ("cuEventRecord", 1, "stream"),
        ("cuEventRecord", 2, "stream"),
        ("cuEventSynchronize", 2),
        ("cuEventElapsedTime", 1, 2),
        ("cuEventDestroy", 1),
        ("cuEventDestroy", 2),
    ]


@pytest.mark.gpu
def test_a_timer_on_a_gpu() -> None:
    """The time of the events is positive, and at most that of the host's clock."""
    script = (
        "import time, numtape as tf\n"
        "from numtape.core.cuda.runtime.device import device\n"
        "x = tf.random.normal((1000, 1000))\n"
        "(x @ x).numpy()\n"
        "timer, start = device().timer(), time.perf_counter()\n"
        "timer.begin()\n"
        "(x @ x).numpy()\n"
        "print(0 < timer.end() <= time.perf_counter() - start)\n"
    )
    assert run(script, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM=None) == "True"


def test_the_networks_of_training_are_the_same_in_each_library():
    epoch, accuracy = training.keras_training("numtape", "dense", 1)
    for _ in range(4):
        history = epoch().history
    assert history["loss"][0] < 0.5
    assert accuracy() > 0.85
    if importlib.util.find_spec("torch"):
        epoch, accuracy = training.torch_training("dense", 1)
        assert all(epoch() < 2.4 for _ in range(4))
        assert accuracy() > 0.85


def test_libraries_beyond_the_usual_are_asked_for() -> None:
    """``--peers all`` adds them, each with its own module and column."""
    assert main._arguments([]).libraries == list(libs.USUAL)
    assert main._arguments(["--peers", "all"]).libraries == list(libs.LIBRARIES)
    headings = [heading for library in libs.LIBRARIES.values() for heading in library.headings]
    assert len(set(headings)) == len(headings)
    for name in libs.LIBRARIES:
        assert (ROOT / "benchmarks" / "libs" / f"{name}_.py").is_file()
    assert main._arguments(["--libraries", "drjit"]).libraries == ["drjit"]


def test_long_tables_have_a_row_a_library() -> None:
    """Related cases share a table; the README's table has only the cases in ``SHORT``."""
    names = ["scalar_chain", "lstm", "hessian_50", "hessian_200"]
    times = {"median": 2e-3, "ratio": 2.0, "first_step": 1.5}
    cases = {
        name: {"title": name, "unit": "s", "errors": {}, "columns": {"PyTorch": times}}
        for name in names
    }
    cases["lstm"] |= {"left_out": {"Warp": "no layers"}, "errors": {"JAX jit": "off by 1"}}
    machine = {"cpu": "one", "cores": 1, "memory_gib": 1, "os": "x"}
    result = {
        "columns": ["PyTorch", "JAX jit", "Warp"],
        "cases": cases,
        "versions": {},
        "machine": machine,
        "device": "cpu",
        "date": "",
        "quick": False,
    }
    row = f"| PyTorch | 2 ms (2{tables.TIMES}) |"
    first, more, third, why, _ = tables.markdown_cases(result).split("\n\n")
    assert first.splitlines() == [
        "| a step | scalar_chain |",
        "| --- | ---: |",
        row,
    ]
    assert more.splitlines()[2:] == [row, "| JAX jit | failed |"]
    assert why == "- lstm: Warp left out, no layers"
    assert third.splitlines()[0] == "| a step | hessian_50 | hessian_200 |"
    assert len(tables.readme_table(result).splitlines()) == 3

    first, *_ = tables.markdown_first(result).split("\n\n")
    assert first.splitlines() == [
        "| the first step | scalar_chain |",
        "| --- | ---: |",
        "| PyTorch | 1.5 s |",
    ]


def test_each_step_has_its_place_in_the_long_tables() -> None:
    placed = [name for names in tables.TOGETHER for name in names]
    assert placed == [name for name, case in CASES.items() if case.kind == "step"]


def test_a_library_that_is_left_out_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker continues, and the result contains the reason."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.worker import CaseServer

    def left_out(data: object) -> None:
        raise libs.LeftOut("no layers")

    served = CaseServer("numtape")
    monkeypatch.setattr(served, "make", left_out)
    outcome = served.prepare("lstm")
    assert outcome.keys() == set(libs.LIBRARIES["numtape"].headings)
    assert {str(reason) for reason in outcome.values()} == {"no layers"}

    class Workers:
        def __getitem__(self, library: str) -> object:
            return SimpleNamespace(call=lambda *request: outcome)

    row = measure.time_steps(
        CASES["lstm"], ["numtape"], Workers(), measure.Settings(1, True, "cpu")
    )
    assert row.left_out == dict.fromkeys(outcome, "no layers")
    assert row.errors == row.samples == {}
