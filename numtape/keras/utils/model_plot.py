"""`plot_model`: a picture of a model's layers as SVG or PNG, and `model_to_dot`.

`_Box` is a layer with its rows of text, or a nested model with a drawing inside; `_Drawing` places
the boxes with `graph_layout.layout`, and consists of rectangles, texts and lines.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from ...nest import flatten, map_structure
from ...train.arrays import write
from ..models import Functional, Model, Sequential
from .graph_layout import Layout, Point, layout

if TYPE_CHECKING:
    pass

_FONT, _LINE, _PADDING = 12.0, 20.0, 10.0  # sizes in units of 1/96 inch
_HEADER, _BODY, _BORDER, _EDGE = "#24364b", "#f4f7fa", "#8397ad", "#4a5a6c"
_NESTED, _TRAINABLE, _FROZEN = "#e6edf4", "#2f7d4f", "#a8442f"
_NARROW, _WIDE = "fijlrt.,:;|!'()[] -", "mwMW@%"


@dataclass
class Options:
    """What to show of each layer; the arguments of `plot_model`."""

    show_shapes: bool = False
    show_dtype: bool = False
    show_layer_names: bool = False
    show_layer_activations: bool = False
    show_trainable: bool = False
    expand_nested: bool = False
    rankdir: str = "TB"


@dataclass
class _Box:
    """A layer, or a nested model with its layers inside.

    Attributes:
      title: The text of the header.
      rows: Rows of cells: a text and a color.
      inner: The drawing of the layers of a nested model.
    """

    title: str
    rows: list[list[tuple[str, str]]] = field(default_factory=list)
    inner: _Drawing | None = None

    @property
    def size(self) -> Point:
        """The width and the height."""
        widths = [_text_width(self.title) * 1.08]
        widths += [sum(_text_width(t) + 2 * _PADDING for t, _ in row) for row in self.rows]
        width = max(widths) + 2 * _PADDING
        height = _LINE * (1 + len(self.rows)) + 4 + 4 * bool(self.rows)
        if self.inner is not None:
            width = max(width, self.inner.size[0] + 3 * _PADDING)
            height += self.inner.size[1] + 2 * _PADDING
        return width, height


def _text_width(text: str) -> float:
    shares = {**dict.fromkeys(_NARROW, 0.34), **dict.fromkeys(_WIDE, 0.88)}
    return _FONT * sum(shares.get(c, 0.7 if c.isupper() else 0.58) for c in text)


class _Drawing:
    """The layers of a model and the edges between them, placed."""

    def __init__(self, model: Any, options: Options) -> None:
        self.boxes, self.edges = _boxes_of(model, options)
        self.rankdir = options.rankdir
        sizes = [box.size for box in self.boxes]
        if self.is_horizontal:
            sizes = [(height, width) for width, height in sizes]
        self.placed: Layout = layout(sizes, self.edges)
        width, height = self.placed.size
        self.size: Point = (height, width) if self.is_horizontal else (width, height)

    @property
    def is_horizontal(self) -> bool:
        """Whether edges point to the left or right."""
        return self.rankdir in ("LR", "RL")

    def _moved(self, point: Point) -> Point:
        """Turn a point of the layout, which is from top to bottom, in the direction to draw."""
        x, y = point
        if self.rankdir in ("BT", "RL"):
            y = self.placed.size[1] - y
        return (y, x) if self.is_horizontal else (x, y)

    def shapes(self, left: float, top: float) -> Iterator[tuple[str, Any]]:
        """Iterate over the rectangles, texts and lines, from the back to the front."""
        for path in self.placed.paths:
            points = [self._moved(point) for point in path]
            yield "edge", ([(x + left, y + top) for x, y in points], self.is_horizontal)
        for box, center in zip(self.boxes, self.placed.centers, strict=True):
            (x, y), (width, height) = self._moved(center), box.size
            yield from _shapes_of(box, left + x - width / 2, top + y - height / 2)


def _shapes_of(box: _Box, left: float, top: float) -> Iterator[tuple[str, Any]]:
    width, height = box.size
    fill = _BODY if box.inner is None else _NESTED
    yield "rectangle", (left, top, width, height, fill, _BORDER)
    yield "rectangle", (left, top, width, _LINE + 4, _HEADER, _HEADER)
    yield "text", (left + width / 2, top + _LINE / 2 + 2, box.title, "#ffffff", True)
    y = top + _LINE + 4
    for row in box.rows:
        x = left
        free = width - sum(_text_width(text) + 2 * _PADDING for text, _ in row)
        for k, (text, color) in enumerate(row):
            cell = _text_width(text) + 2 * _PADDING + free / len(row)
            yield "text", (x + cell / 2, y + _LINE / 2 + 2, text, color, False)
            x += cell
            if k + 1 < len(row):
                yield "line", ((x, y + 4), (x, y + _LINE))
        y += _LINE
    if box.inner is not None:
        inner_width = box.inner.size[0]
        yield from box.inner.shapes(left + (width - inner_width) / 2, y + _PADDING)


# --- The layers of a model ------------------------------------------------------------------------


def _boxes_of(model: Any, options: Options) -> tuple[list[_Box], list[tuple[int, int]]]:
    graph = model._nt_graph
    if graph is None:
        layers = list(getattr(model, "_nt_stack", model.layers))
        pairs = list(zip(range(len(layers)), range(1, len(layers)), strict=False))
        return [_box(layer, options) for layer in layers], (
            pairs if isinstance(model, Sequential) else []
        )
    operations = list(graph.operations)
    numbers = {id(operation): k for k, operation in enumerate(operations)}
    origins = {id(x): node for node in graph.nodes for x in node.outputs}
    origins.update((id(x), graph.entries[id(x)]) for x in graph.inputs)
    edges: dict[tuple[int, int], None] = {}
    for node in graph.nodes:
        for x in node.inputs:
            first, last = numbers[id(origins[id(x)].operation)], numbers[id(node.operation)]
            if first < last:  # a layer that is called on its own result
                edges[first, last] = None
            elif first > last and (last, first) not in edges:
                edges[last, first] = None
    return [_box(operation, options) for operation in operations], list(edges)


def _box(operation: Any, options: Options) -> _Box:
    name, kind = operation.name, str(getattr(operation, "kind", type(operation).__name__))
    is_nested = isinstance(operation, Functional | Sequential)
    result = _Box(f"{name} ({kind})" if options.show_layer_names else kind)
    activation = getattr(operation, "activation", None)
    if options.show_layer_activations and activation is not None:
        text = str(getattr(activation, "name", getattr(activation, "__name__", activation)))
        result.rows.append([(f"Activation: {text}", "#000000")])
    if options.show_shapes or options.show_dtype:
        inputs, outputs = _tensors_of(operation)
        for is_shown, word, attribute in (
            (options.show_shapes, "shape", "shape"),
            (options.show_dtype, "dtype", "dtype"),
        ):
            if is_shown:
                cells = [(f"Output {word}: {_values(outputs, attribute)}", "#000000")]
                if inputs is not None:
                    cells = [(f"Input {word}: {_values(inputs, attribute)}", "#000000"), *cells]
                result.rows.append(cells)
    if options.show_trainable and getattr(operation, "weights", None):
        trainable = bool(operation.trainable)
        color = _TRAINABLE if trainable else _FROZEN
        result.rows.append([("Trainable" if trainable else "Non-trainable", color)])
    if options.expand_nested and is_nested and operation.layers:
        result.inner = _Drawing(operation, options)
    return result


def _tensors_of(operation: Any) -> tuple[Any, Any]:
    """Return the symbolic inputs and outputs of the first call of a layer; None if unknown."""
    nodes = getattr(operation, "_nt_inbound_nodes", None)
    if not nodes:
        graph = getattr(operation, "_nt_graph", None)
        return (None, None) if graph is None else (graph.structure, graph.results)
    inputs = list(nodes[0].inputs)
    return (inputs[0] if len(inputs) == 1 else inputs or None), nodes[0].structure


def _values(structure: Any, attribute: str) -> str:
    if structure is None:
        return "-" if attribute == "dtype" else "?"
    values = map_structure(
        lambda x: str(tuple(x.shape)) if attribute == "shape" else str(x.dtype), structure
    )
    return values if isinstance(values, str) else ", ".join(flatten(values))


# --- Output ---------------------------------------------------------------------------------------


def _curve(points: list[Point], is_horizontal: bool) -> list[tuple[Point, Point, Point, Point]]:
    """Return Bezier curves through points, in the direction of the ranks at both ends."""
    curves = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if is_horizontal:
            middle = (x0 + x1) / 2
            curves.append(((x0, y0), (middle, y0), (middle, y1), (x1, y1)))
        else:
            middle = (y0 + y1) / 2
            curves.append(((x0, y0), (x0, middle), (x1, middle), (x1, y1)))
    return curves


def _arrow(points: list[Point], is_horizontal: bool) -> list[Point]:
    """Return the corners of the arrowhead at the end of an edge."""
    (x, y), (px, py) = points[-1], points[-2]
    if is_horizontal:
        back = -7 if x >= px else 7
        return [(x, y), (x + back, y - 4), (x + back, y + 4)]
    back = -7 if y >= py else 7
    return [(x, y), (x - 4, y + back), (x + 4, y + back)]


class ModelPlot:
    """A picture of a model, which notebooks show.

    Args:
      drawing: The placed layers.
      title: The name of the model.
      dpi: The number of pixels in an inch.
    """

    def __init__(self, drawing: _Drawing, title: str, dpi: float) -> None:
        self._drawing, self._title, self._scale = drawing, title, dpi / 96

    @property
    def _margin(self) -> float:
        return 14.0

    def _size(self) -> Point:
        width, height = self._drawing.size
        return width + 2 * self._margin, height + 2 * self._margin

    def to_svg(self) -> str:
        """Return the text of an SVG file."""
        width, height = self._size()
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * self._scale:.0f}" '
            f'height="{height * self._scale:.0f}" viewBox="0 0 {width:.1f} {height:.1f}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="{_FONT:g}">',
            f"<title>{escape(self._title)}</title>",
            f'<rect width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>',
        ]
        for kind, shape in self._drawing.shapes(self._margin, self._margin):
            lines.append(_SVG[kind](*shape))
        return "\n".join([*lines, "</svg>", ""])

    _repr_svg_ = to_svg

    def to_png(self) -> bytes:
        """Return the bytes of a PNG file.

        Raises:
          ImportError: If Pillow is not installed.
        """
        try:
            from PIL import Image, ImageDraw, ImageFont
        except ImportError:
            raise ImportError(
                "A picture in PNG needs Pillow: pip install 'numtape[image]'. Or write '.svg'."
            ) from None
        scale = self._scale * 2  # drawn twice as large, then reduced: smooth lines
        width, height = self._size()
        image = Image.new("RGB", (round(width * scale), round(height * scale)), "#ffffff")
        draw = ImageDraw.Draw(image)
        font = ImageFont.load_default(_FONT * scale)

        def scaled(points: list[Point]) -> list[Point]:
            return [(x * scale, y * scale) for x, y in points]

        for kind, shape in self._drawing.shapes(self._margin, self._margin):
            if kind == "rectangle":
                x, y, w, h, fill, border = shape
                corners = (x * scale, y * scale, (x + w) * scale, (y + h) * scale)
                draw.rounded_rectangle(corners, 3 * scale, fill, border, max(1, round(scale)))
            elif kind == "text":
                x, y, text, color, _ = shape
                draw.text((x * scale, y * scale), text, color, font, "mm")
            elif kind == "line":
                draw.line(scaled(list(shape)), _BORDER, max(1, round(scale)))
            else:
                points, is_horizontal = shape
                for curve in _curve(points, is_horizontal):
                    line = [_point_on(curve, k / 24) for k in range(25)]
                    draw.line(scaled(line), _EDGE, round(1.3 * scale), "curve")
                draw.polygon(scaled(_arrow(points, is_horizontal)), _EDGE)
        buffer = io.BytesIO()
        image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS).save(
            buffer, "PNG"
        )
        return buffer.getvalue()


def _point_on(curve: tuple[Point, Point, Point, Point], t: float) -> Point:
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    x, y = (sum(w * p[k] for w, p in zip(weights, curve, strict=True)) for k in (0, 1))
    return x, y


def _svg_rectangle(x: float, y: float, w: float, h: float, fill: str, border: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="3" fill="{fill}" '
        f'stroke="{border}"/>'
    )


def _svg_text(x: float, y: float, text: str, color: str, is_bold: bool) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    return (
        f'<text x="{x:.1f}" y="{y + _FONT * 0.35:.1f}" text-anchor="middle" fill="{color}"'
        f"{weight}>{escape(text)}</text>"
    )


def _svg_line(start: Point, end: Point) -> str:
    (x0, y0), (x1, y1) = start, end
    return f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" stroke="{_BORDER}"/>'


def _svg_edge(points: list[Point], is_horizontal: bool) -> str:
    def text(ps: tuple[Point, ...] | list[Point]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in ps)

    curves = "".join(f" C{text(curve[1:])}" for curve in _curve(points, is_horizontal))
    return (
        f'<path d="M{text(points[:1])}{curves}" fill="none" stroke="{_EDGE}" '
        f'stroke-width="1.3"/><polygon points="{text(_arrow(points, is_horizontal))}" '
        f'fill="{_EDGE}"/>'
    )


_SVG: dict[str, Any] = {
    "rectangle": _svg_rectangle,
    "text": _svg_text,
    "line": _svg_line,
    "edge": _svg_edge,
}


def _checked(model: Model, options: Options) -> Model:
    if not isinstance(model, Model):
        raise TypeError(f"model must be a Keras model, got {type(model).__name__}.")
    if not model.built:
        raise ValueError(
            "This model has not yet been built. Build the model first by calling `build()` or by "
            "calling the model on a batch of data."
        )
    if options.rankdir not in ("TB", "LR", "BT", "RL"):
        raise ValueError(f"rankdir must be 'TB', 'LR', 'BT' or 'RL', got {options.rankdir!r}.")
    return model


def plot_model(
    model: Model,
    to_file: str | os.PathLike[str] | None = "model.svg",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = False,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: float = 96,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
) -> ModelPlot:
    """Draw the layers of a model. It needs no Graphviz.

    Args:
      model: A built model.
      to_file: A path that ends in ``.svg``, or in ``.png`` (which needs Pillow); None to write no
        file.
      show_shapes: Whether to show the shapes of inputs and outputs.
      show_dtype: Whether to show their dtypes.
      show_layer_names: Whether to show the names of the layers.
      rankdir: The direction: "TB" from top to bottom, "LR" from left to right, "BT" or "RL".
      expand_nested: Whether to draw the layers of nested models.
      dpi: The number of pixels in an inch.
      show_layer_activations: Whether to show activation functions.
      show_trainable: Whether to show which layers are trainable.
      splines: Accepted for compatibility with Keras, and ignored.

    Returns:
      The picture, which notebooks show.

    Raises:
      ValueError: If the model is not built, or an argument is unknown.
      TypeError: If ``model`` is not a model.
      ImportError: If Pillow is needed and not installed.

    Example:
      >>> import pathlib, tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.svg"
      >>> _ = tf.keras.utils.plot_model(model, path, show_shapes=True)
      >>> "Output shape: (None, 2)" in path.read_text()
      True
    """
    options = Options(
        show_shapes,
        show_dtype,
        show_layer_names,
        show_layer_activations,
        show_trainable,
        expand_nested,
        rankdir,
    )
    model = _checked(model, options)
    ending = "" if to_file is None else os.path.splitext(os.fspath(to_file))[1].lower()
    if to_file is not None and ending not in (".svg", ".png"):
        raise ValueError(f"to_file must end in '.svg' or '.png', got {os.fspath(to_file)!r}.")
    picture = ModelPlot(_Drawing(model, options), model.name, dpi)
    if to_file is not None:
        write(to_file, picture.to_png() if ending == ".png" else picture.to_svg().encode())
    return picture


def model_to_dot(
    model: Model,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: float = 200,
    subgraph: bool = False,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
) -> str:
    """Return the layers of a model in DOT, the language of Graphviz.

    Args:
      model: A built model.
      show_shapes: Whether to show the shapes of inputs and outputs.
      show_dtype: Whether to show their dtypes.
      show_layer_names: Whether to show the names of the layers.
      rankdir: The direction: "TB", "LR", "BT" or "RL".
      expand_nested: Whether to show the layers of nested models.
      dpi: The number of pixels in an inch.
      subgraph: Whether to return a cluster for use in another graph.
      show_layer_activations: Whether to show activation functions.
      show_trainable: Whether to show which layers are trainable.

    Returns:
      The text of a graph; Keras returns an object of the package pydot instead.

    Raises:
      ValueError: If the model is not built, or ``rankdir`` is unknown.
      TypeError: If ``model`` is not a model.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2, name="d")])
      >>> print(tf.keras.utils.model_to_dot(model).splitlines()[-2].strip())
      n0 -> n1;
    """
    options = Options(
        show_shapes,
        show_dtype,
        show_layer_names,
        show_layer_activations,
        show_trainable,
        expand_nested,
        rankdir,
    )
    model = _checked(model, options)
    lines = [f"digraph {_quoted(model.name)} {{", f"  rankdir={rankdir}; dpi={dpi:g};"]
    if subgraph:
        lines = [
            f"subgraph {_quoted(f'cluster_{model.name}')} {{",
            f"  label={_quoted(model.name)};",
        ]
    lines += ["  node [shape=box];", *_dot_lines(_Drawing(model, options), "n", "  ")[0], "}"]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _dot_lines(drawing: _Drawing, prefix: str, indent: str) -> tuple[list[str], list[str]]:
    """Return the statements of a drawing, and the name of a node of each box for edges."""
    lines, names = [], []
    for k, box in enumerate(drawing.boxes):
        name = f"{prefix}{k}"
        if box.inner is None:
            text = "\n".join([box.title, *(" | ".join(t for t, _ in row) for row in box.rows)])
            lines.append(f"{indent}{name} [label={_quoted(text)}];".replace("\n", "\\n"))
            names.append(name)
            continue
        inner, inner_names = _dot_lines(box.inner, f"{name}_", f"{indent}  ")
        lines += [f"{indent}subgraph cluster_{name} {{", f"{indent}  label={_quoted(box.title)};"]
        lines += [*inner, f"{indent}}}"]
        names.append(inner_names[0])
    lines += [f"{indent}{names[a]} -> {names[b]};" for a, b in drawing.edges]
    return lines, names
