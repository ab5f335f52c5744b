r"""A first check of numtape on a GPU: ``python -m benchmarks.gpu.first``.

It runs each step of `benchmarks.gpu.steps` in its own process, so that one failure hides no other,
prints a verdict per step, and writes all results to a JSON file as it goes. It takes at most nine
and a half minutes, including the benchmarks against PyTorch and JAX.

A machine with a GPU often has no network and no persistent storage. Bring the checkout, and the
missing wheels for its Python, as in this example for 3.12::

    pip download --no-deps --only-binary=:all: --python-version 3.12 -d wheels \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
        optree numba-cuda==0.30.4 cuda-core

Install them with ``pip install --no-index --no-deps wheels/*.whl``. For a warm start, also bring a
cache of compiled kernels (``NUMTAPE_CACHE_DIR``); GPU kernels do not depend on the CPU. numba-cuda
needs libNVVM and libdevice from the ``nvidia-nvvm`` wheel or from the toolkit at ``CUDA_HOME``.
Then run two commands in the checkout::

    python -m benchmarks.gpu.first --output first.json
    NUMTAPE_DEVICE=cuda python -m pytest -p no:benchmark

Without a GPU the steps run on a few elements in Numba's simulator
(``NUMTAPE_DEVICE=cuda NUMBA_ENABLE_CUDASIM=1``).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import report

BUDGET = 560.0  # seconds for everything
LONGEST = 100.0  # seconds per step
BENCHMARKS = 330.0  # seconds for the comparison with other libraries
RIGHT, WRONG, NO_ANSWER = "right", "wrong", "no answer"
_ANSWER = "answer: "  # prefix of the facts in a step's output

Found = dict[str, Any]


def steps() -> dict[str, Any]:
    """The checks, in order; see `benchmarks.gpu.steps`."""
    from benchmarks.gpu.steps import STEPS

    return STEPS


def perform(name: str) -> Found:
    """Runs a step in this process. Returns its verdict and facts."""
    begin = time.perf_counter()
    try:
        entries: Found = {"verdict": RIGHT, "facts": steps()[name]()}
    except BaseException as problem:  # the next step has to run in any case
        lines = traceback.format_exception(problem)
        entries = {
            "verdict": WRONG,
            "problem": f"{type(problem).__name__}: {problem}",
            "traceback": "".join(lines)[-3000:],
        }
    return {**entries, "seconds": round(time.perf_counter() - begin, 2)}


def request(name: str, seconds: float) -> Found:
    """Runs a step in its own process, and reports a crash or a timeout as the verdict."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.gpu.first", "--step", name]
    environment = {**os.environ, "NUMTAPE_DEVICE": "cuda"}
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        printed, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        printed, _ = child.communicate()
        entries: Found = {"verdict": NO_ANSWER, "problem": f"none within {seconds:.0f} s"}
    else:
        answers = [line for line in printed.splitlines() if line.startswith(_ANSWER)]
        if answers:
            return dict(json.loads(answers[-1].removeprefix(_ANSWER)))
        entries = {"verdict": WRONG, "problem": f"the process ended with status {child.returncode}"}
    return {
        **entries,
        "traceback": printed[-3000:],
        "seconds": round(time.perf_counter() - begin, 2),
    }


def _one_after_another(
    names: Sequence[str], here: bool, ends: float
) -> Iterator[tuple[str, Found]]:
    for name in names:
        left = ends - time.perf_counter()
        if left < 1:
            yield name, {"verdict": NO_ANSWER, "problem": "no time was left", "seconds": 0.0}
        else:
            yield name, perform(name) if here else request(name, min(LONGEST, left))


def _side_by_side(names: Sequence[str], ends: float, many: int) -> Iterator[tuple[str, Found]]:
    """Runs steps that check correctness only, and so may share the GPU, in parallel."""

    def one(name: str) -> tuple[str, Found]:
        return next(_one_after_another([name], False, ends))

    with ThreadPoolExecutor(many) as pool:
        yield from pool.map(one, names)


def _line(name: str, value: Found) -> str:
    facts = ", ".join(f"{key} {_short(value)}" for key, value in value.get("facts", {}).items())
    return f"{value['verdict']:10} {name:12} {value['seconds']:6.1f} s  " + (
        value.get("problem") or facts
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _benchmarks(output: Path, seconds: float) -> Found:
    """Runs the comparison with other libraries; its JSON file is next to ``output``."""
    if seconds < 20:
        return {"verdict": NO_ANSWER, "problem": "no time was left", "seconds": 0.0}
    begin, file = time.perf_counter(), output.with_name(f"{output.stem}-benchmarks.json")
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--device",
        "cuda",
        "--budget",
        str(min(BENCHMARKS, seconds - 30)),
        "--output",
        str(file),
    ]
    try:
        status = subprocess.run(command, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        status = -1
    return {
        "verdict": RIGHT if status == 0 else WRONG,
        "facts": {"status": status, "file": file.name},
        "seconds": round(time.perf_counter() - begin, 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the steps. Returns the exit status: 0 if every verdict is "right"."""
    parser = argparse.ArgumentParser(description="A first check of numtape on a GPU.")
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/first-<date>.json")
    parser.add_argument("--budget", type=float, default=BUDGET, help="total seconds")
    parser.add_argument("--steps", nargs="+", metavar="STEP", choices=[*steps()], help="only these")
    parser.add_argument("--step", choices=[*steps()], help="run one step (used internally)")
    parser.add_argument("--here", action="store_true", help="run all in this process")
    parser.add_argument("--no-benchmarks", action="store_true", help="run only the steps")
    provided = parser.parse_args(arguments)
    if provided.step:
        print(_ANSWER + json.dumps(perform(provided.step)), flush=True)
        return 0
    ends = time.perf_counter() + provided.budget
    from benchmarks.gpu.steps import ALONE, simulated

    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    name = f"{'simulated-' if simulated() else ''}first-{today}.json"
    output: Path = provided.output or Path(__file__).parents[1] / "results" / name
    names = provided.steps or [*steps()]
    alone = [name for name in names if name in ALONE]
    beside = [name for name in names if name not in ALONE]
    value: dict[str, Any] = {
        "date": today,
        "simulated": simulated(),
        "machine": report.machine(),
        "steps": {},
    }

    def note(name: str, result: Found) -> None:
        value["steps"][name] = result
        print(_line(name, result), flush=True)
        report.write_json(value, output)

    many = 1 if provided.here else max(1, min(6, (os.cpu_count() or 1) // 2))
    first, *others = beside or [None]
    runs = [_one_after_another([first], provided.here, ends)] if first else []
    runs += [
        _one_after_another(others, True, ends)
        if provided.here
        else _side_by_side(others, ends, many)
    ]
    runs += [_one_after_another(alone, provided.here, ends)]
    for run in runs:
        for step, result in run:
            note(step, result)
    if not provided.no_benchmarks:
        note("benchmarks", _benchmarks(output, ends - time.perf_counter()))
    verdicts = [result["verdict"] for result in value["steps"].values()]
    print(f"{verdicts.count(RIGHT)} of {len(verdicts)} right; {output}")
    return int(any(verdict != RIGHT for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
