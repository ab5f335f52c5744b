"""Change the package in one place at a time, and see whether the tests notice.

    python tests/support/mutants.py [--what rules|bodies|functions|passes ...] [--shard K/N]
                                    [--limit N]

What is changed: rules of derivatives and scalar bodies (in the records of ops), the functions
that bodies call, and the passes. Each change is made in a copy of the package, and a process of
its own runs the tests that concern it. A mutant that no test notices is printed as `survived`:
either a test is missing, or it computes the same, which `EQUIVALENT` then says, with the reason.
`too long` says that the tests did not end in `--seconds`, which a busy machine may be the reason
of. The exit status is the number of survivors, at most 100.
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
# Instead, for modules that are about something else.
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
# The tests of a row in which a rule, or a body, has a part; the quickest first.
OF_RULES = (
    "test_derivatives",
    "test_third_derivatives",
    "test_gradient_in_float32",
    "test_no_gradient",
)
OF_BODIES = ("test_value", "test_value_at_special_points", *OF_RULES, "test_value_is_exact")
ROWS = 8  # of the table of ops, for one mutant: those that reach the fewest ops


class Trial:
    """A pytest plugin that runs the collected tests on each mutant, in a child of this process.

    The package and the tests are imported and collected once. An op's record is changed in the
    child, a kernel in its file, before it is compiled. What a mutant spoils ends with its child.
    """

    def __init__(self, mutants: list[Mutant], seconds: float, trust: bool) -> None:
        self.mutants, self.seconds, self.trust = mutants, seconds, trust
        self.tally: Counter[str] = Counter()
        self.reached: dict[str, list[str]] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of running the tests once."""
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
        """The tests that concern a mutant; rows of the table of ops first, the simplest first."""
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
                found.append((ROWS, 0, item))  # about this op, without a row
            if row and rows.get(row.name, ROWS) < ROWS and item.originalname in tests:
                found.append((rows[row.name], tests.index(item.originalname), item))
        found.sort(key=lambda entry: entry[:2])
        of_others = set(self.reached) - set(rows)
        rest = [item for item in rest if parameter(item, "name") not in of_others]
        return [item for *_, item in found] + rest

    def noticed(self, mutant: Mutant) -> str:
        """What noticed a mutant: a test's name, "crash", "time"; "" if nothing did."""
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
    """What a test is parametrized with under a name."""
    return getattr(getattr(item, "callspec", None), "params", {}).get(name)


def files(mutant: Mutant) -> tuple[str, ...]:
    """The test files that concern a mutant, besides the rows of the table of ops."""
    if mutant.ops:
        return MORE_OF_OPS
    if mutant.kind == "functions":
        return MORE_OF_FUNCTIONS
    return TESTS.get(mutant.path, PASSES)


def enter(mutant: Mutant, changed: bytes) -> None:
    """Change the record of an op as its changed source says."""
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
        found = found or ops  # a function that rules call
    if not found:
        sys.exit(f"no record of {mutant.name}")


def reached() -> str:
    """The ops that each row of the table reaches."""
    import log_queries
    import op_cases
    import op_draws

    import numtape

    found: dict[str, set[str]] = {}
    for row in op_cases.CASES:
        with log_queries.fresh_log():  # which has no rows of others
            ops = op_draws.ops_of(numtape, row)
        found.setdefault(row.name, set()).update(op.name for op in ops)
    return json.dumps({name: sorted(ops) for name, ops in found.items()})


class First:
    """A pytest plugin that keeps the name of the first test that failed."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def run_tests(items: list[Any]) -> str:
    """The first of these tests that fails; "" if none does."""
    first = First()
    if items:
        items[0].config.pluginmanager.register(first)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if first.name:
            break
    return first.name


def in_child(function: Callable[[], str], seconds: float) -> str:
    """What a function returns in a forked child; "crash" or "time" if it does not."""
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
            os.killpg(child, signal.SIGKILL)  # and what the tests started
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
    """The mutants that the command line names."""
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
    """Collect the tests in a copy of the package, and have the trial run them."""
    for name in ("numtape", "kernels", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["NUMTAPE_CACHE_DIR"] = str(cache.absolute())
    sys.dont_write_bytecode = True
    sys.path[:1] = [str(folder)]  # in the place of this file's folder
    os.chdir(folder)
    import pytest

    # What compiles takes long to import: once, not in every child.
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
