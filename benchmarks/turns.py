"""Times libraries in turns; shared by the short comparisons such as ``jacobians``."""

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
SLOW = {"TF eager": 2}  # calls per round, fewer than for other libraries


def _serve(calls_of: Callable[[str], Calls], library: str, pipe: Any) -> None:
    """Time the case and number of calls that each request on the pipe names."""
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
    """Measure the cases and print a table of medians in µs.

    Each library runs in its own process, and the libraries take turns, so that background load
    affects all of them alike.

    Args:
      text: The command's description.
      calls_of: Returns a library's functions, by case; its process calls this.
      libraries: Maps column headings to required packages; missing ones are skipped.
      cases: Maps row titles to the names of the cases.
      count: Calls per round.
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
