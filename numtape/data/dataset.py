"""`Dataset`: a pipeline of elements, each transformation a new dataset around the one before."""

from __future__ import annotations

from ..compat.missing_methods import tell
from .functions import Functions
from .groups import Groups
from .order import Order
from .pipeline import Iterator


class Dataset(Order, Groups, Functions):
    """Elements, one after another: nests of tensors that a loop goes through, again and again.

    Made by `from_tensor_slices` and the like; each transformation gives a new dataset. Tuples,
    namedtuples and dicts are nests, a list is a tensor. Functions are called with an element's
    tensors (the parts of a tuple are their own arguments), eagerly, when an element is needed;
    nothing runs ahead in another thread, so `prefetch` and ``num_parallel_calls`` change nothing.

    Example:
      >>> data = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0, 1, 0]))
      >>> for x, y in data.map(lambda x, y: (10.0 * x, y)).batch(2):
      ...     print(x.numpy(), y.numpy())
      [10. 20.] [0 1]
      [30.] [0]
    """


tell(Dataset, "data.Dataset")
tell(Iterator, "data.Iterator")
