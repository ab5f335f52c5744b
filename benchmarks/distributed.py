"""Compares data-parallel training and allreduce with mpi4py and with PyTorch's gloo.

``python -m benchmarks.distributed`` prints two tables. Each job of 1, 2 or 4 ranks measures all
libraries in turns, in the same processes. Needs ``pip install "numtape[mpi]"``, and PyTorch for its
columns.

Start reading with `measure`, which every rank runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RANKS = (1, 2, 4)
ELEMENTS = (1, 1_000, 100_000, 1_000_000, 6_000_000)
# Width, number of layers and rows per rank of the models.
MODELS = {"small": (64, 3, 64), "large": (1024, 6, 256)}

Step = Callable[[], Any]


def main() -> None:
    """Measure all numbers of ranks and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of measurements (15)")
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--plot", metavar="FILE", help="draw the model of more ranks")
    parser.add_argument("--rank-output", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_output:
        measure(options.rounds, options.rank_output)
        return
    results = {str(ranks): launch(ranks, options.rounds) for ranks in RANKS}
    print(report(results))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        draw(results, Path(options.plot))


def launch(ranks: int, rounds: int) -> dict[str, Any]:
    """Return what the root of a job measures."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.json")
        command = [sys.executable, "-m", "numtape", "launch", "-n", str(ranks)]
        program = ["-m", "benchmarks.distributed", "--rounds", str(rounds), "--rank-output", path]
        environment = {**os.environ, "NUMTAPE_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, *program], check=True, env=environment)
        return json.loads(Path(path).read_text("utf-8"))  # type: ignore[no-any-return]


def measure(rounds: int, path: str) -> None:
    """Measure this rank in a job. The root writes the medians to a file, in seconds."""
    import numtape as nt

    nt.distribute.init()
    torch_group = _torch_group(nt.distribute.rank(), nt.distribute.size())
    results: dict[str, Any] = {"allreduce": {}, "steps": {}}
    for count in ELEMENTS:
        results["allreduce"][str(count)] = _in_turns(_reductions(count, torch_group), rounds)
    for name, (width, layers, rows) in MODELS.items():
        steps = _numtape_steps(width, layers, rows)
        if torch_group:
            steps["PyTorch"] = _torch_step(width, layers, rows, nt.distribute.size())
        results["steps"][name] = _in_turns(steps, rounds)
    results["timeline"] = _timeline(*MODELS["large"])
    if nt.distribute.rank() == 0:
        Path(path).write_text(json.dumps(results), encoding="utf-8")
    nt.distribute.barrier()


def _in_turns(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Return the median time of each step. All ranks begin each measurement together."""
    import numtape as nt

    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        for _ in range(3):
            step()
    for _ in range(rounds):
        for name, step in steps.items():
            nt.distribute.barrier()
            begin = time.perf_counter()
            for _ in range(4):
                step()
            times[name].append((time.perf_counter() - begin) / 4)
    return {name: statistics.median(values) for name, values in times.items()}


def _torch_group(rank: int, size: int) -> bool:
    """Join PyTorch's gloo group, if PyTorch is installed."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    return True


def _reductions(count: int, torch_group: bool) -> dict[str, Step]:
    """Return functions that add an array of all ranks."""
    from mpi4py import MPI

    import numtape as nt

    source = np.random.default_rng(nt.distribute.rank()).normal(size=count).astype("float32")
    target = np.empty_like(source)
    x = nt.constant(source)
    steps: dict[str, Step] = {
        "numtape": lambda: nt.distribute.allreduce(x, nt.distribute.Sum),
        "mpi4py": lambda: MPI.COMM_WORLD.Allreduce(source, target),
    }
    if torch_group:
        import torch

        tensor = torch.from_numpy(source.copy())
        steps["PyTorch"] = lambda: torch.distributed.all_reduce(tensor.clone())
    return steps


def _weights(width: int, layers: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(width, width)).astype("float32") / width**0.5 for _ in range(layers)]


def _inputs(width: int, rows: int) -> Any:
    import numtape as nt

    rng = np.random.default_rng(1 + nt.distribute.rank())
    return rng.normal(size=(rows, width)).astype("float32")


def _numtape_steps(width: int, layers: int, rows: int) -> dict[str, Step]:
    """Return training steps of numtape, with and without communication and overlap."""
    import numtape as nt

    x = nt.constant(_inputs(width, rows))

    def make(distributed: bool, **options: Any) -> Step:
        variables = [nt.Variable(w) for w in _weights(width, layers)]
        optimizer: Any = nt.keras.optimizers.SGD(0.01)
        if distributed:
            optimizer = nt.distribute.DistributedOptimizer(optimizer, **options)

        @nt.function
        def step(x: Any) -> Any:
            with nt.GradientTape() as tape:
                y = x
                for variable in variables:
                    y = nt.tanh(y @ variable)
                loss = nt.reduce_mean(y * y)
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return loss

        return lambda: float(step(x))

    return {
        "numtape": make(True),
        "numtape, one bucket": make(True, bucket_bytes=1 << 40),
        "numtape, no communication": make(False),
    }


def _torch_step(width: int, layers: int, rows: int, size: int) -> Step:
    import torch

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            weights = [torch.nn.Parameter(torch.from_numpy(w)) for w in _weights(width, layers)]
            self.weights = torch.nn.ParameterList(weights)

        def forward(self, y: Any) -> Any:
            for weight in self.weights:
                y = torch.tanh(y @ weight)
            return (y * y).mean()

    model: Any = torch.nn.parallel.DistributedDataParallel(Model())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.from_numpy(_inputs(width, rows))

    def step() -> float:
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def _timeline(width: int, layers: int, rows: int) -> list[dict[str, Any]]:
    """Return when each transfer of a step was started and done, and the end of the step, in ms."""
    import numtape as nt
    from numtape.distribute.process_group import engine

    step = _numtape_steps(width, layers, rows)["numtape"]
    for _ in range(3):
        step()
    nt.distribute.barrier()
    engine().keep_times = True
    engine().log.clear()
    begin = time.perf_counter()
    step()
    end = time.perf_counter()
    engine().keep_times = False
    entries = [
        {"bytes": nbytes, "times": [1e3 * (t - begin) for t in times]}
        for _, _, nbytes, times in engine().log
    ]
    return [*entries, {"step": 1e3 * (end - begin)}]


def report(results: dict[str, Any]) -> str:
    """Return the tables."""
    lines = ["allreduce of float32, in µs", f"{'ranks':>5} {'elements':>10}"]
    names = [*results[str(RANKS[-1])]["allreduce"]["1"]]
    lines[1] += "".join(f" {name:>10}" for name in names)
    for ranks, result in results.items():
        for count, times in result["allreduce"].items():
            cells = "".join(f" {1e6 * times[name]:>10.0f}" for name in names)
            lines.append(f"{ranks:>5} {int(count):>10,}{cells}")
    lines += ["", "a training step, in ms"]
    for ranks, result in results.items():
        for model, times in result["steps"].items():
            for name, seconds in times.items():
                lines.append(f"{ranks:>5} {model:>6} {name:<26} {1e3 * seconds:>9.2f}")
    lines += ["", "transfers of a step of the large model: start, agreement and end, in ms"]
    for ranks, result in results.items():
        for entry in result["timeline"]:
            if "step" in entry:
                lines.append(f"{ranks:>5} end of the step {entry['step']:>30.1f}")
            else:
                times = "".join(f" {t:>8.1f}" for t in entry["times"])
                lines.append(f"{ranks:>5} {entry['bytes'] / 2**20:>6.1f} MiB {times}")
    return "\n".join(lines)


# Latency in seconds, and bandwidth in bytes per second.
NETWORKS = {
    "10 Gb/s Ethernet": (30e-6, 1.1e9),
    "100 Gb/s InfiniBand": (2e-6, 11e9),
}
REVERSE_SHARE = 2 / 3  # of a step's computation
BUCKETS = 4


def step_seconds(
    ranks: int, compute: float, nbytes: int, latency: float, bandwidth: float, overlaps: bool
) -> float:
    """Return a model of the time of a training step: see the page on several processes.

    Args:
      ranks: The number of ranks.
      compute: The time of a step on one rank, in seconds.
      nbytes: The size of all gradients.
      latency: Of a message, in seconds.
      bandwidth: Of a link, in bytes per second.
      overlaps: Whether buckets travel while the reverse pass computes.
    """
    if ranks == 1:
        return compute
    agreement = math.ceil(math.log2(ranks)) * latency
    ring = 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * nbytes / BUCKETS / bandwidth
    bucket = agreement + ring
    hidden = 0.0
    if overlaps:
        hidden = min((BUCKETS - 1) * bucket, REVERSE_SHARE * compute * (BUCKETS - 1) / BUCKETS)
    return compute + BUCKETS * bucket - hidden


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw the efficiency of a step of the large model: its time on one rank over that on many."""
    from matplotlib.figure import Figure

    from benchmarks.plots import bare, save

    width, layers, _ = MODELS["large"]
    nbytes = 4 * layers * width**2
    compute = results["1"]["steps"]["large"]["numtape"]
    two = results["2"]["allreduce"]
    latency, most = two["1"]["numtape"], ELEMENTS[-1]
    memory = latency, 4 * most / (two[str(most)]["numtape"] - latency)
    drawn = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes = drawn.add_subplot()
    networks = {"shared memory, all cores compute": (*memory, False, 7)}
    networks |= {name: (*values, True, 11) for name, values in NETWORKS.items()}
    for k, (name, (a, b, overlaps, count)) in enumerate(networks.items()):
        ranks = [2**k for k in range(count)]
        times = [step_seconds(n, compute, nbytes, a, b, overlaps) for n in ranks]
        axes.plot(ranks, [100 * compute / t for t in times], color=f"C{k}", label=f"model, {name}")
    measured = {int(n): result["steps"]["large"] for n, result in results.items()}
    efficiency = [100 * m["numtape, no communication"] / m["numtape"] for m in measured.values()]
    axes.plot([*measured], efficiency, "ko", ms=5, label="measured on two cores")
    axes.set(xscale="log", ylim=(0, 105), xlabel="ranks", ylabel="efficiency of a step, %")
    axes.set_title(
        f"{nbytes / 2**20:.0f} MiB of gradients, {1e3 * compute:.0f} ms of computation", fontsize=10
    )
    axes.legend(frameon=False, fontsize=8)
    bare(axes)
    save(drawn, path, "path")


if __name__ == "__main__":
    main()
