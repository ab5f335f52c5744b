"""The mutants for `mutants.py`: single-node changes of rules, bodies, functions and passes."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
OPS, KERNELS = "numtape/core/ops", "kernels"
KINDS = ("rules", "bodies", "functions", "passes")
SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
PAIRS = (
    "min max",
    "minimum maximum",
    "sin cos",
    "sinh cosh",
    "floor ceil",
    "isnan isinf",
    "less greater",
    "above below",
    "reduce_max reduce_min",
    "SUM MAX",
)
RENAMED = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
# Ops whose operands can be swapped without effect.
SYMMETRIC = ("hypot", "maximum", "minimum", "max", "min", "broadcast_to")


class Mutant(NamedTuple):
    """A change: `text` replaces the bytes from `start` to `end` in `path`.

    Attributes:
      owner: The op's name, or the function's.
      ops: The names of the ops that it is part of.
      before, after: The complete body.
      top: The position of the rule that contains it.
    """

    kind: str
    path: str
    line: int
    start: int
    end: int
    text: str
    owner: str
    old: str
    new: str
    ops: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    top: tuple[int, int] = (0, 0)
    number: int = 1

    @property
    def name(self) -> str:
        """The key in the table of equivalents, without line numbers, which change."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{Path(self.path).stem} {self.owner}: {self.old} -> {self.new}{again}"


def changes(top: ast.AST, calls: bool) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yields each mutable node and its replacements; with `calls`, also f(x) to x."""
    for node in walk(top):
        for changed in alternatives(node, calls):
            yield node, changed


def walk(top: ast.AST) -> Iterator[ast.AST]:
    """The executed nodes, without annotations, decorators, docstrings and internal checks."""
    yield top
    for name, value in ast.iter_fields(top):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            checked = isinstance(child, ast.keyword) and child.arg == "strict"  # of `zip`
            if isinstance(child, ast.AST) and not text and not checked:
                yield from walk(child)


def other(node: Any, **fields: Any) -> Any:
    """A copy of a node with modified fields."""
    found = copy.copy(node)
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def alternatives(node: Any, calls: bool) -> Iterator[ast.AST]:
    """The replacements of a node."""
    if isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in numbers(node.value))
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        yield other(node, op=SWAPPED[type(node.op)]()) if type(node.op) in SWAPPED else node
        if isinstance(node, ast.BinOp):
            yield node.left
            if isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)):
                yield node.right
            else:
                yield other(node, left=node.right, right=node.left)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        if type(node.ops[0]) in SWAPPED:
            yield other(node, ops=[SWAPPED[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield other(node, op=SWAPPED[type(node.op)]())
        for value in node.values:
            left = [x for x in node.values if x is not value]
            yield other(node, values=left) if len(left) > 1 else left[0]
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield other(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        yield other(node, elts=[node.elts[1], node.elts[0], *node.elts[2:]])
    elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name in RENAMED:
            field = "id" if isinstance(node.func, ast.Name) else "attr"
            yield other(node, func=other(node.func, **{field: RENAMED[name]}))
        if len(node.args) > 1 and calls and name not in SYMMETRIC:
            last, before = node.args[-1], node.args[-2]
            yield other(node, args=[*node.args[:-2], last, before])
        if len(node.args) == 1 and calls and not isinstance(node.args[0], ast.Starred):
            yield node.args[0]


def numbers(value: Any) -> tuple[Any, ...]:
    """The replacements of a constant."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (1 - value,) if value in (0, 1) else (value + 1,)
    if isinstance(value, float):
        return {0.0: (1.0,), 1.0: (-1.0, 0.5)}.get(value, (-value, value * 1.01))
    return ()


class Module:
    """A file and its tree; creates the mutants of its nodes."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT).as_posix()
        self.source = path.read_bytes()
        self.tree = ast.parse(self.source)
        lines = self.source.splitlines(keepends=True)
        self.starts = [0, *(sum(map(len, lines[: k + 1])) for k in range(len(lines)))]

    def span(self, node: Any) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def mutants(
        self, kind: str, part: Any, owner: str, rule: Any = None, ops: tuple[str, ...] = ()
    ) -> Iterator[Mutant]:
        """The mutants of a part of the module's tree."""
        for node, changed in changes(part, calls=kind == "rules"):
            old, new = ast.unparse(node), ast.unparse(changed)
            if old != new:
                text = new if isinstance(node, ast.stmt) else f"({new})"
                yield Mutant(
                    kind,
                    self.path,
                    node.lineno,
                    *self.span(node),
                    text,
                    owner,
                    old,
                    new,
                    ops,
                    top=top_of(rule),
                )

    def texts(self, node: Any, text: str, owner: str) -> Iterator[Mutant]:
        """The mutants of a string that contains an expression."""
        tree = ast.parse(text, mode="eval")
        for part, changed in changes(tree.body, calls=True):
            old, new = ast.unparse(part), ast.unparse(changed)
            start, end = part.col_offset, part.end_col_offset
            whole = f"{text[:start]}({new}){text[end:]}"
            if old != new and ast.dump(ast.parse(whole)) != ast.dump(ast.parse(text)):
                yield Mutant(
                    "bodies",
                    self.path,
                    node.lineno,
                    *self.span(node),
                    repr(whole),
                    owner,
                    old,
                    new,
                    (owner,),
                    text,
                    whole,
                )


