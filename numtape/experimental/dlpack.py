"""``tf.experimental.dlpack``: tensors to and from other libraries, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import interop as _core
from ..core.log.as_tensor import as_tensor
from ..core.values.tensor import Tensor

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike

__all__ = ["from_dlpack", "to_dlpack"]


def __dir__() -> list[str]:
    return sorted(__all__)


def from_dlpack(dlcapsule: object) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    The owner of the array must not write to it afterwards: tensors are immutable, and numtape may
    read the value now or later.

    Args:
      dlcapsule: A DLPack capsule, as in TensorFlow; or an array with the method ``__dlpack__``, as
        in PyTorch, CuPy, JAX and NumPy. On a GPU also an array with ``__cuda_array_interface__``.

    Returns:
      A tensor of the array's shape and dtype.

    Raises:
      InvalidArgumentError: If the array is not contiguous, or the capsule is missing or used.
      ValueError: If numtape does not have the dtype.
      DeviceError: If the array is on a GPU, and numtape computes on the CPU, or on another GPU.

    Example:
      >>> tf.experimental.dlpack.from_dlpack(np.arange(3.0)).numpy()
      array([0., 1., 2.])
    """
    return _core.from_dlpack(dlcapsule)


def to_dlpack(tf_tensor: TensorLike) -> Any:
    """Compute a tensor's or variable's value, and return a DLPack capsule of it.

    The memory is shared and must not be written to. A capsule can be used once. Libraries that
    support ``__dlpack__`` need no capsule: ``torch.from_dlpack(tensor)``,
    ``cupy.from_dlpack(tensor)``.

    Args:
      tf_tensor: A tensor or variable.

    Returns:
      A capsule.

    Example:
      >>> capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.0, 2.0]))
      >>> tf.experimental.dlpack.from_dlpack(capsule).numpy()
      array([1., 2.], dtype=float32)
    """
    capsule = as_tensor(tf_tensor).__dlpack__()
    if _core.device_of_tensors()[0] == _core.CUDA:
        from ..core.cuda.runtime.device import device

        device().synchronize()  # a capsule does not say in which stream it will be used
    return capsule
