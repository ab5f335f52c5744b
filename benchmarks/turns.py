"""Libraries that take turns: what the shorter comparisons have in common."""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

Calls = dict[str, Callable[[], Any]]

ROUNDS = 15
SLOW = {"TF eager": 2}  # calls of a round, where others make more


def _serve(calls_of: Callable[[str], Calls], library: str, pipe: Any) -> None:
    """Time what the pipe asks for: the name of a case, and how many calls."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    calls = calls_of(library)
    while (asked := pipe.recv()) is not None:
        name, count = asked
        times = []
        for _ in range(count if name in calls else 0):
            start = time.perf_counter()
            calls[name]()
            times.append(time.perf_counter() - start)
        pipe.send(times)


def compare(
    text: str,
    calls_of: Callable[[str], Calls],
    libraries: dict[str, str],
    cases: dict[str, str],
    count: int,
) -> None:
    """Measure, and print a table of medians in µs.

    Each library has its own process, and the libraries take turns, so that a busy moment of
    the machine is one for all of them.

    Args:
      text: The command's description.
      calls_of: Returns a library's functions, by case; its process calls this.
      libraries: The columns, and the package that each needs; missing ones are left out.
      cases: The rows, and the names of their cases.
      count: Calls a round.
    """
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    context = multiprocessing.get_context("spawn")
    pipes = {}
    for library, package in libraries.items():
        if importlib.util.find_spec(package) is not None:
            pipes[library], other = context.Pipe()
            context.Process(target=_serve, args=(calls_of, library, other), daemon=True).start()
    print("| case |", " | ".join(pipes), "|")
    print("| --- |", " | ".join("---:" for _ in pipes), "|")
    for title, case in cases.items():
        times: dict[str, list[float]] = {library: [] for library in pipes}
        for k in range(rounds + 1):  # the first one compiles and warms up
            for library, pipe in pipes.items():
                pipe.send((case, SLOW.get(library, count)))
                value = pipe.recv()
                times[library] += value if k else []
        medians = [
            f"{1e6 * statistics.median(times[library]):.4g}" if times[library] else ""
            for library in pipes
        ]
        print(f"| {title} |", " | ".join(medians), "|", flush=True)
    for pipe in pipes.values():
        pipe.send(None)
