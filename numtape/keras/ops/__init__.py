"""``tf.keras.ops``: Keras's functions, for tensors, arrays and symbolic tensors."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ...compat.traceback_filter import guard_module as _guard_module
from . import image, linalg, nn, numpy
from .core import (
    associative_scan,
    cast,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    custom_gradient,
    dtype,
    fori_loop,
    is_tensor,
    map,
    saturate_cast,
    scan,
    scatter,
    scatter_update,
    shape,
    slice,
    slice_update,
    stop_gradient,
    switch,
    unstack,
    vectorized_map,
    while_loop,
)
from .einops import (
    rearrange,
)
from .linalg import *  # noqa: F403
from .math import (
    cdist,
    erf,
    erfc,
    erfinv,
    extract_sequences,
    fft,
    fft2,
    ifft2,
    in_top_k,
    irfft,
    istft,
    logdet,
    logsumexp,
    rfft,
    rsqrt,
    segment_max,
    segment_min,
    segment_prod,
    segment_sum,
    stft,
    top_k,
    view_as_complex,
    view_as_real,
)
from .nn import *  # noqa: F403
from .numpy import *  # noqa: F403

__all__ = [
    "associative_scan",
    "cast",
    "cdist",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "dtype",
    "erf",
    "erfc",
    "erfinv",
    "extract_sequences",
    "fft",
    "fft2",
    "fori_loop",
    "ifft2",
    "image",
    "in_top_k",
    "irfft",
    "is_tensor",
    "istft",
    "linalg",
    "logdet",
    "logsumexp",
    "map",
    "nn",
    "numpy",
    "rearrange",
    "rfft",
    "rsqrt",
    "saturate_cast",
    "scan",
    "scatter",
    "scatter_update",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "shape",
    "slice",
    "slice_update",
    "stft",
    "stop_gradient",
    "switch",
    "top_k",
    "unstack",
    "vectorized_map",
    "view_as_complex",
    "view_as_real",
    "while_loop",
]
__all__ += linalg.__all__
__all__ += nn.__all__
__all__ += numpy.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
for _module in (image, linalg, nn, numpy):
    _guard_module(_module.__name__)
