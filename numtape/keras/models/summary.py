"""`summary`: print a model's layers as a table."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.log.variable import original
from ...nest import flatten, map_structure
from ..layer import Layer

if TYPE_CHECKING:
    from ..symbolic import Operation
    from .graph import LayerGraph

# Horizontal lines of a table: top, below the header, between rows, bottom.
_LINES = "┏━┳┓", "┡━╇┩", "├─┼┤", "└─┴┘"
_ALIGNED = {"Param #": str.rjust, "Trainable": str.center}


def summary(
    model: Any,
    line_length: int | None,
    positions: list[float] | None,
    print_fn: Callable[[str], Any] | None,
    expand_nested: bool,
    show_trainable: bool,
    layer_range: list[str] | None,
) -> None:
    """Print a model's summary; see `Model.summary`."""
    graph = model._nt_graph
    is_chain = graph is None or graph.is_chain
    displayed_layers = list(
        model.layers if graph is None or not _is_drawn(model) else graph.operations
    )
    names = ["Layer (type)", "Output Shape", "Param #"]
    if is_chain:
        default_length, column_ends = 88, positions or [0.45, 0.80, 1.0]
    else:
        default_length, column_ends = 108, positions or [0.3, 0.56, 0.74, 1.0]
        names.append("Connected to")
    if show_trainable:
        default_length += 12
        column_ends = [*(0.9 * end for end in column_ends), 1.0]
        names.append("Trainable")
    if len(column_ends) != len(names):
        raise ValueError(f"positions={positions} must have {len(names)} elements, for {names}.")
    length = line_length or min(default_length, shutil.get_terminal_size().columns - 4)
    widths = _widths(length, column_ends)
    rows = []
    for layer in _in_range(displayed_layers, layer_range):
        for prefix, row_layer in _nest(layer, expand_nested):
            row = [
                f"{prefix}{row_layer.name} ({_kind(row_layer)})",
                _shape(row_layer),
                _params(row_layer),
            ]
            if graph is not None and not is_chain:
                row.append(_connections(row_layer, graph))
            if show_trainable:
                row.append(_trainable(row_layer))
            rows.append(row)
    lines = [f'Model: "{model.name}"', *_table(names, rows, widths), *_totals(model)]
    text = "\n".join(lines) + "\n"
    if print_fn is None:
        sys.stdout.write(text)
    else:
        print_fn(text)


def _is_drawn(model: Any) -> bool:
    """Whether the user defined the graph; `Sequential` derives its own."""
    return not hasattr(model, "_nt_stack")


def _kind(operation: Layer | Operation) -> str:
    return str(getattr(operation, "kind", type(operation).__name__))


def _widths(length: int, column_ends: list[float]) -> list[int]:
    """Return the cell widths, with any excess over ``length`` taken evenly from all columns."""
    end_columns = [int(end * length) for end in column_ends]
    cells = [b - a + 2 for a, b in zip([0, *end_columns], end_columns, strict=False)]
    if min(cells) < 6:
        raise ValueError("Insufficient console width to print summary.")
    excess = sum(cells) - (length - len(cells) - 1)
    widths = []
    for number, cell in enumerate(cells):
        reduction = round(excess / (len(cells) - number))
        excess -= reduction
        widths.append(cell - reduction - 2)
    return widths


def _nest(layer: Layer | Operation, is_expanded: bool, level: int = 0) -> list[tuple[str, Any]]:
    results = [("   " * level + "└ " if level else "", layer)]
    if is_expanded:
        for inner in getattr(layer, "layers", ()):
            results += _nest(inner, True, level + 1)
    return results


def _in_range(layers: list[Any], names: list[str] | None) -> list[Any]:
    if names is None:
        return layers
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(f"layer_range must be a list or tuple of two strings, not {names!r}.")
    first_matches = [k for k, layer in enumerate(layers) if re.match(names[0], layer.name)]
    last_matches = [k for k, layer in enumerate(layers) if re.match(names[1], layer.name)]
    if not first_matches or not last_matches:
        raise ValueError(
            f"Passed layer_names do not match the layer names in the model. Received: {names}"
        )
    bounds = sorted((min(first_matches), max(last_matches)))
    return layers[bounds[0] : bounds[1] + 1]


def _shape(operation: Any) -> str:
    node = operation._nt_inbound_nodes[-1] if operation._nt_inbound_nodes else None
    if node is not None:
        structure = map_structure(lambda x: str(x.shape), node.structure)
    elif getattr(operation, "_nt_graph", None) is not None:
        structure = map_structure(str, operation.output_shape)
    else:
        return "?"
    result = flatten(structure)
    return str(result[0]) if len(result) == 1 else str(structure).replace("'", "")


def _params(operation: Layer | Operation) -> str:
    if not isinstance(operation, Layer):
        return "0"
    return f"{operation.count_params():,}" if operation.built else "0 (unbuilt)"


def _trainable(operation: Layer | Operation) -> str:
    if not isinstance(operation, Layer) or not operation.weights:
        return "-"
    return "Y" if operation.trainable else "N"


def _connections(operation: Layer | Operation, graph: LayerGraph) -> str:
    nodes = [node for node in graph.nodes if node.operation is operation]
    connections = []
    for node in nodes:
        for x in node.inputs:
            source_node = graph.source(x)
            assert source_node is not None
            call_number = source_node.operation._nt_inbound_nodes.index(source_node)
            output = next(
                k
                for k, node_output in enumerate(source_node.outputs)
                if node_output is x or x in graph.inputs
            )
            connections.append(f"{source_node.operation.name}[{call_number}][{output}]")
    return ", ".join(connections) or "-"


def _wrap(text: str, width: int) -> list[str]:
    """Wrap text into lines of whole words; a word longer than ``width`` is truncated."""
    lines = [""]
    for word in re.findall(r"\s*\S+", text):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append(word.lstrip())
        else:
            lines[-1] += word
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


def _table(names: list[str], rows: list[list[str]], widths: list[int]) -> list[str]:
    def edge(marks: str) -> str:
        return marks[0] + marks[2].join(marks[1] * (width + 2) for width in widths) + marks[3]

    def cells(row: list[str], bar: str) -> list[str]:
        columns = [_wrap(text, width) for text, width in zip(row, widths, strict=True)]
        lines = []
        for k in range(max(map(len, columns))):
            parts = [
                f" {_ALIGNED.get(name, str.ljust)(column[k] if k < len(column) else '', width)} "
                for name, column, width in zip(names, columns, widths, strict=True)
            ]
            lines.append(bar + bar.join(parts) + bar)
        return lines

    items = [edge(_LINES[0]), *cells(names, "┃"), edge(_LINES[1])]
    for number, row in enumerate(rows):
        items += [edge(_LINES[2])] * (number > 0) + cells(row, "│")
    return [*items, edge(_LINES[3])]


def _totals(model: Any) -> list[str]:
    groups = {"Trainable": model.trainable_weights, "Non-trainable": model.non_trainable_weights}
    optimizer = model.optimizer
    if optimizer is not None and getattr(optimizer, "_nt_trained", None) is not None:
        groups["Optimizer"] = optimizer.variables
    counts = {}
    for name, variables in groups.items():
        specs = {id(original(v)): v._spec for v in variables}.values()
        counts[name] = (
            sum(spec.size for spec in specs),
            sum(spec.size * spec.dtype.size for spec in specs),
        )
    total = sum(n for n, _ in counts.values()), sum(size for _, size in counts.values())
    return [
        f" {name} params: {n:,} ({_memory(size)})"
        for name, (n, size) in {"Total": total, **counts}.items()
    ]


def _memory(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024:
            return f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} PB"
