"""Circulant operators: matrices that Fourier transforms diagonalize."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..core.ops import elementwise, movement, reduction
from ..core.ops.complex import conj, real
from ..core.ops.fft import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from ..core.values.dtypes import as_dtype, complex64
from ..core.values.tensor import Tensor
from .arguments import check_tensor, log_abs
from .base import LinearOperator

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike

_FORWARD, _BACK = (None, fft, fft2d, fft3d), (None, ifft, ifft2d, ifft3d)


class LinearOperatorCirculant(LinearOperator):
    """Circulant matrices: circular convolutions, computed by Fourier transforms.

    A product is ``ifft(spectrum * fft(x))``.

    Args:
      spectrum: A tensor of floats or complex numbers, of shape (..., n): the eigenvalues, which
        are the Fourier transforms of the first columns.
      input_output_dtype: The dtype of operands and results: complex64 or complex128, or a float
        dtype if all products are real.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If a dtype is neither float nor complex.
      ValueError: If there are too few axes, or hints contradict each other.

    Example:
      >>> spectrum = tf.signal.fft(tf.constant([1.0, 2.0, 0.0], tf.complex64))
      >>> operator = tf.linalg.LinearOperatorCirculant(spectrum, tf.float32)
      >>> operator.to_dense().numpy().round(3) + 0.0
      array([[1., 0., 2.],
             [2., 1., 0.],
             [0., 2., 1.]], dtype=float32)
    """

    _depth = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        tensor = check_tensor(spectrum, self._depth, "spectrum")
        dtype = as_dtype(input_output_dtype)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"input_output_dtype must be float or complex, got {dtype.name}")
        if not tensor.dtype.is_complex and is_self_adjoint is None:
            is_self_adjoint = True  # the eigenvalues are real
        self._spectrum = tensor
        self._block = tuple(int(n) for n in tensor.shape[tensor.ndim - self._depth :])
        n = math.prod(self._block)
        super().__init__(
            dtype,
            (*tensor.shape[: tensor.ndim - self._depth], n, n),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of axes of the Fourier transform."""
        return self._depth

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The sizes of the axes of the Fourier transform."""
        return self._block

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Return the convolution kernel: the inverse Fourier transform of the spectrum.

        Args:
          name: Not used.

        Returns:
          A tensor of the spectrum's shape and the operator's dtype.

        Example:
          >>> tf.linalg.LinearOperatorCirculant([2.0, 0.0]).convolution_kernel().numpy()
          array([1.+0.j, 1.+0.j], dtype=complex64)
        """
        return self._as_rows(_BACK[self._depth](self._to_complex(self._spectrum)))  # type: ignore[misc]

    def _to_complex(self, x: Tensor) -> Tensor:
        is_double = self.dtype.name in ("float64", "complex128")
        return elementwise.cast(x, "complex128" if is_double else "complex64")

    def _as_rows(self, x: Tensor) -> Tensor:
        return elementwise.cast(x if self.dtype.is_complex else real(x), self.dtype)

    def _through(self, x: Tensor, factor: Tensor) -> Tensor:
        """Transform columns, multiply by ``factor``, and transform back."""
        rank = x.ndim
        rows = movement.transpose_if_needed(
            self._to_complex(x), (*range(rank - 2), rank - 1, rank - 2)
        )
        rows = movement.reshape(rows, (*rows.shape[:-1], *self._block))
        # Insert the axis of columns before the transformed axes.
        factor = movement.expand_dims(factor, -1 - self._depth)
        product = _BACK[self._depth](factor * _FORWARD[self._depth](rows))  # type: ignore[misc]
        batch_shape = product.shape[: product.ndim - self._depth]
        product = movement.reshape(product, (*batch_shape, self.domain_dimension))
        rank = product.ndim
        return self._as_rows(
            movement.transpose_if_needed(product, (*range(rank - 2), rank - 1, rank - 2))
        )

    def _factor(self, adjoint: bool) -> Tensor:
        spectrum = self._to_complex(self._spectrum)
        return conj(spectrum) if adjoint else spectrum

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._through(x, self._factor(adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._through(rhs, 1 / self._factor(adjoint))

    def _adjoint(self) -> LinearOperator:
        return type(self)(conj(self._spectrum), self.dtype)

    def _inverse(self) -> LinearOperator:
        return type(self)(1 / self._spectrum, self.dtype, is_non_singular=True)

    def _to_dense(self) -> Tensor:
        return self._matmul(self._identity(), False)

    def _flat(self) -> Tensor:
        return movement.reshape(self._spectrum, (*self.batch_shape, self.domain_dimension))

    def _diag_part(self) -> Tensor:
        mean = reduction.reduce_mean(self._to_complex(self._flat()), -1, True)
        return self._as_rows(
            movement.broadcast_to(mean, (*self.batch_shape, self.domain_dimension))
        )

    def _determinant(self) -> Tensor:
        return self._as_rows(self._to_complex(reduction.reduce_prod(self._flat(), -1)))

    def _log_abs_determinant(self) -> Tensor:
        return elementwise.cast(log_abs(self._flat()), self.dtype)


class LinearOperatorCirculant2D(LinearOperatorCirculant):
    """Block circulant matrices with circulant blocks: see `LinearOperatorCirculant`.

    Args:
      spectrum: A tensor of floats or complex numbers, of shape (..., n0, n1): the eigenvalues.
      input_output_dtype: The dtype of operands and results, which have ``n0 * n1`` rows.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If a dtype is neither float nor complex.
      ValueError: If there are too few axes, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorCirculant2D(tf.ones((2, 3))).shape
      TensorShape([6, 6])
    """

    _depth = 2

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorCirculant3D(LinearOperatorCirculant):
    """Circulant matrices with three levels of nested blocks: see `LinearOperatorCirculant`.

    Args:
      spectrum: A tensor of floats or complex numbers, of shape (..., n0, n1, n2): the eigenvalues.
      input_output_dtype: The dtype of operands and results, which have ``n0 * n1 * n2`` rows.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If a dtype is neither float nor complex.
      ValueError: If there are too few axes, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorCirculant3D(tf.ones((2, 2, 2))).determinant().numpy()
      np.complex64(1+0j)
    """

    _depth = 3

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
