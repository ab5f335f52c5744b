"""Recording of ops of three operands; see `core.log.record` for fewer operands."""

from __future__ import annotations

from typing import Any

from ..values.interning import clearable_cache
from ..values.spec import Spec
from ..values.tensor import Tensor
from .log import local
from .op import Op
from .record import Recorder, publish_recorder, spec_of


def ternary(op: Op) -> Recorder:
    """Return the function that records an op of three operands.

    The last two have the same dtype: if one of them is not a tensor, it takes the dtype of the
    other one. This function is not optimized, because machine code usually replaces it
    (`core.native`).
    """
    code = op.code({})
    results: dict[tuple[Spec, Spec, Spec], Spec] = clearable_cache()

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
