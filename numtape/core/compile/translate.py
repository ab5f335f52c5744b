"""Translates functions of ints and pointers to LLVM text, without Numba.

With an empty cache, passes over logs are compiled first. They use a small subset of Python: 64-bit
ints, bools, pointers, records of these; assignments, conditions, loops over ranges, and calls of
each other. For this subset Numba's type inference takes ten times as long as LLVM. Unsupported code
raises `Unknown` and is left to Numba, which gives it the same meaning. A test compares passes with
the same functions run by Python.

A value's kind is an int or pointer type, or a record. A function is written once for each
combination of argument kinds. Recursive functions are not supported, because the kind of a result
is known only when the function has been written. Variables are stack slots, which LLVM turns into
registers.

Most of the code consists of branches, for which few of LLVM's optimizations matter. Functions with
the decorator ``loop`` are the exception, so their text is separate.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

from .expressions import (
    BOOL,
    INT,
    NONE,
    UINT,
    Expressions,
    Fields,
    TextValue,
    Unknown,
    join_arguments,
    type_of,
)
from .kernel_sources import Definition, Pointer, module


class EntryPoint(NamedTuple):
    """An entry point: a function that takes the address of a block with its arguments.

    Without ``block`` it takes the arguments themselves, as words.
    """

    symbol: str
    module: str
    name: str
    kinds: tuple[Any, ...]
    block: bool = True


class _Unit:
    """The functions written so far, by definition and argument kinds.

    Attributes:
      texts: Their texts, and declarations of loops.
      loops: The texts of loops over elements.
    """

    def __init__(self, constants: Mapping[str, int]) -> None:
        self.texts: list[str] = []
        self.constants = constants
        self.loops: list[str] = []
        self._known: dict[tuple[Any, ...], tuple[str, Any]] = {}

    def function(self, definition: Definition, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """The name of a function for arguments of these kinds, and the kind of its result."""
        key = (definition, *kinds)
        if key not in self._known:
            name = f"{definition.node.name}.{len(self._known)}"
            self._known[key] = name, None  # until it is written: only recursive calls see None
            body = _Body(self, definition, kinds)
            text = body.write(name)
            if definition.loop:
                self.loops.append(text)
                self.texts.append(body.declaration(name))
            else:
                self.texts.append(text)
            self._known[key] = name, body.returns
        return self._known[key]


def translate(
    entries: list[EntryPoint], constants: Mapping[str, int] | None = None
) -> tuple[str, str]:
    """LLVM text of functions and all that they call, and the text of the loops among these.

    ``constants`` are elements of tables that are known, by the names of their indices.
    """
    unit = _Unit(constants or {})
    for entry in entries:
        definition = module(entry.module).names.get(entry.name)
        if not isinstance(definition, Definition):
            raise Unknown(f"{entry.name} is not a jitted function of {entry.module}.")
        name, kind = unit.function(definition, entry.kinds)
        lines = ["%p = inttoptr i64 %block to ptr"] if entry.block else []
        flat: list[TextValue] = []
        for of in entry.kinds:
            for one in of.kinds if isinstance(of, Fields) else (of,):
                k = len(flat)
                if entry.block:
                    lines += [
                        f"%a{k} = getelementptr i64, ptr %p, i64 {k}",
                        f"%w{k} = load i64, ptr %a{k}",
                    ]
                if isinstance(one, Pointer):
                    lines.append(f"%v{k} = inttoptr i64 %w{k} to ptr")
                flat.append(TextValue(one, f"%v{k}" if isinstance(one, Pointer) else f"%w{k}"))
        call = f'call {type_of(kind)} @"{name}"({join_arguments(flat)})'
        if kind is NONE:
            lines += [call, "ret i64 0"]
        elif kind is BOOL:
            lines += [f"%r = {call}", "%s = zext i1 %r to i64", "ret i64 %s"]
        elif kind is INT:
            lines += [f"%r = {call}", "ret i64 %r"]
        else:
            raise Unknown(f"{entry.name} must return a number or None.")
        body = "\n".join(f"  {line}" for line in lines)
        words = "i64 %block" if entry.block else ", ".join(f"i64 %w{k}" for k in range(len(flat)))
        unit.texts.append(f'define i64 @"{entry.symbol}"({words}) nounwind {{\n{body}\n}}')
    return "\n".join(unit.texts) + "\n", "\n".join(unit.loops)


class _Body(Expressions):
    """Writes one function: its Python statements in order."""

    def __init__(self, unit: _Unit, definition: Definition, kinds: tuple[Any, ...]) -> None:
        super().__init__(definition.module, unit.constants)
        self._unit = unit
        self._definition = definition
        self._places: list[str] = []
        self._loops: list[tuple[str, str]] = []  # targets of ``continue`` and ``break``
        result = definition.node.returns
        name = ast.unparse(result) if result is not None else ""
        self.returns: Any = {"int": INT, "bool": BOOL, "None": NONE}.get(name)
        self._kinds = kinds

    def _function(self, definition: Definition, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        if self._definition.loop and not definition.loop:  # they are separate modules for LLVM
            own, other = self._definition.node.name, definition.node.name
            raise Unknown(f"The loop {own} must not call {other}, which is none.")
        return self._unit.function(definition, kinds)

    def write(self, name: str) -> str:
        """The text of the whole function."""
        node = self._definition.node
        if len(node.args.args) != len(self._kinds):
            raise self._unknown(node)
        parameters: list[TextValue] = []

        def take(kind: object) -> TextValue:
            if isinstance(kind, Fields):
                return TextValue(kind, parts=tuple(map(take, kind.kinds)))
            parameters.append(TextValue(kind, f"%p{len(parameters)}"))
            return parameters[-1]

        for argument, kind in zip(node.args.args, self._kinds, strict=True):
            value = take(kind)
            if isinstance(kind, Fields):
                self._variables[argument.arg] = value
            else:
                self._assign(argument.arg, value, node)
        self._statements(node.body)
        if self.returns is None:
            self.returns = NONE
        if self._open and self.returns is not NONE:
            raise self._unknown(node)  # control may reach the end without a result
        if self._open:
            self._line("ret void")
        inline = " alwaysinline" if self._definition.inline else ""
        arguments = join_arguments(parameters)
        linkage = "" if self._definition.loop else "internal "
        head = f'define {linkage}{type_of(self.returns)} @"{name}"({arguments}) nounwind'
        body = "\n".join(["start:", *self._places, *self._lines])
        return f"{head}{inline} {{\n{body}\n}}"

    def declaration(self, name: str) -> str:
        """The declaration of a function whose text has been written."""
        flat = [x for of in self._kinds for x in (of.kinds if isinstance(of, Fields) else (of,))]
        kinds = ", ".join(map(type_of, flat))
        return f'declare {type_of(self.returns)} @"{name}"({kinds}) nounwind'

    # Statements.

    def _statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if self._open:
                self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self._value(node.value)
        elif isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                self._store(target, value)
        elif isinstance(node, ast.AugAssign):
            self._change(node)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.While) and not node.orelse:
            self._while(node)
        elif isinstance(node, ast.For) and not node.orelse:
            self._for(node)
        elif isinstance(node, ast.Return):
            self._return(node)
        elif isinstance(node, ast.Continue | ast.Break):
            self._jump(self._loops[-1][isinstance(node, ast.Break)])
        else:
            raise self._unknown(node)

    def _store(self, target: ast.expr, value: TextValue) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value, target)
        elif isinstance(target, ast.Tuple) and len(target.elts) == len(value.parts):
            for one, part in zip(target.elts, value.parts, strict=True):
                self._store(one, part)
        elif isinstance(target, ast.Subscript):
            self._put(*self._element(target), value, target)
        else:
            raise self._unknown(target)

    def _assign(self, name: str, value: TextValue, node: ast.AST) -> None:
        if isinstance(value.kind, Fields):  # a record is assigned only once
            if name in self._variables:
                raise self._unknown(node)
            self._variables[name] = value
            return
        if name not in self._variables:
            if value.kind not in (INT, UINT, BOOL) and not isinstance(value.kind, Pointer):
                raise self._unknown(node)
            place = f"%{name}.at"
            self._places.append(f"  {place} = alloca {type_of(value.kind)}")
            self._variables[name] = TextValue(value.kind, place)
        kind, place, _ = self._variables[name]
        text = self._as(kind, value, node)
        self._line(f"store {type_of(kind)} {text}, ptr {place}")

    def _change(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            pointer, place = self._element(node.target)
            before = self._get(pointer, place)
            now = self._binary_op(node.op, before, self._value(node.value), node)
            self._put(pointer, place, now, node)
        elif isinstance(node.target, ast.Name):
            before = self._name(node.target)
            now = self._binary_op(node.op, before, self._value(node.value), node)
            self._assign(node.target.id, now, node)
        else:
            raise self._unknown(node)

    def _if(self, node: ast.If) -> None:
        yes, no, after = self._labels("yes", "no", "after")
        self._test(node.test, yes, no)
        reached = False
        for label, nodes in ((yes, node.body), (no, node.orelse)):
            self._begin(label)
            self._statements(nodes)
            reached |= self._open
            self._jump(after)
        if reached:
            self._begin(after)

    def _while(self, node: ast.While) -> None:
        condition, body, after = self._labels("again", "body", "done")
        self._jump(condition)
        self._begin(condition)
        self._test(node.test, body, after)
        self._loop(node.body, body, condition, after)

    def _loop(self, nodes: list[ast.stmt], body: str, condition: str, after: str) -> None:
        self._loops.append((condition, after))
        self._begin(body)
        self._statements(nodes)
        self._jump(condition)
        self._loops.pop()
        self._begin(after)

    def _for(self, node: ast.For) -> None:
        """A loop over a range, whose counter and end are separate from the variable."""
        call, target = node.iter, node.target
        if (
            not isinstance(call, ast.Call)
            or ast.unparse(call.func) != "range"
            or len(call.args) > 2
            or not isinstance(target, ast.Name)
        ):
            raise self._unknown(node)
        bounds = [self._as(INT, self._value(x), x) for x in call.args]
        start, end = bounds if len(bounds) == 2 else ("0", bounds[0])
        condition, body, more, after = self._labels("again", "body", "more", "done")
        place = f"%.{condition}"  # no clash with variables, whose slots are called %name.at
        self._places.append(f"  {place} = alloca i64")
        self._line(f"store i64 {start}, ptr {place}")
        self._jump(condition)
        self._begin(more)
        following = self._emit(f"add nsw i64 {self._emit(f'load i64, ptr {place}')}, 1")
        self._line(f"store i64 {following}, ptr {place}")
        self._jump(condition)
        self._begin(condition)
        now = self._emit(f"load i64, ptr {place}")
        inside = self._emit(f"icmp slt i64 {now}, {end}")
        self._line(f"br i1 {inside}, label %{body}, label %{after}")
        # The variable is set where the body begins.
        self._begin(body)
        self._assign(target.id, TextValue(INT, now), node)
        (begin,) = self._labels("begin")
        self._jump(begin)
        self._loop(node.body, begin, more, after)

    def _return(self, node: ast.Return) -> None:
        value = TextValue(NONE) if node.value is None else self._value(node.value)
        if self.returns is None:
            self.returns = tuple(p.kind for p in value.parts) if value.parts else value.kind
        if self.returns is NONE:
            self._line("ret void")
        elif isinstance(self.returns, tuple) and not isinstance(self.returns, Pointer):
            whole = "poison"
            for k, (kind, part) in enumerate(zip(self.returns, value.parts, strict=True)):
                text = f"{type_of(kind)} {self._as(kind, part, node)}"
                whole = self._emit(f"insertvalue {type_of(self.returns)} {whole}, {text}, {k}")
            self._line(f"ret {type_of(self.returns)} {whole}")
        else:
            self._line(f"ret {type_of(self.returns)} {self._as(self.returns, value, node)}")
        self._open = False
