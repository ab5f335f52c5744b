"""numtape: automatic differentiation on one flat tape, compiled with Numba.

The names are TensorFlow's: ``import numtape as tf`` runs TensorFlow's autodiff guide.
"""

from __future__ import annotations

from pathlib import Path as _Path

# In a checkout kernels/ is this package's sibling, not its child.
_here = _Path(__file__).resolve().parent
if not (_here / "kernels").is_dir():
    __path__.append(str(_here.parent))


def kernels_folder() -> _Path:
    """The folder of the kernels' source."""
    inside = _here / "kernels"
    return inside if inside.is_dir() else _here.parent / "kernels"


from . import config, errors, image, linalg, math, nn, random  # noqa: E402
from .core import operators as _operators  # noqa: E402, F401
from .core.dtypes import (  # noqa: E402
    DType,
    as_dtype,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.dtypes import bool_ as bool  # noqa: E402
from .core.ops.creation import (  # noqa: E402
    constant,
    convert_to_tensor,
    eye,
    fill,
    linspace,
    ones,
    ones_like,
    rank,
    shape,
    size,
    zeros,
    zeros_like,
)
from .core.ops.creation import range_ as range  # noqa: E402
from .core.ops.elementwise import abs_ as abs  # noqa: E402
from .core.ops.elementwise import (  # noqa: E402
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cast,
    clip_by_value,
    cos,
    cosh,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    identity,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    stop_gradient,
    subtract,
    tan,
    tanh,
    where,
)
from .core.ops.elementwise import divide as truediv  # noqa: E402
from .core.ops.elementwise import pow_ as pow  # noqa: E402
from .core.ops.elementwise import round_ as round  # noqa: E402
from .core.ops.indexing import boolean_mask, gather, one_hot  # noqa: E402
from .core.ops.linalg import matmul, norm, tensordot  # noqa: E402
from .core.ops.movement import (  # noqa: E402
    broadcast_to,
    concat,
    expand_dims,
    pad,
    repeat,
    reshape,
    reverse,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from .core.ops.movement import slice_ as slice  # noqa: E402
from .core.ops.reduction import (  # noqa: E402
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from .core.spec import TensorShape  # noqa: E402
from .core.tensor import Tensor  # noqa: E402
from .core.variable import Variable  # noqa: E402
from .errors import DeviceError  # noqa: E402
from .gradient_tape import GradientTape, UnconnectedGradients  # noqa: E402
from .module import Module  # noqa: E402

__version__ = "0.1.0"
newaxis = None

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]


def __getattr__(name: str) -> object:
    """`keras` and `nest`, imported when they are first used."""
    if name in ("keras", "nest", "datasets", "testing"):
        from importlib import import_module

        return import_module(f"numtape.{name}")
    raise AttributeError(f"module 'numtape' has no attribute {name!r}")
