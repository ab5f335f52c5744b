"""cuBLAS: products of matrices on the GPU, given by their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....errors import DeviceError

if TYPE_CHECKING:
    from .resources import DeviceMemory

_PLAIN, _TENSOR_FLOAT_32 = 0, 3  # cublasMath_t
_OPERATIONS = {ord("N"): 0, ord("T"): 1}  # cublasOperation_t
_NAMES = {
    "float32": ("cublasSgemmStridedBatched", ctypes.c_float),
    "float64": ("cublasDgemmStridedBatched", ctypes.c_double),
}


WORKSPACE = 32 << 20  # bytes, as NVIDIA recommends for compute capability 9.0


class Blas:
    """A cuBLAS handle. It works in one stream at a time.

    The workspace is ours, because memory that cuBLAS allocates cannot be part of a graph.

    Args:
      memory: ``WORKSPACE`` bytes on the GPU.

    Raises:
      DeviceError: If the library is not installed or does not start.
    """

    def __init__(self, memory: DeviceMemory) -> None:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        try:
            library: Any = load_nvidia_dynamic_lib("cublas")
        except Exception as error:
            raise DeviceError(
                f"cuBLAS was not found: {error}. pip install 'numtape[cuda]'."
            ) from None
        self._library = ctypes.CDLL(library.abs_path)
        self._handle = ctypes.c_void_p()
        self._do("cublasCreate_v2", ctypes.byref(self._handle))
        self._memory = memory
        self._stream = self._math = -1

    def use(self, stream: int, tensor_float: bool) -> None:
        """Set the stream, and whether float32 products use TF32."""
        if stream != self._stream:
            self._do("cublasSetStream_v2", self._handle, ctypes.c_void_p(stream))
            # Setting the stream has replaced our workspace by the library's.
            memory, size = ctypes.c_void_p(self._memory.address), ctypes.c_size_t(WORKSPACE)
            self._do("cublasSetWorkspace_v2", self._handle, memory, size)
            self._stream = stream
        math = _TENSOR_FLOAT_32 if tensor_float else _PLAIN
        if math != self._math:
            self._do("cublasSetMathMode", self._handle, math)
            self._math = math

    def _do(self, name: str, *args: object) -> None:
        status = getattr(self._library, name)(*args)
        if status:
            raise DeviceError(f"{name} failed with status {status}.")

    def gemm(self, dtype: str, scalars: Sequence[int], out: int, x: int, y: int) -> None:
        """Compute ``out = x @ y`` for a batch; ``scalars`` are as in `kernels.cpu.arrays.gemm`.

        As there, BLAS computes the transposed product, because it is column-major.
        """
        (transa, transb, m, n, k, _, lda, ldb, _, ldc, step_x, step_y, step_out, count) = scalars
        name, kind = _NAMES[dtype]
        size = ctypes.sizeof(kind)

        def matrices(address: int, ld: int, step: int) -> tuple[Any, ...]:
            return ctypes.c_void_p(address), ld, ctypes.c_longlong(step // size)

        self._do(
            name,
            self._handle,
            _OPERATIONS[transa],
            _OPERATIONS[transb],
            m,
            n,
            k,
            ctypes.byref(kind(1)),
            *matrices(y, lda, step_y),
            *matrices(x, ldb, step_x),
            ctypes.byref(kind(0)),
            *matrices(out, ldc, step_out),
            count,
        )
