"""A function while it is written: its source, and under which names its locals are in the text."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field

from .exits import JumpElimination
from .grids import Grid
from .source import Source
from .unassigned import DefiniteAssignment

# Names that the text of the sweeps has for itself.
_TAKEN = re.compile(
    r"u_.*|d_.*|.*_[nm]\d|.*_at|.*_of|.*__\d+|_.*|[A-Z]+\d*(_\d+)?|h\d+_.*|math|np|max|min|abs|range|"
    r"len|int|float|bool|pow|[a-z]+_\d+_"
)


@dataclass(slots=True)
class Value:
    """What an expression is: a number by its name or text, an array, or a tuple.

    Attributes:
      name: A number's.
      array: The array in whose memory it lies; "" of elements that are yet to be computed.
      items: Of a tuple, numbers.
      grid: Of an array, where or what its elements are.
    """

    name: str = ""
    array: str = ""
    items: list[str] | None = None
    grid: Grid | None = None


@dataclass
class Frame:
    """A function that is being written, and under which names."""

    source: Source
    prefix: str
    bound: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exits = JumpElimination(self.source)
        nodes = [node for statement in self.exits.body for node in ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.stores = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
        self._binds = self.stores.copy()
        self._binds.subtract(
            n.target.id
            for n in nodes
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        )
        self.stores.update(
            n.target.id
            for n in nodes
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        )
        read = DefiniteAssignment(self.source.locals)
        read.block(self.source.body, set(self.source.parameters))
        self.unsure = read.reads
        self.flags = {name: f"set_{k}_" for k, name in enumerate(sorted(read.names))}
        # Names of loops that nothing else assigns, and that are read in these loops only.
        loops = [n for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
        heads = Counter(n.target.id for n in loops if isinstance(n.target, ast.Name))
        reads = Counter(n.id for n in names if isinstance(n.ctx, ast.Load))
        inside: Counter[str] = Counter()
        nested = set()
        for loop in loops:
            assert isinstance(loop.target, ast.Name)
            local = loop.target.id
            within = [x for s in loop.body for x in ast.walk(s) if isinstance(x, ast.Name)]
            inside.update(x.id for x in within if x.id == local and isinstance(x.ctx, ast.Load))
            if any(x.id == local and isinstance(x.ctx, ast.Store) for x in within):
                nested.add(local)
        self.steady = {
            local
            for local, count in heads.items()
            if self.stores[local] == count
            and reads[local] == inside[local]
            and local not in nested
            and local not in self.source.parameters
        }

    def rebound(self, local: str) -> bool:
        """Whether a name is given arrays in more than one place; ``x += y`` is none."""
        return self._binds[local] + (local in self.source.parameters) > 1

    def rename(self, local: str) -> str:
        """A local name as it is in the text."""
        if self.prefix:
            return f"{self.prefix}{local}"
        return f"u_{local}" if _TAKEN.fullmatch(local) else local
