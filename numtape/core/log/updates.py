"""Methods of variables that read and update slices, or elements at index tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from ..values.tensor import Tensor
    from .variable import Variable


def _check_slices(sparse_delta: Any) -> IndexedSlices:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(
            f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}"
        )
    return sparse_delta


class SliceUpdates:
    """Slice updates of variables, and reads. Updates of the same element are applied in order.

    Slice updates take `IndexedSlices`, whose values may also be a single slice for all indices.
    Updates by index tuples (``nd``) take indices whose last axis runs through a tuple. All return
    an alias of the variable. They raise InvalidArgumentError if an index is out of range or shapes
    do not fit, and TypeError if the slices are of another class.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def _apply_update(self, op: str, *args: Any) -> Variable: ...
        def _gather(self, op: str, indices: Any) -> Tensor: ...

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Add slices.

        Args:
          sparse_delta: `IndexedSlices`.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.

        Returns:
          An alias of this variable.

        Example:
          >>> v = tf.Variable([1.0, 2.0, 3.0])
          >>> v.scatter_add(tf.IndexedSlices([10.0, 20.0], [2, 2])).numpy()
          array([ 1.,  2., 33.], dtype=float32)
        """
        return self._scatter(sparse_delta, "add")

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Subtract slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "sub")

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Multiply by slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "mul")

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Divide by slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "div")

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Take the elementwise maximum with slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "max")

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Take the elementwise minimum with slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "min")

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace slices; of several with the same index the last one stays. See `scatter_add`.

        Example:
          >>> v = tf.Variable([1.0, 2.0, 3.0])
          >>> v.scatter_update(tf.IndexedSlices([10.0, 30.0], [0, 2])).numpy()
          array([10.,  2., 30.], dtype=float32)
        """
        return self._scatter(sparse_delta, "update")

    def _scatter(self, sparse_delta: Any, how: str) -> Variable:
        slices = _check_slices(sparse_delta)
        return self._apply_update("updated", slices.indices, slices.values, how)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace slices in each example of a batch: variable and indices share the first axes.

        Args:
          sparse_delta: `IndexedSlices`.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.

        Returns:
          An alias of this variable.

        Example:
          >>> v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
          >>> v.batch_scatter_update(tf.IndexedSlices([[9.0], [8.0]], [[1], [0]])).numpy()
          array([[1., 9.],
                 [8., 4.]], dtype=float32)
        """
        slices = _check_slices(sparse_delta)
        return self._apply_update("updated_in_batch", slices.indices, slices.values)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Add elements or slices at index tuples.

        Example:
          >>> v = tf.Variable([[1, 2], [3, 4]])
          >>> v.scatter_nd_add([[0, 1], [0, 1]], [10, 20]).numpy()
          array([[ 1, 32],
                 [ 3,  4]], dtype=int32)
        """
        return self._apply_update("updated_nd", indices, updates, "add")

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Subtract at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "sub")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Replace at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "update")

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Take the maximum at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "max")

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Take the minimum at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "min")

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Gather slices along the first axis. The derivative is `IndexedSlices`.

        Example:
          >>> tf.Variable([10.0, 20.0, 30.0]).sparse_read([2, 0]).numpy()
          array([30., 10.], dtype=float32)
        """
        return self._gather("gather", indices)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Gather elements or slices at index tuples: `gather_nd` of the value.

        Example:
          >>> tf.Variable([[1.0, 2.0], [3.0, 4.0]]).gather_nd([[1, 0]]).numpy()
          array([3.], dtype=float32)
        """
        return self._gather("gather_nd", indices)
