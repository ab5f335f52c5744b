"""A function in normal form: statements of one operation each, helpers inlined, one way out.

What a kernel cannot have is refused here, by name and line. Expressions are in `expressions`.
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from .calls import Calls
from .expressions import OPERATORS, constant
from .frame import Frame, Value
from .nodes import Array, Body, Branch, Count, Make, Node, Repeat, Step, address, shadow, walk
from .source import Source

MOST = 20_000  # steps: more would take minutes to compile


def normal(function: FunctionType, kinds: list[tuple[str, int]]) -> Body:
    """A function in normal form.

    Args:
      function: What to transform.
      kinds: For each argument its dtype, and its number of axes: -1 of a number.
    """
    source = Source(function)
    writer = Normal()
    frame = Frame(source, writer.prefix(source))
    scalars, names = {}, []
    for parameter, (dtype, ndim) in zip(source.parameters, kinds, strict=True):
        name = frame.rename(parameter)
        names.append(name)
        if ndim < 0:
            scalars[name] = dtype
        else:
            writer.arrays[name] = Array(dtype, ndim, True)
            frame.bound[parameter] = Value(array=name)
            for k in range(ndim):
                writer.low[f"{name}_n{k}"] = 0
    result = writer.function(frame)
    found = function.__name__
    name = found if found.isidentifier() else "function"
    return Body(name, scalars, writer.arrays, names, writer.out, result, source.file, source.line,
                raised=writer.raised)


class Normal(Calls):
    """Writes statements of one operation each into ``out``."""

    def function(self, frame: Frame) -> str:
        """Write what a function does. Returns the name of its result; "" if it gives none."""
        result = ""
        self.frames.append(frame)
        for statement in frame.exits.body:
            if isinstance(statement, ast.Return):
                if statement.value is not None:
                    value = self.value(statement.value)
                    if value.array or value.items is not None:
                        frame.source.refuse(
                            "an array or a tuple as its result", statement,
                            "Return one number, and write arrays to arguments.",
                        )  # fmt: skip
                    result = value.name
            else:
                self.statement(statement)
        self.frames.pop()
        return result

    def block(self, statements: list[ast.stmt]) -> list[Node]:
        """The nodes of statements."""
        outer, self.out = self.out, []
        for statement in statements:
            self.statement(statement)
        found, self.out = self.out, outer
        return found

    def statement(self, node: Any) -> None:
        """Write a statement."""
        self.count += 1
        if self.count > MOST:
            self.refuse("so many statements, with those of its helpers", node, "Split it.")
        write = getattr(self, f"_do_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{_keyword(node)}`", node, _WAYS.get(type(node), "Leave it out."))
        write(node)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call) and self.helper(node.value) is not None:
            self.call(node.value, "", False)
            return
        self.refuse("an expression whose value is not used", node, "Leave it out.")

    def _do_Assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if isinstance(first, ast.Tuple) and len(node.targets) == 1:
            return self.unpack(first, node.value)
        if len(node.targets) == 1 and isinstance(first, ast.Name):
            if self.make(first.id, node.value):
                return None
            self.assign_name(first, node.value)
            return None
        value = self.number(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.put(self.target(target), "copy", [value], node)
            else:
                self.store(target, value)
        return None

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._do_Assign(ast.Assign([node.target], node.value, lineno=node.lineno))

    def assign_name(self, target: ast.Name, value: ast.expr) -> None:
        """Write ``name = value``."""
        name = self.target(target)
        self.number(value, name)

    def unpack(self, target: ast.Tuple, value: ast.expr) -> None:
        """``a, b = c, d``: all values come before the first is assigned."""
        if not isinstance(value, ast.Tuple):
            found = self.value(value)
            items = found.items
            if items is None:
                self.refuse("a tuple that is not written out", value, "Assign its parts by name.")
        else:
            items = [self.put("", "copy", [self.number(x)], x) for x in value.elts]
        if len(items) != len(target.elts):
            self.refuse("a tuple of another length", target, "Give each name one value.")
        for one, item in zip(target.elts, items, strict=True):
            if isinstance(one, ast.Name):
                self.put(self.target(one), "copy", [item], one)
            else:
                self.store(one, item)

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            load = ast.Name(node.target.id, ast.Load())
            self.assign_name(node.target, _like(ast.BinOp(load, node.op, node.value), node))
            return None
        if not isinstance(node.target, ast.Subscript):
            return self.store(node.target, "0")
        array, place = self.element(node.target)
        operator = OPERATORS.get(type(node.op))
        adds = isinstance(node.op, ast.Add | ast.Sub) and self.arrays[array].dtype[0] == "f"
        if adds and not any(self.helper(x) for x in ast.walk(node.value)):
            value = self.number(node.value)
            name = "sub" if isinstance(node.op, ast.Sub) else "acc"
            return self.write(Step("", name, [place, value], "", self.line(node), array))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with arithmetic.")
        old = self.load(array, place, node)
        value = self.put("", operator, [old, self.number(node.value)], node)
        return self.write(Step("", "store", [place, value], "", self.line(node), array))

    def store(self, target: Any, value: str) -> None:
        """Put a value in its place in an array."""
        if not isinstance(target, ast.Subscript):
            self.refuse(f"an assignment to `{ast.unparse(target)}`", target,
                        "Assign to names and to elements of arrays.")
        array, place = self.element(target)
        self.write(Step("", "store", [place, value], "", self.line(target), array))

    def make(self, local: str, value: ast.expr) -> bool:
        """Write ``name = np.zeros(...)`` and the like; False if it is none."""
        made = self.new_array(value)
        if made is None:
            return False
        frame = self.frames[-1]
        if frame.stores.get(local, 0) > 1 or local in frame.source.parameters:
            self.refuse(f"an array under the name `{local}`, which has another value elsewhere",
                        value, "Take a name of its own for each array.")  # fmt: skip
        dtype, shape, fill, copied = made
        name = frame.rename(local)
        size = ""
        for k, length in enumerate(shape):
            axis = self.put(f"{name}_n{k}", "copy", [length], value)
            self.low[axis] = 0
            size = self.put("", "*", [size, axis], value) if size else axis
        self.arrays[name] = Array(dtype, len(shape), False)
        frame.bound[local] = Value(array=name)
        self.write(Make(name, size, fill, copied, self.line(value)))
        self.low[address(name)] = self.low[shadow(name)] = 0
        return True

    def _do_If(self, node: ast.If) -> None:
        test = self.truth(node.test)
        if test in ("True", "False"):
            for statement in node.body if test == "True" else node.orelse:
                self.statement(statement)
            return
        self.write(Branch(test, self.block(node.body), self.block(node.orelse), self.line(node)))

    def _do_While(self, node: ast.While) -> None:
        outer, self.out = self.out, []
        test = self.truth(node.test)
        head, self.out = self.out, outer
        if any(isinstance(n, Make) or (isinstance(n, Step) and n.op in ("store", "acc", "sub"))
               for n in walk(head)):  # fmt: skip
            self.refuse("a helper that writes to arrays in the condition of `while`", node,
                        "Call it in the loop.")
        self.write(Repeat(head, test, self.block(node.body), self.line(node)))

    def _do_For(self, node: ast.For) -> None:
        low, high, step = self.range(node.iter)
        if not isinstance(node.target, ast.Name):
            self.refuse("a loop over more than one name", node, "Loop over a range.")
        local = node.target.id
        if hasattr(node, "go"):
            self.leaving(node, local, low, high, step)
            return
        frame = self.frames[-1]
        if local in frame.steady:
            name = frame.rename(local)
            frame.bound.pop(local, None)
        else:
            name = self.fresh()
        starts = low if step > 0 else high
        first: Any = constant(starts)
        known: Any = self.low.get(starts) if first is None else first
        if known is not None:
            self.low[name] = known if step > 0 else known + 1
        else:
            self.low.pop(name, None)
        body: list[ast.stmt] = node.body
        outer, self.out = self.out, []
        if local not in frame.steady:
            self.put(self.target(node.target), "copy", [name], node)
        for statement in body:
            self.statement(statement)
        inner, self.out = self.out, outer
        self.write(Count(name, low, high, step, inner, self.line(node)))

    def leaving(self, node: Any, local: str, low: str, high: str, step: int) -> None:
        """A loop over a range that may be left: ``while go``, and the next number in each round."""
        at = self.fresh()
        self.put(at, "copy", [low], node)
        more = "<" if step > 0 else ">"
        go = self.target(ast.Name(node.go, ast.Store()))
        outer, self.out = self.out, []
        test = self.put("", f"compare {more}", [at, high], node)
        inside, self.out = self.out, []
        self.put(self.target(node.target), "copy", [at], node)
        self.put(at, "+", [at, str(step)], node)
        for statement in node.body:
            self.statement(statement)
        body, self.out = self.out, []
        self.put(go, "copy", ["False"], node)
        ends, self.out = self.out, inside
        self.out.append(Branch(test, body, ends, self.line(node)))
        rounds, self.out = self.out, outer
        self.write(Repeat([], go, rounds, self.line(node)))

    def range(self, node: ast.expr) -> tuple[str, str, int]:
        """The bounds of a range, which nothing assigns later, and its step."""
        called = self.object(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or called is not range or node.keywords:
            self.refuse(f"a loop over `{ast.unparse(node)}`", node,
                        "Loop over range(...) and read elements by their index.")  # fmt: skip
        given = [self.number(x) for x in node.args]
        if not 1 <= len(given) <= 3:
            self.refuse("a range of other than one to three numbers", node, "Write range(n).")
        step = constant(given[2]) if len(given) == 3 else 1
        if not isinstance(step, int) or not step:
            self.refuse("a range whose step is not a constant, or is 0", node,
                        "Count by ones and multiply, or write the step as a number.")  # fmt: skip
        low, high = given[:2] if len(given) > 1 else ("0", given[0])
        low, high = (x if constant(x) is not None or self.single(x)
                     else self.put("", "copy", [x], node) for x in (low, high))  # fmt: skip
        return low, high, step


_WAYS: dict[type, str] = {
    ast.Try: "Check what may fail with `if`.",
    ast.With: "Do it outside of the kernel.",
    ast.Global: "Take it as an argument.",
    ast.Nonlocal: "Take it as an argument.",
    ast.FunctionDef: "Define the helper outside of the kernel.",
    ast.Import: "Import outside of the kernel.",
    ast.ImportFrom: "Import outside of the kernel.",
    ast.Match: "Write it with `if` and `elif`.",
}


def _keyword(node: ast.AST) -> str:
    return {ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def", ast.ImportFrom: "import",
            ast.Delete: "del"}.get(type(node), type(node).__name__.lower())  # fmt: skip


def _like(node: Any, other: ast.stmt) -> Any:
    return ast.copy_location(node, other)