def of_ops(module: Module) -> Iterator[Mutant]:
    """The mutants of the rules and bodies of a module's op records."""
    strings: dict[str, str] = {}
    functions = {x.name: x for x in module.tree.body if isinstance(x, ast.FunctionDef)}
    used: dict[str, list[str]] = {}
    for statement in module.tree.body:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and isinstance(value, (ast.Constant, ast.JoinedStr)):
            text = constant(value, strings)
            if text is not None:
                strings[statement.targets[0].id] = text  # type: ignore[attr-defined]
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id not in ("defop", "unary_op", "binary_op", "host_op"):
                continue
            fields = {word.arg: word.value for word in call.keywords}
            if call.func.id != "defop":
                second = "function" if call.func.id == "host_op" else "body"
                fields |= dict(zip(("name", second, "vjp"), call.args, strict=False))
            if not call.args or (name := constant(call.args[0], {})) is None:
                continue
            if (text := constant(fields.get("body"), strings)) is not None:
                yield from module.texts(fields["body"], text, name)
            rule = fields.get("vjp")
            if isinstance(rule, ast.Lambda):
                yield from module.mutants("rules", rule.body, name, rule, (name,))
            for part in ast.walk(rule) if rule is not None else ():
                if isinstance(part, ast.Name) and part.id in functions and part.id.startswith("_"):
                    used.setdefault(part.id, []).append(name)
    left = list(used)
    while left:  # includes helpers of rules in the module; public functions are ops
        function = left.pop()
        for part in ast.walk(functions[function]):
            if isinstance(part, ast.Name) and part.id in functions and part.id.startswith("_"):
                before = used.setdefault(part.id, [])
                if more := [x for x in used[function] if x not in before]:
                    before += more
                    left.append(part.id)
    for name, ops in used.items():
        for statement in functions[name].body:
            yield from module.mutants("rules", statement, name, functions[name], tuple(ops))


def constant(node: Any, strings: dict[str, str]) -> str | None:
    """The value of a constant string expression, or None."""
    if not isinstance(node, (ast.Constant, ast.JoinedStr)):
        return None
    try:
        found = eval(compile(ast.Expression(node), "", "eval"), {}, dict(strings))
    except NameError:
        return None
    return found if isinstance(found, str) and found else None


def of_functions(kind: str, module: Module) -> Iterator[Mutant]:
    """The mutants of all functions of a module, and of its constants."""
    for statement in module.tree.body:
        if isinstance(statement, ast.FunctionDef):
            for part in statement.body:
                if not isinstance(part, ast.Expr) or not isinstance(part.value, ast.Constant):
                    yield from module.mutants(kind, part, statement.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value:
            target = getattr(statement, "targets", [getattr(statement, "target", None)])[0]
            yield from module.mutants(kind, statement.value, ast.unparse(target))


def all_mutants(kinds: tuple[str, ...]) -> list[Mutant]:
    """Every mutant of these kinds, by name."""
    found: list[Mutant] = []
    for path in sorted((ROOT / OPS).glob("*.py")):
        found += of_ops(Module(path))
    for kind, rooms in (("functions", ["functions"]), ("passes", ["passes", "cpu"])):
        for room in rooms:
            for path in sorted((ROOT / KERNELS / room).glob("*.py")):
                found += of_functions(kind, Module(path))
    seen: Counter[str] = Counter()
    numbered = []
    for mutant in found:
        seen[mutant.name] += 1
        numbered.append(mutant._replace(number=seen[mutant.name]))
    return [mutant for mutant in numbered if mutant.kind in kinds]


def top_of(node: Any) -> tuple[int, int]:
    """The position of a rule; (0, 0) for other nodes."""
    rule = isinstance(node, (ast.Lambda, ast.FunctionDef))
    return (node.lineno, node.col_offset) if rule else (0, 0)
