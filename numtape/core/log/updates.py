"""Methods of variables that read and change slices, or what lies at tuples of indices."""

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
    """Base of `Variable`. Updates of the same place are done one after the other.

    Those by slices take `IndexedSlices`, whose values may also be a single one for all places;
    those by tuples (``nd``) take indices whose last axis runs through a tuple. All return another
    name of the variable, and raise InvalidArgumentError if an index is out of range or shapes do
    not fit; slices of another class are a TypeError.
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
          use_locking: Accepted for TensorFlow's sake.
          name: Not used.

        Returns:
          Another name of this variable.

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
        """Keep the larger one of what is there and of slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "max")

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Keep the smaller one of what is there and of slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "min")

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Put slices in; of those to one place the last one stays. See `scatter_add`.

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
        """Put slices of each example in: the first axes of variable and indices are in common.

        Args:
          sparse_delta: `IndexedSlices`.
          use_locking: Accepted for TensorFlow's sake.
          name: Not used.

        Returns:
          Another name of this variable.

        Example:
          >>> v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
          >>> v.batch_scatter_update(tf.IndexedSlices([[9.0], [8.0]], [[1], [0]])).numpy()
          array([[1., 9.],
                 [8., 4.]], dtype=float32)
        """
        slices = _check_slices(sparse_delta)
        return self._apply_update("updated_in_batch", slices.indices, slices.values)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Add at tuples of indices.

        Example:
          >>> v = tf.Variable([[1, 2], [3, 4]])
          >>> v.scatter_nd_add([[0, 1], [0, 1]], [10, 20]).numpy()
          array([[ 1, 32],
                 [ 3,  4]], dtype=int32)
        """
        return self._apply_update("updated_nd", indices, updates, "add")

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Subtract at tuples of indices; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "sub")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Put in at tuples of indices; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "update")

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Keep the larger one at tuples of indices; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "max")

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Keep the smaller one at tuples of indices; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "min")

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The slices along the first axis that indices name: `gather`, whose derivative is slices.

        Example:
          >>> tf.Variable([10.0, 20.0, 30.0]).sparse_read([2, 0]).numpy()
          array([30., 10.], dtype=float32)
        """
        return self._gather("gather", indices)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """What lies at tuples of indices: `gather_nd` of the value.

        Example:
          >>> tf.Variable([[1.0, 2.0], [3.0, 4.0]]).gather_nd([[1, 0]]).numpy()
          array([3.], dtype=float32)
        """
        return self._gather("gather_nd", indices)
