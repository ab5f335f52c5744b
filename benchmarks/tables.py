"""Tables of a result, for the terminal, the notebook and the README."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, OURS, REPLAYED

NOTHING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
UNSTEADY = 1.5
BEGIN = "<!-- benchmarks:begin -->"
END = "<!-- benchmarks:end -->"
PLOT = Path("benchmarks/results/peers.svg")

# The steps of the README's table and of the plots, with their short names.
SHORT = {
    "scalar_chain": "100 scalar ops",
    "small_net": "small network",
    "large_net": "large network",
    "black_scholes": "Black-Scholes",
    "long_chain": "long chain",
}
SHOWN = {
    OURS: "numtape",
    REPLAYED: "replayed",
    "tf.function": "TensorFlow",
    "PyTorch": "PyTorch",
    "JAX jit": "JAX",
    "autograd": "autograd",
}

# The steps of the long tables, one group per table.
TOGETHER = (
    tuple(SHORT),
    ("asian", "solves", "lstm", "convolution"),
    ("hessian_50", "hessian_200", "jacobian_50", "jacobian_200"),
)

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_OPERATIONS = ((1e9, "Gflop"), (1e6, "Mflop"), (1e3, "kflop"), (1.0, "flop"))


def three(value: float) -> str:
    """Formats three digits, without an exponent."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def scale(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    """Formats three digits with the largest unit that does not exceed the value."""
    scale, name = next((s for s in scales if value >= s[0]), scales[-1])
    return f"{three(value / scale)} {name}"


def figure(value: float, unit: str) -> str:
    """Formats three digits with a suitable multiple of ``unit``."""
    if unit == "MiB":
        return f"{value:.1f} MiB"
    return scale(value, _SECONDS)


def _cell(case: dict[str, Any], heading: str) -> str:
    if heading in case["errors"]:
        return "failed"
    if heading not in case["columns"]:
        return NOTHING
    column = case["columns"][heading]
    text = figure(column["median"], case["unit"])
    if heading == OURS or "ratio" not in column:
        return text
    return f"{text} ({three(column['ratio'])}{TIMES})"


def rows(result: dict[str, Any]) -> Iterator[list[str]]:
    """Yields the lines of the table of all cases, the header first."""
    headings = result["columns"]
    yield ["case", *headings, "goal", "met"]
    for case in result["cases"].values():
        goals = case["goals"]
        met = "; ".join({True: "yes", False: "no", None: NOTHING}[goal["met"]] for goal in goals)
        text = "; ".join(
            goal["text"] if goal["column"] == OURS else f"{goal['column']} {goal['text']}"
            for goal in goals
        )
        cells = [_cell(case, heading) for heading in headings]
        yield [case["title"], *cells, text, met]


def _floors(result: dict[str, Any]) -> Iterator[list[str]]:
    """Yields the lines of the table of floors, or nothing if no step was measured."""
    steps = [case for case in result["cases"].values() if "roofline" in case]
    if steps:
        columns = ("bytes", "copied in", "flops", "in products", "calls in", "time / floor")
        yield ["case", OURS, *columns]
    for case in steps:
        floor, own = case["roofline"], case["columns"].get(OURS)
        calls, ratio, products = floor["floor_calls"], floor["ratio"], floor["operations"]
        yield [
            case["title"],
            figure(own["median"], "s") if own else NOTHING,
            scale(floor["bytes"], BYTES),
            figure(floor["floor_memory"], "s"),
            scale(products, _OPERATIONS) if products else NOTHING,
            figure(floor["floor_products"], "s") if products else NOTHING,
            figure(calls, "s") if calls else NOTHING,
            three(ratio) if ratio else NOTHING,
        ]


def _about_floors(result: dict[str, Any]) -> str:
    rates = result["rates"]
    one, all_threads, products = (
        f"{rates[name] / 1e9:.0f}" for name in ("copy_one_thread", "copy_all_threads", "products")
    )
    return (
        f"The minimal work of a step at the rates of this machine: reading the inputs and writing "
        f"the results once, at {all_threads} GB/s of copying (one thread: {one}); matrix products, "
        f"at NumPy's {products} Gflop/s; transcendental calls, at numtape's cost per call, spread "
        f"over the cores. The floor is the larger of the first and the sum of the other two."
    )


def _about(result: dict[str, Any]) -> str:
    described = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    quick = " This was a quick run, so the figures are rough." if result["quick"] else ""
    return (
        f"Medians; in brackets the ratio to numtape. Device {result['device']}; "
        f"{described['cpu']}, {described['cores']} cores, {described['memory_gib']} GiB, "
        f"{described['os']}; {packages}; {result['date']}.{quick}"
    )


def unsteady(result: dict[str, Any]) -> list[str]:
    """Lists the figures whose rounds differ so much that other load is likely."""
    return [
        f"{name}, {heading}: rounds from {figure(low, 's')} to {figure(high, 's')}"
        for name, case in result["cases"].items()
        if case["unit"] == "s"
        for heading, column in case["columns"].items()
        for low, high in [(min(column["rounds"]), max(column["rounds"]))]
        if high > UNSTEADY * low
    ]


def align(lines: list[list[str]], words: int) -> str:
    """Aligns the first and the last ``words`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < i < len(line) - words else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(lines: list[list[str]], words: int) -> str:
    """Formats the same table as GitHub Markdown."""
    header, *others = lines
    rule = ["---", *["---:"] * (len(header) - 1 - words), *["---"] * words]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *others))


def join(*blocks: str) -> str:
    """Joins the non-empty blocks with an empty line between them."""
    return "\n\n".join(block for block in blocks if block)


def plain(result: dict[str, Any]) -> str:
    """Returns the tables with aligned columns, and a description of the run."""
    cases, floors = list(rows(result)), list(_floors(result))
    about_floors = (align(floors, 0), _about_floors(result)) if floors else ()
    left_out = _left_out(result["cases"].values())
    return join(align(cases, 2), left_out, _about(result), *about_floors)


def _left_out(cases: Iterable[dict[str, Any]]) -> str:
    """Lists the libraries that were left out of each case, and why."""
    entries: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        for heading, reason in case.get("left_out", {}).items():
            entries.setdefault((case["title"], reason), []).append(heading)
    return "\n".join(
        f"- {title}: {', '.join(headings)} left out, {reason}"
        for (title, reason), headings in entries.items()
    )


def markdown_cases(result: dict[str, Any]) -> str:
    """Returns one table per kind of case, without goals, and a description of the run."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for name, case in result["cases"].items():
        if CASES[name].kind != "step":
            kinds.setdefault(CASES[name].kind, []).append(case)
    markdown_cases = []
    for cases in kinds.values():
        headings = [heading for heading in result["columns"] if _takes_part(heading, cases)]
        lines = [[case["title"], *(_cell(case, heading) for heading in headings)] for case in cases]
        markdown_cases.append(markdown([["case", *headings], *lines], 0))
    left_out = _left_out(result["cases"].values())
    return join(*_by_library(result, "a step", _cell), left_out, *markdown_cases, _about(result))


def markdown_first(result: dict[str, Any]) -> str:
    """Returns the tables of first steps, timed in a process that had run none before."""

    def cell(case: dict[str, Any], heading: str) -> str:
        seconds = case["columns"].get(heading, {}).get("first_step")
        return NOTHING if seconds is None else figure(seconds, "s")

    return join(*_by_library(result, "the first step", cell))


def _takes_part(heading: str, cases: list[dict[str, Any]]) -> bool:
    return any(heading in case["columns"] or heading in case["errors"] for case in cases)


def _by_library(
    result: dict[str, Any], what: str, cell: Callable[[dict[str, Any], str], str]
) -> Iterator[str]:
    """Yields the tables of steps, with one row per library and one column per case."""
    for names in TOGETHER:
        cases = [result["cases"][name] for name in names if name in result["cases"]]
        headings = [heading for heading in result["columns"] if _takes_part(heading, cases)]
        lines = [[heading, *(cell(case, heading) for case in cases)] for heading in headings]
        if lines:
            titles = [case["title"] for case in cases]
            yield markdown([[what, *titles], *lines], 0)


def markdown_floors(result: dict[str, Any]) -> str:
    """Returns the table of floors, or an empty string if no step was measured."""
    floors = list(_floors(result))
    return join(markdown(floors, 0), _about_floors(result)) if floors else ""


def has_markers(readme: Path) -> bool:
    """Returns whether the file has the markers of the table."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return -1 < text.find(BEGIN) < text.find(END)


def readme_table(result: dict[str, Any]) -> str:
    """Returns the README's table, with one row per step and the shortest time in bold."""
    headings = [heading for heading in SHOWN if heading in result["columns"]]
    lines = [["time a step", *(SHOWN[heading] for heading in headings)]]
    for name, case in result["cases"].items():
        if name in SHORT:
            times = {h: case["columns"][h]["median"] for h in headings if h in case["columns"]}
            cells = {h: figure(seconds, "s") for h, seconds in times.items()}
            best = cells.get(min(times, key=times.__getitem__, default=""))
            bold = {h: f"**{cell}**" if cell == best else cell for h, cell in cells.items()}
            lines.append([SHORT[name], *(bold.get(h, "failed") for h in headings)])
    return markdown(lines, 0)


def rewrite_readme(result: dict[str, Any], readme: Path) -> None:
    """Replaces the text between the markers with the table."""
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    table = f"{BEGIN}\n{readme_table(result)}\n{END}"
    readme.write_text(before + table + after, encoding="utf-8")
