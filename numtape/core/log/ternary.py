"""Recording an op of three operands, as `core.log.record` does one of two."""

from __future__ import annotations

from typing import Any

from ..values.interning import cache
from ..values.spec import Spec
from ..values.tensor import Tensor
from .log import local
from .op import Op
from .record import Recorder, publish_recorder, spec_of


def ternary(op: Op) -> Recorder:
    """The function that records an op of three operands.

    The last two are alike: one of them that is no tensor takes the other one's dtype. Machine code
    does this where it can (see `core.native`), so that nothing is done here for speed.
    """
    code = op.code({})
    results: dict[tuple[Spec, Spec, Spec], Spec] = cache()

    def record(x: Any, y: Any, z: Any, name: str | None = None) -> Tensor:
        log = local.log
        tensors = log.tensors
        a, sx = log.row_of(x, None, op.name)
        b, sy = log.row_of(y, spec_of(z), op.name)
        c, sz = log.row_of(z, sy, op.name)
        try:
            spec = results[sx, sy, sz]
        except KeyError:
            spec = results[sx, sy, sz] = op.spec(op, sx, sy, sz)
        tensor = Tensor()
        # whole: nothing runs in between, see core.values.interning
        n = log.n
        if n < log.limit and log.tensors is tensors:
            log.code[n] = code
            log.a[n] = a
            log.b[n] = b
            log.c[n] = c
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            tensors.append(tensor)
            # done
            return tensor
        log.ensure_capacity()
        return record(x, y, z)

    return publish_recorder(record, op, _make_ternary_stub)


def _make_ternary_stub(record_row: Any) -> Any:
    def record(x: Any, y: Any, z: Any, name: str | None = None) -> Tensor:
        return record_row(x, y, z)  # type: ignore[no-any-return]

    return record
