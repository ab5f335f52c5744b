"""Translates expressions of ints and pointers to LLVM text."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from ...kernels.constants import PAUSES
from .kernel_sources import Definition, KernelModule, Pointer, Special

INT, UINT, BOOL, NONE = "int", "uint", "bool", "none"  # kinds of values, besides pointers


class Unknown(Exception):
    """Raised for code that `translate` does not support; Numba compiles it."""


class Fields(NamedTuple):
    """The kind of a record."""

    names: tuple[str, ...]
    kinds: tuple[Any, ...]


class TextValue(NamedTuple):
    """A value: its kind and its LLVM text, or the parts of a record or tuple."""

    kind: Any
    text: str = ""
    parts: tuple[TextValue, ...] = ()


# Types in memory, and their conversion to a word.
_ELEMENTS = {
    "int8": ("i8", "sext"),
    "uint8": ("i8", "zext"),
    "int16": ("i16", "sext"),
    "uint16": ("i16", "zext"),
    "int32": ("i32", "sext"),
    "uint32": ("i32", "zext"),
    "int64": ("i64", ""),
    "uint64": ("i64", ""),
}
_SIMPLE = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
}
_COMPARED = {
    ast.Eq: ("eq", "eq"),
    ast.NotEq: ("ne", "ne"),
    ast.Lt: ("slt", "ult"),
    ast.LtE: ("sle", "ule"),
    ast.Gt: ("sgt", "ugt"),
    ast.GtE: ("sge", "uge"),
}
# Functions that passes call by address: the number of words they take, and their return type.
_CALLED = {f"call{k}": (k, "i64") for k in range(5)}
_CALLED |= {"call_kernel": (5, "void"), "call_array": (7, "void"), "call_loop": (3, "i64")}
# Functions that write a vector, and its bytes.
_VECTORS = {f"{name}{size}": size for name in ("copy", "fill") for size in (16, 32, 64)}
_PROCESSOR = llvm.get_process_triple().partition("-")[0].replace("arm64", "aarch64")


def type_of(kind: Any) -> str:
    """LLVM's name of a kind."""
    if kind in (INT, UINT):
        return "i64"
    if kind in (BOOL, NONE):
        return "i1" if kind is BOOL else "void"
    if isinstance(kind, Pointer):
        return "ptr"
    return f"{{ {', '.join(map(type_of, kind))} }}"


def flat_of(value: TextValue) -> list[TextValue]:
    """The values that a value is passed as: the parts of a record, else itself."""
    if isinstance(value.kind, Fields):
        return [flat for part in value.parts for flat in flat_of(part)]
    return [value]


def join_arguments(values: list[TextValue]) -> str:
    """The text of an argument or parameter list."""
    return ", ".join(f"{type_of(value.kind)} {value.text}" for value in values)


