"""The README: its examples run, its links and paths exist, its table is up to date.

Each Python block that a text block follows is run, and must print that text.
"""

import itertools
import json
import re
import subprocess
import sys
import textwrap

import pytest
from processes import ROOT, run

from numtape.core.cpython.frames import unsupported_reason

pytestmark = [
    pytest.mark.numtape_only("about numtape's own text"),
    pytest.mark.cpu_only("examples show what the CPU computes"),
]

README = (ROOT / "README.md").read_text(encoding="utf-8")
RECIPES = ROOT / ".github" / "CONTRIBUTING.md"
PAGES = [ROOT / "README.md", RECIPES, *sorted((ROOT / "numtape").rglob("*.md"))]
EXAMPLES = re.findall(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")


def test_each_example_shows_what_it_prints():
    assert len(EXAMPLES) == README.count("```python") == README.count("```text") >= 4


@pytest.mark.parametrize("example", range(len(EXAMPLES)))
def test_example_prints_its_text(example, capsys, tmp_path):
    """Words and integers must match exactly, floats up to rounding."""
    code, shown = EXAMPLES[example]
    if "tracing_count" in code and unsupported_reason():
        pytest.skip(unsupported_reason())
    program = tmp_path / "example.py"  # a file, because kernels need their source
    program.write_text(code, encoding="utf-8")
    exec(compile(code, str(program), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    for found, expected in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        assert float(found) == pytest.approx(float(expected), rel=1e-3, abs=0.011)


def test_first_example_fits_the_first_screen():
    code, shown = EXAMPLES[0]
    assert len(code.splitlines()) <= 12
    assert len(shown.splitlines()) <= 6
    losses = [float(word) for word in re.findall(r"loss (\S+)", shown)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 100 * losses[-1]


def test_commands_of_a_new_user():
    """The commands are those that CI runs."""
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in (
        "pip install . && python -m numtape demo",
        'pip install ".[test]" && pytest -n auto',
    ):
        assert command in README
        assert f"\n{command}\n" in ci
        before = ci.partition(f"\n{command}\n")[0]
        assert not re.search(r"^\s*(export )?(NUMTAPE|XDG|NUMBA)_\w+=", before, re.MULTILINE)


def headings(text):
    """GitHub's anchors of a page's headings."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            assert linked.exists(), target
            if anchor:
                assert anchor in headings(linked.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    """Paths in the texts, relative to the root, or in the core's page to `numtape`."""
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:numtape|kernels|core|tests|notebooks)/[\w/.]+)`", text):
        assert (ROOT / path).exists() or (ROOT / "numtape" / path).exists(), path


def test_table_is_the_newest_result(monkeypatch):
    """Written by ``python -m benchmarks --readme``, and narrow enough for GitHub."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import tables

    newest = max((ROOT / "benchmarks" / "results").glob("cpu-*.json"))
    table = tables.readme_table(json.loads(newest.read_text(encoding="utf-8")))
    assert f"{tables.BEGIN}\n{table}\n{tables.END}" in README
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert [len(line) for line in lines] == [7] * 7
    widths = [max(len(line[column].strip("*")) for line in lines) for column in range(7)]
    assert 8.5 * sum(widths) + 27 * len(widths) < 830  # pixels, as GitHub sets it


def test_ratios_of_the_plot(monkeypatch):
    """Eager libraries are compared with eager numtape, the others with replays."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import plots

    medians = {"numtape": 2.0, "nt.function": 1.0, "PyTorch": 6.0, "JAX jit": 4.0}
    columns = {heading: {"median": median} for heading, median in medians.items()}
    result = {"cases": {"long_chain": {"columns": columns}, "import_only": {"columns": columns}}}
    found = plots.ratios(result)
    assert found == {"PyTorch": {"long_chain": 3.0}, "JAX jit": {"long_chain": 4.0}}
    axes = plots.peers(result).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["PyTorch", "JAX, jit"]
    assert [text.get_text() for text in axes.texts] == ["long chain 3", "long chain 4"]


def test_results_are_drawn_again(tmp_path):
    """``--redraw`` uses an earlier result and measures nothing."""
    pytest.importorskip("matplotlib")
    newest = max((ROOT / "benchmarks" / "results").glob("cpu-*.json"))
    readme = tmp_path / "README.md"
    readme.write_text("<!-- benchmarks:begin -->\n<!-- benchmarks:end -->\n")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks",
            "--redraw",
            newest,
            "--readme",
            readme,
            "--output",
            tmp_path / "new.json",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert "| 100 scalar ops |" in readme.read_text()
    drawn = sorted(path.name for path in tmp_path.rglob("*.svg"))
    assert drawn == ["new-elements.svg", "new-rows.svg", "new-steps.svg", "peers.svg"]


def test_apart(monkeypatch):
    """Labels that would overlap are moved, others are not."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.plots import _apart

    assert _apart([0.0, 10.0], [4.0, 4.0]) == [0.0, 10.0]
    moved = _apart([0.0, 1.0, 2.0], [4.0, 4.0, 4.0])
    for left, right in itertools.pairwise(moved):
        assert right - left == pytest.approx(4.0, abs=1e-3)


def test_recipe_of_an_op_on_arrays(tmp_path):
    """Its code runs in the modules that it names: values, the kernel, derivatives."""
    text = RECIPES.read_text(encoding="utf-8")
    found = re.findall(r"<!-- ring_mean: (\S+) -->\n *```python\n(.*?)\n *```", text, re.DOTALL)
    parts = [(module, textwrap.dedent(code)) for module, code in found]
    assert len(parts) == 2
    script = (
        f"parts = {parts!r}"
        + """
import importlib, logging, sys
import numpy as np
import numtape as tf
from numtape.core.derive import batching
from numtape.kernels.cpu import along

for module, code in parts:
    code = "from __future__ import annotations\\n" + code
    exec(code, vars(importlib.import_module(module)))
along.KERNELS["ring_mean"] = along.ring_mean
batching.RULES["RingMean"] = batching._axis_rule
logging.basicConfig(level="INFO", stream=sys.stdout)
ring_mean = importlib.import_module("numtape.core.ops.along_axis").ring_mean
for axis in (0, 1):
    x = np.random.default_rng(0).normal(size=(3, 4))
    expected = (np.roll(x, 1, axis) + x + np.roll(x, -1, axis)) / 3
    np.testing.assert_allclose(ring_mean(x.astype("f4"), axis), expected, rtol=1e-5, atol=1e-6)
    tf.testing.check_grads(lambda x: ring_mean(x, axis) ** 3, [x], order=3)
"""
    )
    assert "Compiled array_along_ring_mean_float32" in run(script, NUMTAPE_CACHE_DIR=str(tmp_path))
