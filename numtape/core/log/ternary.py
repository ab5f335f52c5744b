"""Recording an op of three operands, as `core.log.record` does one of two."""

from __future__ import annotations

from typing import Any

from ..values.interning import cache
from ..values.spec import Spec
from ..values.tensor import Tensor
from .log import local
from .op import Op
from .record import Recorder, made, spec_of
from .variable import Variable


def ternary(op: Op) -> Recorder:
    """The function that records an op of three operands.

    The last two are alike: one of them that is no tensor takes the other one's dtype.
    """
    code = op.code({})
    results: dict[tuple[Spec, Spec, Spec], Spec] = cache()

    def record(x: Any, y: Any, z: Any, name: str | None = None) -> Tensor:
        log = local.log
        kept = log.kept
        kind = type(x)
        if kind is Tensor and x._home is log:
            a = x._row
            sx = x._spec
        elif kind is Variable and (read := x._read) is not None and read[0] is log:
            a = read[1]
            sx = x._spec
        else:
            a, sx = log.enter(x, None, op.name)
        kind = type(y)
        if kind is Tensor and y._home is log:
            b = y._row
            sy = y._spec
        elif kind is Variable and (read := y._read) is not None and read[0] is log:
            b = read[1]
            sy = y._spec
        else:
            b, sy = log.enter(y, spec_of(z), op.name)
        kind = type(z)
        if kind is Tensor and z._home is log:
            c = z._row
            sz = z._spec
        elif kind is Variable and (read := z._read) is not None and read[0] is log:
            c = read[1]
            sz = z._spec
        else:
            c, sz = log.enter(z, sy, op.name)
        try:
            spec = results[sx, sy, sz]
        except KeyError:
            spec = results[sx, sy, sz] = op.spec(op, sx, sy, sz)
        tensor = Tensor()
        # whole: nothing runs in between, see core.values.interning
        n = log.n
        if n < log.limit and log.kept is kept:
            log.code[n] = code
            log.a[n] = a
            log.b[n] = b
            log.c[n] = c
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            kept.append(tensor)
            # done
            return tensor
        log.make_room()
        return record(x, y, z)

    return made(record, op, _before_ternary)


def _before_ternary(recorded: Any) -> Any:
    def record(x: Any, y: Any, z: Any, name: str | None = None) -> Tensor:
        return recorded(x, y, z)  # type: ignore[no-any-return]

    return record
