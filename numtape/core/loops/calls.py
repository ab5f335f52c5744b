"""Calls in normal form: functions of numbers, helpers, which are written in place, new arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .exits import JumpElimination
from .frame import Frame, Value
from .grids import Grid, View
from .nodes import Array, Branch, Call, Raised, Step, is_constant
from .reductions import Reductions
from .rules import ARITY, CALLED
from .source import MISSING, Source

CASTS: dict[Any, str] = {
    float: "float64",
    np.float64: "float64",
    np.float32: "float32",
    int: "int",
    np.int64: "int64",
    bool: "bool",
}
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class Calls(Reductions):
    """Writes calls."""

    def function(self, frame: Frame) -> Value:
        """Write what a function does. Returns its result."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.raised: list[Raised] = []
        self.outputs: list[str] = []
        self.axes: list[list[str]] = []
        self.form: Any = None
        self.functions: Any = None

    def write_results(self, node: ast.expr) -> Any:
        """Write what the kernel returns, into `outputs`. Returns its form, with places there.

        In a tuple of a rule None is the adjoint of what nothing depends on.
        """
        if isinstance(node, ast.Tuple):
            if self.kernel and any(_is_none(x) for x in node.elts):
                self.refuse("`None` among its results", node, "Leave it out.")
            return tuple([None if _is_none(x) else self.write_results(x) for x in node.elts])
        value = self.value(node)
        if value.items is not None:
            self.outputs += value.items
            self.axes += [[] for _ in value.items]
            return tuple(range(len(self.outputs) - len(value.items), len(self.outputs)))
        if value.grid is None:
            self.outputs.append(value.name)
            self.axes.append([])
            return len(self.outputs) - 1
        view = self.view(value, node)
        if not self._is_whole_array(view):
            view = self.materialize(view, node)
        self.outputs.append(view.array)
        self.axes.append(view.shape)
        return len(self.outputs) - 1

    def _do_Raise(self, node: ast.Raise) -> None:
        called: Any = node.exc
        arguments: list[Any] | None = []
        if isinstance(called, ast.Call) and not called.keywords:
            arguments = self._constant_arguments(called.args)
            called = called.func
        kind = self.object(called) if called is not None else None
        if node.cause is not None or not (isinstance(kind, type) and issubclass(kind, Exception)):
            self.refuse(
                f"`{ast.unparse(node)}`",
                node,
                "Raise a class of exceptions, or an exception of constants.",
            )
        self.fail(kind, arguments, node)

    def _do_Assert(self, node: ast.Assert) -> None:
        with self.inside() as failed:
            self.fail(
                AssertionError, self._constant_arguments([node.msg] if node.msg else []), node
            )
        self.write(Branch(self.truth(node.test), [], failed, self.line(node)))

    def fail(self, kind: type[Exception], arguments: list[Any] | None, node: Any) -> None:
        """Raise an exception."""
        source = self.frames[-1].source
        message_arguments = None if arguments is None else tuple(arguments)
        self.raised.append(
            Raised(kind, message_arguments, source.file, node.lineno, source.function.__name__)
        )
        number = str(len(self.raised) - 1)
        self.write(Step("", "raise", [], "", self.line(node), dtype=number))

    def _constant_arguments(self, nodes: list[ast.expr]) -> list[Any] | None:
        """What an exception is told: constants; None if it has to be computed."""
        values: list[Any] = []
        for node in nodes:
            for x in ast.walk(node):
                if isinstance(x, ast.FormattedValue) and (x.format_spec or x.conversion != -1):
                    self.refuse(
                        f"`{ast.unparse(node)}`, a text with a format",
                        node,
                        "Numba knows none: leave it out.",
                    )
            try:
                values.append(ast.literal_eval(node))
            except ValueError:
                values.append(self.object(node))
        return None if any(x is MISSING for x in values) else values

    def _of_Call(self, node: ast.Call, to: str) -> str | Value:
        return self.call(node, to, True)

    def helper(self, node: Any) -> FunctionType | None:
        """The function that a call calls, if its source is to be written here."""
        function = self.object(node.func) if isinstance(node, ast.Call) else None
        for name in ("python_function", "py_func"):
            inner = getattr(function, name, None)
            if isinstance(inner, FunctionType):
                return inner
        if not isinstance(function, FunctionType) or function in CALLED:
            return None
        return None if (function.__module__ or "").partition(".")[0] == "numpy" else function

    def call(self, node: ast.Call, to: str, needs_value: bool) -> str | Value:
        """Write a call. Returns its result."""
        called = self.object(node.func)
        text = ast.unparse(node.func)
        if any(isinstance(x, ast.Starred) for x in node.args):
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        if called is len and len(node.args) == 1:
            return self.length(self.value(node.args[0]), node)
        creation = self.new_array(node)
        if creation is not None:
            dtype, shape, fill, copied = creation
            return self.of(self.new(shape, dtype, node, fill, copied))
        result = self.of_arrays(node, called)
        if result is not None:
            return result
        if node.keywords:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        helper = self.helper(node)
        if helper is not None:
            return self._inline(helper, node, needs_value)
        try:
            known = CALLED.get(called), CASTS.get(called)
        except TypeError:
            known = None, None
        name, cast = known
        if cast and len(node.args) == 1:
            return self.put(to, "cast", [self.number(node.args[0])], node, cast)
        if name is None:
            self.refuse(
                f"the call `{text}(...)`",
                node,
                "Use functions of math and NumPy that kernels know, or write it out.",
            )
        args = [self.value(x) for x in node.args]
        if not isinstance(called, np.ufunc) and called not in (abs, np.where):
            args = [
                Value(self.number(x)) if v.grid is not None else v
                for x, v in zip(node.args, args, strict=True)
            ]
        if name in ("max", "min") and len(args) > 2:
            while len(args) > 2:
                args[:2] = [Value(self.put("", name, [x.name for x in args[:2]], node))]
        if len(args) != ARITY[name]:
            self.refuse(f"`{text}` of {len(args)} arguments", node, f"It takes {ARITY[name]}.")
        kind = "ufunc" if isinstance(called, np.ufunc) else ""
        return self.elementwise(name, args, node, to, kind=kind)

    def length(self, value: Value, node: ast.Call) -> str:
        """How many elements or rows something has."""
        if value.grid is None and value.items is None:
            self.refuse(f"`{ast.unparse(node)}` of a number", node, "Give it an array.")
        return value.grid.shape[0] if value.grid is not None else str(len(value.items or []))

    def of_arrays(self, node: ast.Call, called: Any) -> str | Value | None:
        """A call of a function that makes or reduces arrays, or of an array's method; else None."""
        raise NotImplementedError

    def _inline(self, helper: FunctionType, node: ast.Call, needs_value: bool) -> Value:
        """Write what a helper does."""
        source = Source(helper)
        values = [self.value(x) for x in node.args]
        defaults = list(helper.__defaults__ or ())
        missing = len(source.parameters) - len(values)
        if source.tree.args.kwonlyargs:
            self.refuse(
                f"`{ast.unparse(node)}`, which has arguments by name only",
                node,
                "Let it take them by their places.",
            )
        if not 0 <= missing <= len(defaults):
            self.refuse(
                f"`{ast.unparse(node)}` with {len(values)} arguments",
                node,
                f"It takes {len(source.parameters)}.",
            )
        values += [Value(self.literal(x, node)) for x in defaults[len(defaults) - missing :]]
        kernel = self.object(node.func)
        rule = getattr(kernel, "_rule", None)
        if isinstance(rule, FunctionType):
            return self.call_with_rule(source, values, node, rule)
        recompute = bool(getattr(kernel, "_recompute", False))
        if recompute or any(frame.source.function is helper for frame in self.frames):
            return self._call_function(source, values, node, needs_value, recompute)
        frame = Frame(source, self.prefix(source))
        if len(self.frames) == 1:
            self._call_line = self.line(node)
        for parameter, value in zip(source.parameters, values, strict=True):
            if value.items is not None:
                self.refuse("a tuple as an argument", node, "Pass its parts.")
            if value.grid is not None:
                frame.bound[parameter] = self.of(self.view(value, node))
            elif (not frame.stores[parameter] and value.name in self.once) or (
                is_constant(value.name) and not frame.stores[parameter]
            ):
                frame.bound[parameter] = value
            else:
                self.put(frame.rename(parameter), "copy", [value.name], node)
        if needs_value and not frame.exits.returns:
            self.refuse(
                f"the value of `{ast.unparse(node)}`, which returns nothing",
                node,
                "Call it as a statement.",
            )
        return self.function(frame)

    def call_with_rule(
        self, source: Source, values: list[Value], node: Any, rule: FunctionType
    ) -> Value:
        """Write a call of a function that has a rule for its derivative."""
        names, axes = self._call_arguments(values, node, lambda view: self.materialize(view, node))
        ndim = self.functions.axes(source.function, tuple([len(x) or -1 for x in axes]))
        out = self.fresh()
        call = Call(
            "" if ndim > 0 else out,
            source.function,
            names,
            axes,
            self.line(node),
            True,
            self.functions,
            rule,
            out if ndim > 0 else "",
        )
        self.write(call)
        if ndim < 0:
            return Value(out)
        self.arrays[out] = Array("", ndim, False)
        self.low.update(dict.fromkeys(call.assigned_names(ndim), 0))
        return self.all_of(out)

    def _call_function(
        self,
        source: Source,
        values: list[Value],
        node: ast.Call,
        needs_value: bool,
        recompute: bool,
    ) -> Value:
        """Write a call of a function that has its own sweeps."""
        names, axes = self._call_arguments(
            values,
            node,
            lambda view: self.refuse(
                f"part of an array as an argument of `{ast.unparse(node.func)}`",
                node,
                "Pass the array and where the part begins, or a copy.",
            ),
        )
        returns = JumpElimination(source).returns
        if needs_value and not returns:
            self.refuse(
                f"the value of `{ast.unparse(node)}`, which returns nothing",
                node,
                "Call it as a statement.",
            )
        out = self.fresh() if returns else ""
        if returns:
            self.callee_names[out] = self.callee_names[ast.unparse(node)] = source.function.__name__
        self.write(
            Call(out, source.function, names, axes, self.line(node), recompute, self.functions)
        )
        return Value(out)

    def _call_arguments(
        self, values: list[Value], node: Any, part: Callable[[View], View]
    ) -> tuple[list[str], list[list[str]]]:
        """What a call is given: names, and the axes of arrays.

        Of a ``part`` of an array that function gives a whole one, or refuses it.
        """
        names: list[str] = []
        axes: list[list[str]] = []
        for value in values:
            if value.items is not None:
                self.refuse("a tuple as an argument", node, "Pass its parts.")
            if value.grid is None:
                names.append(value.name)
                axes.append([])
                continue
            view = self.view(value, node)
            view = view if self._is_whole_array(view) else part(view)
            names.append(view.array)
            axes.append(view.shape)
        return names, axes

    def _is_whole_array(self, view: View) -> bool:
        """Whether a view is of elements in order from the beginning, in an argument of all."""
        is_contiguous = view.offset == "0" and view.strides is None
        if not self.arrays[view.array].argument:
            return is_contiguous
        return is_contiguous and view.shape == [
            f"{view.array}_n{k}" for k in range(len(view.shape))
        ]

    def new_array(self, node: Any) -> tuple[str | View, list[str], str, str] | None:
        """Dtype, axes, filling and original of what ``np.zeros`` and the like make."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
            grid = self.value(node.func.value).grid if self.object(node.func) is MISSING else None
            return self._copy(grid)
        called = self.object(node.func)
        makers = {
            np.zeros: "0",
            np.empty: "",
            np.ones: "1",
            np.zeros_like: "0",
            np.empty_like: "",
            np.ones_like: "1",
            np.copy: "",
        }
        try:
            if called not in makers or not node.args:
                return None
        except TypeError:
            return None
        fill = makers[called]
        dtype: str | View
        words = {word.arg: word.value for word in node.keywords}
        kinds = [*node.args[1:], *([words.pop("dtype")] if "dtype" in words else [])]
        if words or len(kinds) > 1:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give it a shape and a dtype only.")
        if called in (np.zeros_like, np.empty_like, np.ones_like, np.copy):
            grid = self.value(node.args[0]).grid
            if grid is None:
                self.refuse(f"`{ast.unparse(node)}`", node, "Give it an array.")
            if called is np.copy:
                return self._copy(grid)
            dtype, shape, copied = self.view(Value(grid=grid), node), grid.shape, ""
        else:
            argument = node.args[0]
            shape_value = (
                self.value(argument)
                if not isinstance(argument, ast.Tuple)
                else Value(items=[self.number(x) for x in argument.elts])
            )
            shape = shape_value.items if shape_value.items is not None else [shape_value.name]
            dtype, copied = "float64", ""
        if not 1 <= len(shape) <= 3:
            self.refuse(f"`{ast.unparse(node)}`, of {len(shape)} axes", node, "Use one to three.")
        if kinds:
            dtype = self._dtype(kinds[0])
        return dtype, shape, fill, copied

    def _copy(self, grid: Grid | None) -> tuple[str | View, list[str], str, str] | None:
        """A copy of all of an array; other copies are loops."""
        if not isinstance(grid, View) or grid.strides is not None or grid.offset != "0":
            return None
        axes = [f"{grid.array}_n{k}" for k in range(self.arrays[grid.array].ndim)]
        if grid.shape != axes or not self.arrays[grid.array].dtype:
            return None
        return self.arrays[grid.array].dtype, grid.shape, "", grid.array

    def _dtype(self, node: Any) -> str:
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            grid = self.value(node.value).grid
            if grid is not None and self.dtype_of(grid):
                return self.dtype_of(grid)
        dtype = self.object(node)
        try:
            name = np.dtype(dtype).name if dtype is not MISSING else ""
        except TypeError:
            name = ""
        if name not in DTYPES:
            self.refuse(f"the dtype `{ast.unparse(node)}`", node, f"Use {', '.join(DTYPES)}.")
        return name
