"""Mutation testing: change the package in one place at a time, and check whether tests fail.

    python tests/support/mutants.py [--what rules|bodies|functions|passes ...] [--shard K/N]
                                    [--limit N]

Mutants change derivative rules and scalar bodies (in the records of ops), the functions that
bodies call, and the passes. Each change is made in a copy of the package, and a separate process
runs the related tests. A mutant that no test detects is printed as `survived`: either a test is
missing, or the mutant is equivalent and belongs in `EQUIVALENT`, with the reason. `too long` means
that the tests exceeded `--seconds`, possibly because the machine was busy. The exit status is the
number of survivors, at most 100.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from equivalent_mutants import EQUIVALENT
from mutations import KINDS, ROOT, Mutant, all_mutants, top_of

# For ops, the rows of the table of ops come first.
MORE_OF_OPS = (
    "ops/test_nn",
    "derive/test_gradient",
    "derive/test_higher_order",
    "derive/test_extreme_derivatives",
)
MORE_OF_FUNCTIONS = ("runtime/test_vector_math",)
PASSES = (
    "test_tiny",
    "derive/test_gradient",
    "runtime/test_plans",
    "runtime/test_log",
    "derive/test_tape_memory",
    "derive/test_tape",
    "derive/test_higher_order",
    "replay/test_function",
    "replay/test_function_gradients",
    "runtime/test_random_programs",
    "api/test_control_flow",
    "derive/test_guides",
)
# Replaces these tests for modules of other subjects.
TESTS = {
    "kernels/cpu/random.py": ("ops/test_random",),
    "kernels/cpu/fused.py": ("runtime/test_fusion", "replay/test_function"),
    "kernels/cpu/reduce.py": ("ops/test_ops", "runtime/test_passes"),
    "kernels/cpu/arrays.py": ("ops/test_ops", "runtime/test_passes"),
    "kernels/cpu/scalar.py": ("ops/test_ops", "runtime/test_passes"),
    "kernels/cpu/sweep.py": (
        "test_tiny",
        "derive/test_tape",
        "ops/test_ops",
        "runtime/test_plans",
        "runtime/test_threads",
    ),
    "kernels/passes/guards.py": (
        "replay/test_observe",
        "replay/test_function",
        "replay/test_function_guards",
    ),
}
# The tests of a row that run a rule or a body, fastest first.
OF_RULES = (
    "test_derivatives",
    "test_third_derivatives",
    "test_gradient_in_float32",
    "test_no_gradient",
)
OF_BODIES = ("test_value", "test_value_at_special_points", *OF_RULES, "test_value_is_exact")
ROWS = 8  # rows of the op table per mutant: those with the fewest ops


class Trial:
    """A pytest plugin that runs the collected tests on each mutant, in a child of this process.

    The package and the tests are imported and collected once. The child changes an op's record in
    memory, or a kernel in its file before compilation. Damage by a mutant ends with its child.
    """

    def __init__(self, mutants: list[Mutant], seconds: float, trust: bool) -> None:
        self.mutants, self.seconds, self.trust = mutants, seconds, trust
        self.tally: Counter[str] = Counter()
        self.reached: dict[str, list[str]] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the mutants instead of running the tests once."""
        if any(mutant.ops for mutant in self.mutants):
            self.reached = json.loads(in_child(reached, 600.0))
        self.files: dict[str, list[Any]] = {}
        for item in session.items:
            name = item.path.relative_to(session.config.rootpath / "tests").with_suffix("")
            self.files.setdefault(name.as_posix(), []).append(item)
        if not self.trust:
            chosen = {item for mutant in self.mutants for item in self.items(mutant)}
            items = [item for item in session.items if item in chosen]
            if failed := in_child(lambda: run_tests(items), 3600.0):
                sys.exit(f"{failed} where nothing is changed")
        for mutant in self.mutants:
            noticed = self.noticed(mutant)
            said = {"": "survived", "time": "too long"}.get(noticed, "killed")
            self.tally[f"{mutant.kind} {said}"] += 1
            print(f"{said:8} {mutant.path}:{mutant.line} {mutant.name} [{noticed}]", flush=True)
        return True

    def items(self, mutant: Mutant) -> list[Any]:
        """The tests related to a mutant: rows of the op table first, simplest first."""
        rest = [item for name in files(mutant) for item in self.files.get(name, ())]
        if not mutant.ops:
            return rest
        reached = {row: ops for row, ops in self.reached.items() if set(ops) & set(mutant.ops)}
        rows = {row: k for k, row in enumerate(sorted(reached, key=lambda row: len(reached[row])))}
        tests = OF_RULES if mutant.kind == "rules" else OF_BODIES
        found = []
        for item in self.files["ops/test_ops"]:
            row = parameter(item, "case")
            if any(item.name.startswith(f"test_{op.lower()}_") for op in mutant.ops):
                found.append((ROWS, 0, item))  # tests of this op without a row
            if row and rows.get(row.name, ROWS) < ROWS and item.originalname in tests:
                found.append((rows[row.name], tests.index(item.originalname), item))
        found.sort(key=lambda entry: entry[:2])
        of_others = set(self.reached) - set(rows)
        rest = [item for item in rest if parameter(item, "name") not in of_others]
        return [item for *_, item in found] + rest

    def noticed(self, mutant: Mutant) -> str:
        """What detected a mutant: a test's name, "crash" or "time"; "" if nothing did."""
        path, items = Path(mutant.path), self.items(mutant)
        source = path.read_bytes()
        changed = source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
        path.write_bytes(changed)

        def run() -> str:
            if mutant.ops:
                try:
                    enter(mutant, changed)
                except Exception as error:
                    return f"{type(error).__name__} at import"
            return run_tests(items)

        try:
            return in_child(run, self.seconds)
        finally:
            path.write_bytes(source)


