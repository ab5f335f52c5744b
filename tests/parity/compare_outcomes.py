"""Compare the outcomes of TensorFlow's tests with TensorFlow and with numtape.

See `tensorflow_binding` for how to write the files that this script reads.
"""

import collections
import fnmatch
import sys
from pathlib import Path


def read(path):
    rows = (line.split("\t") for line in Path(path).read_text("utf-8").splitlines())
    return {name: (outcome, message) for outcome, name, message in rows}


def compare(reference, ours, reasons=None):
    """Print how many applicable tests pass, and those that fail without a stated reason."""
    expected, results = read(reference), read(ours)
    patterns = []
    if reasons is not None:
        lines = Path(reasons).read_text("utf-8").splitlines()
        patterns = [line.split()[0] for line in lines if line and line[0] not in "# "]
    applicable = [name for name, (outcome, _) in expected.items() if outcome == "passed"]
    counts = collections.defaultdict(lambda: [0, 0, 0])
    failing = []
    for name in applicable:
        outcome, message = results.get(name, ("absent", "not collected"))
        if "private names" in message:
            continue
        folder = str(Path(name.partition("::")[0]).parent)
        is_stated = any(fnmatch.fnmatchcase(name, f"*{pattern}") for pattern in patterns)
        counts[folder][0] += outcome == "passed"
        counts[folder][1] += 1
        counts[folder][2] += outcome != "passed" and is_stated
        if outcome != "passed" and not is_stated:
            failing.append((name, message))
    for name, message in failing:
        print(f"{name}\n    {message}")
    for folder, (passed, total, stated) in sorted(counts.items()):
        print(f"{folder}: {passed} / {total} pass, {stated} fail with a stated reason")
    passed = sum(row[0] for row in counts.values())
    total = sum(row[1] for row in counts.values())
    print(f"{passed} of {total} applicable tests pass ({passed / total:.1%})")


if __name__ == "__main__":
    compare(*sys.argv[1:])
