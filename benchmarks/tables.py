"""The tables that are printed, the notebook's and the README's, made from a result."""

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

# The steps of the README's table and of the plots: what a row and a column are called there.
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

# The steps of the long tables, those together that are read together.
TOGETHER = (
    tuple(SHORT),
    ("asian", "solves", "lstm", "convolution"),
    ("hessian_50", "hessian_200", "jacobian_50", "jacobian_200"),
)

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_OPERATIONS = ((1e9, "Gflop"), (1e6, "Mflop"), (1e3, "kflop"), (1.0, "flop"))


def three(value: float) -> str:
    """Three digits, and never an exponent."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def scale(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    """Three digits and the largest unit that is not larger."""
    scale, name = next((s for s in scales if value >= s[0]), scales[-1])
    return f"{three(value / scale)} {name}"


def figure(value: float, unit: str) -> str:
    """Three digits and the unit that suits them."""
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
    """The table of all cases, its heading first."""
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
    """The table of the floors, or nothing where no step was measured."""
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
        f"What a step cannot do without, at the rates of this machine: its inputs read and its "
        f"results written once, at {all_threads} GB/s of copying (one thread: {one}); its matrix "
        f"products, at {products} Gflop/s of NumPy's; its transcendental calls, at numtape's own "
        f"cost of each, spread over the cores. The floor is the larger of the first two plus the "
        f"third."
    )


def _about(result: dict[str, Any]) -> str:
    described = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    quick = " A quick run: the figures are rough." if result["quick"] else ""
    return (
        f"Medians; in brackets the ratio to numtape. Device {result['device']}; "
        f"{described['cpu']}, {described['cores']} cores, {described['memory_gib']} GiB, "
        f"{described['os']}; {packages}; {result['date']}.{quick}"
    )


def unsteady(result: dict[str, Any]) -> list[str]:
    """Names the figures whose rounds differ so much that something else must have been running."""
    return [
        f"{name}, {heading}: rounds from {figure(low, 's')} to {figure(high, 's')}"
        for name, case in result["cases"].items()
        if case["unit"] == "s"
        for heading, column in case["columns"].items()
        for low, high in [(min(column["rounds"]), max(column["rounds"]))]
        if high > UNSTEADY * low
    ]


def align(lines: list[list[str]], words: int) -> str:
    """Aligns columns: the first and the last ``words`` ones to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < i < len(line) - words else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(lines: list[list[str]], words: int) -> str:
    """The same for GitHub."""
    header, *others = lines
    rule = ["---", *["---:"] * (len(header) - 1 - words), *["---"] * words]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *others))


def join(*blocks: str) -> str:
    """Blocks with an empty line between them."""
    return "\n\n".join(block for block in blocks if block)


def plain(result: dict[str, Any]) -> str:
    """Gives the tables with aligned columns, and what they were measured with."""
    cases, floors = list(rows(result)), list(_floors(result))
    about_floors = (align(floors, 0), _about_floors(result)) if floors else ()
    left_out = _left_out(result["cases"].values())
    return join(align(cases, 2), left_out, _about(result), *about_floors)


def _left_out(cases: Iterable[dict[str, Any]]) -> str:
    """Says who takes no part in which cases, and why."""
    entries: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        for heading, reason in case.get("left_out", {}).items():
            entries.setdefault((case["title"], reason), []).append(heading)
    return "\n".join(
        f"- {title}: {', '.join(headings)} left out, {reason}"
        for (title, reason), headings in entries.items()
    )


def markdown_cases(result: dict[str, Any]) -> str:
    """Gives the cases in tables of like ones, without goals, and what they were measured with."""
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
    """Gives the tables of first steps: what they took in a process that had done none."""

    def cell(case: dict[str, Any], heading: str) -> str:
        seconds = case["columns"].get(heading, {}).get("first_step")
        return NOTHING if seconds is None else figure(seconds, "s")

    return join(*_by_library(result, "the first step", cell))


def _takes_part(heading: str, cases: list[dict[str, Any]]) -> bool:
    return any(heading in case["columns"] or heading in case["errors"] for case in cases)


def _by_library(
    result: dict[str, Any], what: str, cell: Callable[[dict[str, Any], str], str]
) -> Iterator[str]:
    """The steps in tables with a row a library, of which there are more than cases."""
    for names in TOGETHER:
        cases = [result["cases"][name] for name in names if name in result["cases"]]
        headings = [heading for heading in result["columns"] if _takes_part(heading, cases)]
        lines = [[heading, *(cell(case, heading) for case in cases)] for heading in headings]
        if lines:
            titles = [case["title"] for case in cases]
            yield markdown([[what, *titles], *lines], 0)


def markdown_floors(result: dict[str, Any]) -> str:
    """Gives the table of the floors, or nothing where no step was measured."""
    floors = list(_floors(result))
    return join(markdown(floors, 0), _about_floors(result)) if floors else ""


def has_markers(readme: Path) -> bool:
    """Says whether the tables have their place in this file."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return -1 < text.find(BEGIN) < text.find(END)


def readme_table(result: dict[str, Any]) -> str:
    """Gives the table of the README: a row a step, the shortest time in bold."""
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
    """Puts the table between the markers and leaves the rest as it is."""
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    table = f"{BEGIN}\n{readme_table(result)}\n{END}"
    readme.write_text(before + table + after, encoding="utf-8")