def parameter(item: Any, name: str) -> Any:
    """The value of a test's parameter."""
    return getattr(getattr(item, "callspec", None), "params", {}).get(name)


def files(mutant: Mutant) -> tuple[str, ...]:
    """The test files related to a mutant, in addition to the rows of the op table."""
    if mutant.ops:
        return MORE_OF_OPS
    if mutant.kind == "functions":
        return MORE_OF_FUNCTIONS
    return TESTS.get(mutant.path, PASSES)


def enter(mutant: Mutant, changed: bytes) -> None:
    """Apply a mutant's source to the record of an op."""
    from numtape.core.log.op import CODES

    module = importlib.import_module(mutant.path.removesuffix(".py").replace("/", "."))
    scope = vars(module)
    ops = [op for op in CODES.ops if op.name in mutant.ops]
    if mutant.kind == "bodies":
        found = [op for op in ops if op.body == mutant.before]
        for op in found:
            op.body = mutant.after
    else:
        rule = next(node for node in ast.walk(ast.parse(changed)) if top_of(node) == mutant.top)
        if isinstance(rule, ast.Lambda):
            found = [op for op in ops if op.vjp and op.vjp.__code__.co_firstlineno == rule.lineno]
            vjp = eval(compile(ast.Expression(rule), mutant.path, "eval"), scope)
        else:
            before = scope[rule.name]
            found = [op for op in ops if op.vjp is before]
            future = ast.parse("from __future__ import annotations").body
            exec(compile(ast.Module([*future, rule], []), mutant.path, "exec"), scope)
            vjp = scope[rule.name]
        for op in found:
            op.vjp = vjp
        found = found or ops  # else a function that rules call
    if not found:
        sys.exit(f"no record of {mutant.name}")


def reached() -> str:
    """The ops that each row of the table executes."""
    import log_queries
    import op_cases
    import op_draws

    import numtape

    found: dict[str, set[str]] = {}
    for row in op_cases.CASES:
        with log_queries.fresh_log():  # without rows of other tests
            ops = op_draws.ops_of(numtape, row)
        found.setdefault(row.name, set()).update(op.name for op in ops)
    return json.dumps({name: sorted(ops) for name, ops in found.items()})