class Expressions(ABC):
    """Writes the instructions of expressions, one line each."""

    def __init__(self, names: KernelModule, constants: Mapping[str, int]) -> None:
        self._names, self._constants = names, constants
        self._lines: list[str] = []
        self._variables: dict[str, TextValue] = {}  # the parts of a record, else the stack slot
        self._count = 0
        self._label = "start"
        self._open = True  # whether the next instruction can be reached

    @abstractmethod
    def _function(self, definition: Definition, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """The name of a function for arguments of these kinds, and the kind of its result."""

    def _unknown(self, node: ast.AST) -> Unknown:
        line = getattr(node, "lineno", 0)
        return Unknown(f"{self._names.name}, line {line}: {ast.unparse(node)[:80]}")

    # Lines and blocks.

    def _line(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def _new(self) -> str:
        self._count += 1
        return f"{self._count}"

    def _emit(self, text: str) -> str:
        name = f"%v{self._new()}"
        self._lines.append(f"  {name} = {text}")
        return name

    def _begin(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._label, self._open = label, True

    def _jump(self, label: str) -> None:
        if self._open:
            self._line(f"br label %{label}")
        self._open = False

    def _labels(self, *names: str) -> list[str]:
        number = self._new()
        return [f"{name}{number}" for name in names]

    def _test(self, node: ast.expr, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        if isinstance(node, ast.BoolOp):
            for value in node.values[:-1]:
                (following,) = self._labels("and")
                if isinstance(node.op, ast.And):
                    self._test(value, following, no)
                else:
                    self._test(value, yes, following)
                self._begin(following)
            self._test(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._test(node.operand, no, yes)
        else:
            condition = self._truth(self._value(node), node)
            self._line(f"br i1 {condition}, label %{yes}, label %{no}")
            self._open = False

    # Values.

    def _value(self, node: ast.expr) -> TextValue:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._unknown(node)
        value: TextValue = method(node)
        return value

    def _as(self, kind: object, value: TextValue, node: ast.AST) -> str:
        """The text of a value converted to a kind."""
        if value.kind == kind:
            return value.text
        if kind == INT and value.kind == BOOL:
            return self._emit(f"zext i1 {value.text} to i64")
        raise self._unknown(node)

    def _truth(self, value: TextValue, node: ast.AST) -> str:
        if value.kind == BOOL:
            return value.text
        if value.kind in (INT, UINT):
            return self._emit(f"icmp ne i64 {value.text}, 0")
        raise self._unknown(node)

    def _constant(self, node: ast.Constant) -> TextValue:
        return self._literal(node.value, node)

    def _literal(self, value: object, node: ast.AST) -> TextValue:
        if isinstance(value, bool):
            return TextValue(BOOL, "true" if value else "false")
        if not isinstance(value, int):
            raise self._unknown(node)
        return TextValue(INT, str((value + (1 << 63)) % (1 << 64) - (1 << 63)))

    def _name(self, node: ast.Name) -> TextValue:
        if node.id not in self._variables:
            return self._literal(self._names.names.get(node.id), node)
        variable = self._variables[node.id]
        if variable.parts:
            return variable
        text = self._emit(f"load {type_of(variable.kind)}, ptr {variable.text}")
        return TextValue(variable.kind, text)

    def _tuple(self, node: ast.Tuple) -> TextValue:
        parts = tuple(self._value(x) for x in node.elts)
        return TextValue(tuple(part.kind for part in parts), parts=parts)

    def _attribute(self, node: ast.Attribute) -> TextValue:
        holder = self._value(node.value)
        if not isinstance(holder.kind, Fields) or node.attr not in holder.kind.names:
            raise self._unknown(node)
        return holder.parts[holder.kind.names.index(node.attr)]

    def _element(self, node: ast.Subscript) -> tuple[Pointer, str]:
        holder = self._value(node.value)
        if not isinstance(holder.kind, Pointer) or holder.kind.dtype not in _ELEMENTS:
            raise self._unknown(node)
        index = self._as(INT, self._value(node.slice), node)
        kind = _ELEMENTS[holder.kind.dtype][0]
        return holder.kind, self._emit(f"getelementptr {kind}, ptr {holder.text}, i64 {index}")

    def _subscript(self, node: ast.Subscript) -> TextValue:
        if isinstance(node.slice, ast.Name) and node.slice.id in self._constants:
            return self._literal(self._constants[node.slice.id], node)
        return self._get(*self._element(node))

    def _get(self, pointer: Pointer, place: str) -> TextValue:
        kind, way = _ELEMENTS[pointer.dtype]
        text = self._emit(f"load {kind}, ptr {place}")
        if way:
            text = self._emit(f"{way} {kind} {text} to i64")
        return TextValue(UINT if pointer.dtype == "uint64" else INT, text)

    def _put(self, pointer: Pointer, place: str, value: TextValue, node: ast.AST) -> None:
        kind, way = _ELEMENTS[pointer.dtype]
        text = value.text if value.kind == UINT else self._as(INT, value, node)
        if way:
            text = self._emit(f"trunc i64 {text} to {kind}")
        self._line(f"store {kind} {text}, ptr {place}")

    def _unaryop(self, node: ast.UnaryOp) -> TextValue:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return TextValue(BOOL, self._emit(f"xor i1 {self._truth(value, node)}, true"))
        text = self._as(INT, value, node)
        if isinstance(node.op, ast.USub):
            return TextValue(INT, self._emit(f"sub i64 0, {text}"))
        if isinstance(node.op, ast.Invert):
            return TextValue(INT, self._emit(f"xor i64 {text}, -1"))
        raise self._unknown(node)

    def _binop(self, node: ast.BinOp) -> TextValue:
        return self._binary_op(node.op, self._value(node.left), self._value(node.right), node)

    def _binary_op(self, op: ast.operator, x: TextValue, y: TextValue, node: ast.AST) -> TextValue:
        if x.kind == y.kind == BOOL and isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return TextValue(BOOL, self._emit(f"{_SIMPLE[type(op)]} i1 {x.text}, {y.text}"))
        kind = UINT if x.kind == UINT else INT
        a, b = self._as(kind, x, node), self._as(kind, y, node)
        if type(op) in _SIMPLE:
            return TextValue(kind, self._emit(f"{_SIMPLE[type(op)]} i64 {a}, {b}"))
        if isinstance(op, ast.RShift):
            return TextValue(kind, self._emit(f"{'lshr' if kind is UINT else 'ashr'} i64 {a}, {b}"))
        if kind is INT and isinstance(op, ast.FloorDiv | ast.Mod):
            return TextValue(INT, self._divide(a, b, isinstance(op, ast.Mod)))
        raise self._unknown(node)

    def _divide(self, a: str, b: str, rest: bool) -> str:
        """Division rounded down, as in Python; 0 where Python raises."""
        constant = int(b) if b.lstrip("-").isdigit() else 0
        if constant > 0 and constant & (constant - 1) == 0:
            shift, mask = constant.bit_length() - 1, constant - 1
            return self._emit(f"and i64 {a}, {mask}" if rest else f"ashr i64 {a}, {shift}")
        zero = self._emit(f"icmp eq i64 {b}, 0")
        by = self._emit(f"select i1 {zero}, i64 1, i64 {b}")
        quotient, left = self._emit(f"sdiv i64 {a}, {by}"), self._emit(f"srem i64 {a}, {by}")
        some = self._emit(f"icmp ne i64 {left}, 0")
        signs = self._emit(f"icmp slt i64 {self._emit(f'xor i64 {left}, {by}')}, 0")
        below = self._emit(f"and i1 {some}, {signs}")
        if rest:
            more = self._emit(f"select i1 {below}, i64 {by}, i64 0")
            rounded = self._emit(f"add i64 {left}, {more}")
        else:
            rounded = self._emit(f"sub i64 {quotient}, {self._emit(f'zext i1 {below} to i64')}")
        return self._emit(f"select i1 {zero}, i64 0, i64 {rounded}")

    def _compare(self, node: ast.Compare) -> TextValue:
        x = self._value(node.left)
        condition = ""
        for op, right in zip(node.ops, node.comparators, strict=True):
            if condition and not isinstance(right, ast.Name | ast.Constant):
                raise self._unknown(node)  # evaluated only if the first comparison holds
            y = self._value(right)
            if type(op) not in _COMPARED:
                raise self._unknown(node)
            kind = UINT if x.kind == UINT else INT
            way = _COMPARED[type(op)][kind is UINT]
            a, b = self._as(kind, x, node), self._as(kind, y, node)
            one = self._emit(f"icmp {way} i64 {a}, {b}")
            condition = self._emit(f"and i1 {condition}, {one}") if condition else one
            x = y
        return TextValue(BOOL, condition)

    def _is_bool(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            variable = self._variables.get(node.id)
            return variable is not None and variable.kind == BOOL
        if isinstance(node, ast.BoolOp):
            return all(map(self._is_bool, node.values))
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        return isinstance(node, ast.Compare)

    def _boolop(self, node: ast.BoolOp) -> TextValue:
        if not self._is_bool(node):
            raise self._unknown(node)
        yes, no, after = self._labels("yes", "no", "after")
        self._test(node, yes, no)
        for label in (yes, no):
            self._begin(label)
            self._jump(after)
        self._begin(after)
        return TextValue(BOOL, self._emit(f"phi i1 [true, %{yes}], [false, %{no}]"))

    def _ifexp(self, node: ast.IfExp) -> TextValue:
        yes, no, after = self._labels("yes", "no", "after")
        self._test(node.test, yes, no)
        ways = []
        self._begin(yes)
        x = self._value(node.body)
        x_end = len(self._lines), self._label
        self._jump(after)
        self._begin(no)
        y = self._value(node.orelse)
        kind = x.kind if x.kind == y.kind else INT
        ways.append(f"[{self._as(kind, y, node)}, %{self._label}]")
        self._jump(after)
        if x.kind != kind:  # convert a bool to an int at the end of its branch
            text = f"%v{self._new()}"
            self._lines.insert(x_end[0], f"  {text} = zext i1 {x.text} to i64")
            x = TextValue(INT, text)
        ways.append(f"[{x.text}, %{x_end[1]}]")
        self._begin(after)
        if kind not in (INT, UINT, BOOL) and not isinstance(kind, Pointer):
            raise self._unknown(node)
        return TextValue(kind, self._emit(f"phi {type_of(kind)} {', '.join(ways)}"))

    # Calls.

    def _call(self, node: ast.Call) -> TextValue:
        if node.keywords:
            raise self._unknown(node)
        args = [self._value(x) for x in node.args]
        if isinstance(node.func, ast.Attribute):
            return self._convert(ast.unparse(node.func), args, node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        known = self._names.names.get(name)
        if isinstance(known, Definition):
            return self._call_of(known, args, node)
        if isinstance(known, Pointer):
            (address,) = args
            text = self._emit(f"inttoptr i64 {self._as(INT, address, node)} to ptr")
            return TextValue(known, text)
        if known is None and name in ("min", "max") and args:
            texts = [self._as(INT, value, node) for value in args]
            extreme = texts[0]
            for text in texts[1:]:
                extreme = self._emit(f"call i64 @llvm.s{name}.i64(i64 {extreme}, i64 {text})")
            return TextValue(INT, extreme)
        if type(known) is tuple and len(known) == len(args):  # a record, by its fields' names
            return TextValue(Fields(known, tuple(value.kind for value in args)), parts=tuple(args))
        if isinstance(known, Special):
            return self._special(known.name, [self._as(INT, x, node) for x in args], node)
        raise self._unknown(node)

    def _convert(self, name: str, args: list[TextValue], node: ast.AST) -> TextValue:
        kind = {"np.int64": INT, "np.uint64": UINT}.get(name)
        if kind is None or len(args) != 1:
            raise self._unknown(node)
        (value,) = args
        return TextValue(kind, value.text if value.kind == UINT else self._as(INT, value, node))

    def _call_of(self, known: Definition, args: list[TextValue], node: ast.AST) -> TextValue:
        name, kind = self._function(known, tuple(value.kind for value in args))
        if kind is None:  # it calls itself
            raise self._unknown(node)
        flat = [one for value in args for one in flat_of(value)]
        call = f'call {type_of(kind)} @"{name}"({join_arguments(flat)})'
        if kind is NONE:
            self._line(call)
            return TextValue(NONE)
        result = self._emit(call)
        if isinstance(kind, str | Pointer):
            return TextValue(kind, result)
        parts = tuple(
            TextValue(one, self._emit(f"extractvalue {type_of(kind)} {result}, {k}"))
            for k, one in enumerate(kind)
        )
        return TextValue(kind, parts=parts)

    def _special(self, name: str, args: list[str], node: ast.AST) -> TextValue:
        if name in ("fetch_add", "exchange", "load_now"):
            place = f"ptr {self._emit(f'inttoptr i64 {args[0]} to ptr')}"
            if name == "load_now":
                return TextValue(INT, self._emit(f"load atomic i64, {place} seq_cst, align 8"))
            way = "add" if name == "fetch_add" else "xchg"
            return TextValue(INT, self._emit(f"atomicrmw {way} {place}, i64 {args[1]} seq_cst"))
        if name == "double_bits":
            number = self._emit(f"sitofp i64 {args[0]} to double")
            return TextValue(INT, self._emit(f"bitcast double {number} to i64"))
        if name == "single_bits":
            number = self._emit(f"bitcast i64 {args[0]} to double")
            single = self._emit(f"fptrunc double {number} to float")
            bits = self._emit(f"bitcast float {single} to i32")
            return TextValue(INT, self._emit(f"zext i32 {bits} to i64"))
        if name == "pause":
            intrinsic, words = PAUSES.get(_PROCESSOR, ("", ()))
            if intrinsic:
                arguments = ", ".join(f"i32 {word}" for word in words)
                self._lines.append(f"  call void @{intrinsic}({arguments})")
            return TextValue(NONE)
        if name in _VECTORS:
            out = self._emit(f"inttoptr i64 {args[0]} to ptr")
            size = _VECTORS[name]
            if name.startswith("copy"):
                x = self._emit(f"inttoptr i64 {args[1]} to ptr")
                vector = f"<{size} x i8>"
                value = self._emit(f"load {vector}, ptr {x}, align 1")
            else:
                lanes = size // 8
                vector = f"<{lanes} x i64>"
                value = self._emit(f"insertelement {vector} poison, i64 {args[1]}, i32 0")
                places = f"<{lanes} x i32> zeroinitializer"
                value = self._emit(f"shufflevector {vector} {value}, {vector} poison, {places}")
            self._line(f"store {vector} {value}, ptr {out}, align 1")
            return TextValue(NONE)
        if name not in _CALLED or len(args) != _CALLED[name][0] + 1:
            raise self._unknown(node)
        result = _CALLED[name][1]
        function = self._emit(f"inttoptr i64 {args[0]} to ptr")
        call = f"call {result} {function}({', '.join(f'i64 {x}' for x in args[1:])})"
        if result == "void":
            self._line(call)
            return TextValue(NONE)
        return TextValue(INT, self._emit(call))