class First:
    """A pytest plugin that stores the name of the first failed test."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def run_tests(items: list[Any]) -> str:
    """The first failing test, or ""."""
    first = First()
    if items:
        items[0].config.pluginmanager.register(first)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if first.name:
            break
    return first.name


def in_child(function: Callable[[], str], seconds: float) -> str:
    """The result of a function in a forked child, or "crash" or "time"."""
    answers, answer = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(answers)
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        try:
            os.write(answer, b"=" + function().encode())
        finally:
            os._exit(0)
    os.close(answer)
    end, found = time.monotonic() + seconds, b""
    try:
        while ready := bool(select.select([answers], [], [], max(0, end - time.monotonic()))[0]):
            if not (part := os.read(answers, 1 << 16)):
                break
            found += part
            if len(part) < 1 << 16 and not found.startswith(b"={"):
                break
    finally:
        os.close(answers)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)  # including processes that tests started
        os.waitpid(child, 0)
    return found[1:].decode() if found else "crash" if ready else "time"


def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--what", choices=KINDS, action="append", help="default: rules and bodies")
    parser.add_argument("--shard", default="0/1", metavar="K/N", help="every N-th, from K on")
    parser.add_argument("--limit", type=int, help="so many, chosen at random")
    parser.add_argument("--seed", type=int, default=0, help="of that choice")
    parser.add_argument(
        "--only",
        action="append",
        metavar="TEXT",
        help="those whose name contains this, equivalent ones too",
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of a mutant")
    parser.add_argument("--list", action="store_true", help="print them; try none")
    parser.add_argument("--cache", type=Path, help="a folder of kernels that stays")
    parser.add_argument("--trust", action="store_true", help="do not try the unchanged package")
    return parser.parse_args(arguments)


def chosen(asked: argparse.Namespace) -> list[Mutant]:
    """The mutants selected by the command line."""
    kinds = tuple(asked.what or (KINDS if asked.only else KINDS[:2]))
    found = all_mutants(kinds)
    if asked.only:
        found = [mutant for mutant in found if any(text in mutant.name for text in asked.only)]
    else:
        found = [mutant for mutant in found if mutant.name not in EQUIVALENT]
    if asked.limit is not None:
        found = random.Random(asked.seed).sample(found, min(asked.limit, len(found)))
    shard, count = map(int, asked.shard.split("/"))
    return found[shard::count]


def main(arguments: list[str] | None = None) -> int:
    asked = options(arguments)
    mutants = chosen(asked)
    if asked.list:
        print(*(f"{mutant.kind}: {mutant.name}" for mutant in mutants), sep="\n")
    if asked.list or not mutants:
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        trial = Trial(mutants, asked.seconds, asked.trust)
        try:
            in_copy(trial, Path(scratch, "copy"), asked.cache or Path(scratch, "cache"))
        finally:
            os.chdir(ROOT)
    print(", ".join(f"{count} {name}" for name, count in sorted(trial.tally.items())))
    return min(sum(n for name, n in trial.tally.items() if name.endswith("survived")), 100)


def in_copy(trial: Trial, folder: Path, cache: Path) -> None:
    """Collect the tests in a copy of the package, and run them in `Trial`."""
    for name in ("numtape", "kernels", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["NUMTAPE_CACHE_DIR"] = str(cache.absolute())
    sys.dont_write_bytecode = True
    sys.path[:1] = [str(folder)]  # replaces this file's folder
    os.chdir(folder)
    import pytest

    # Import the slow compiler modules once, not in every child.
    for name in ("llvmlite.binding", "mpmath", "numba.core.compiler"):
        importlib.import_module(name)
    needed = sorted({name for mutant in trial.mutants for name in files(mutant)})
    needed = [*(["ops/test_ops"] if any(x.ops for x in trial.mutants) else []), *needed]
    arguments = [
        "-o",
        "addopts=",
        "-s",
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--assert=plain",
    ]
    status = pytest.main(
        [*arguments, *dict.fromkeys(f"tests/{name}.py" for name in needed)], plugins=[trial]
    )
    if status:
        sys.exit(f"pytest ended with {status!r}")


if __name__ == "__main__":
    sys.exit(main())
