"""Memory shared with other libraries: DLPack, and CUDA's array interface.

NumPy creates and reads the capsules, also those of arrays on a GPU. A *shadow* represents such an
array: a NumPy array with the address and strides of the elements, which keeps their owner alive.
Elements are never read through a shadow. The device type, which NumPy does not know, is written
into the capsule.

A library may reuse its memory as soon as numtape releases it, and vice versa. Work that was queued
on the GPU before that must be complete: see `Borrowed`, and ``is_lent`` of memory.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceError, InvalidArgumentError
from . import settings
from .cpython.api import capsule_contents
from .ops.elementwise import cast
from .values import dtypes
from .values.dtypes import DType
from .values.memory import LEGACY_STREAM, convert_array
from .values.spec import intern
from .values.tensor import Tensor, of_array

if TYPE_CHECKING:
    from .cuda.runtime.device import DeviceArray

Array = np.ndarray[Any, Any]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # kinds of devices
UNORDERED = -1  # a stream that nothing waits for
COPIED = 2  # a flag of a capsule

_lock = threading.RLock()

_DTYPE_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # of dtypes
_BFLOAT = 4
_UINT = 1
_SUPPORTED_DTYPES = "bool8", *dtypes.NAMES, "float16"
# Those of arrays on the host.
_HOST_DTYPES = (*_SUPPORTED_DTYPES, "bfloat16", "complex64", "complex128")
_ALIGNMENT = 32  # of arrays on a GPU: kernels load four elements of up to 8 bytes at once
_ADVICE = "compute on the GPU with NUMTAPE_DEVICE=cuda, or copy the array to the host first"


class _Fields(ctypes.Structure):
    """DLPack's description of an array."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """The structure in a capsule of DLPack 1.0 or later. An older one begins with the fields."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("fields", _Fields),
    )


_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"


def _capsule_fields(capsule: object) -> _Fields | None:
    """A capsule's contents, readable and writable; None if it is not a capsule, or was consumed."""
    try:
        name, address = capsule_contents(capsule)
    except ValueError:
        return None
    if name == _VERSIONED_NAME:
        versioned: _Fields = _Versioned.from_address(address).fields
        return versioned
    return _Fields.from_address(address) if name == _NAME else None


class _ArrayInterface:
    """An object that NumPy makes a shadow of."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        names = "shape", "typestr", "data", "strides"
        value = {name: interface[name] for name in names if name in interface}
        self.__array_interface__ = {"version": 3, **value}
        self.owner = owner


def _device() -> Any:
    from .cuda.runtime.device import device

    return device()


# Export.


def device_of_tensors() -> tuple[int, int]:
    """The device of tensors, as a DLPack pair."""
    return (CUDA, _device().number) if settings.device() == "cuda" else (CPU, 0)


def capsule_of(
    tensor: Tensor,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule that shares the memory of the value with other libraries.

    Tensors are immutable. A capsule of DLPack 1.0 marks its memory as read-only. A library that
    requests an older version, or ignores the mark (PyTorch), must not write either.

    A library that uses another GPU stream than the default one must keep the capsule's array alive
    until its work is complete.

    Args:
      stream: On a GPU, the stream of the consumer, which waits for the value: its address,
        1 or None for the legacy default stream, 2 for the thread's, -1 for no synchronization.
      max_version: The latest version of DLPack that the consumer knows.
      dl_device: The requested device: that of the tensor, or the host, ``(1, 0)``.
      copy: True to copy always, False never; None copies only if necessary.

    Raises:
      BufferError: If the device is not supported, or needs a copy that ``copy`` rules out.
    """
    own_device = device_of_tensors()
    target_device = own_device if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if target_device == own_device != (CPU, 0):
        return _gpu_capsule(tensor, stream, max_version, copy)
    if target_device != (CPU, 0):
        raise BufferError(
            f"A tensor on the DLPack device {own_device} cannot be exported to {target_device}."
        )
    if own_device != (CPU, 0):
        if copy is False:
            raise BufferError("Exporting a tensor from the GPU to the host requires a copy.")
        stream = None  # the copy is complete already
    return _host_capsule(tensor._array(), stream, max_version, copy)


def _has_flags(max_version: tuple[int, int] | None) -> bool:
    """Whether the consumer supports capsules that are marked read-only."""
    return max_version is not None and max_version[0] >= 1


def _host_capsule(
    array: Array, stream: int | None, max_version: tuple[int, int] | None, copy: bool | None
) -> Any:
    if _has_flags(max_version):
        array = array.view()
        array.flags.writeable = False
    elif not array.flags.writeable and copy is not False:
        array = array.copy()  # such a capsule has no read-only flag, so NumPy refuses to make one
    if array.dtype.name != "bfloat16":
        return array.__dlpack__(stream=stream, max_version=max_version, copy=copy)
    bits = array.view(np.uint16)  # NumPy exports its own dtypes only
    capsule = bits.__dlpack__(stream=stream, max_version=max_version, copy=copy)
    fields = _capsule_fields(capsule)
    assert fields is not None
    fields.kind = _BFLOAT
    return capsule


def _gpu_capsule(
    tensor: Tensor, stream: int | None, max_version: tuple[int, int] | None, copy: bool | None
) -> Any:
    if stream is None:
        stream = LEGACY_STREAM
    elif stream != UNORDERED and stream < LEGACY_STREAM:
        raise ValueError(
            f"__dlpack__ got stream={stream}. It must be -1 (no order), 1 (the legacy default "
            f"stream), 2 (that of the thread) or a stream's address."
        )
    gpu, value = _device(), _on_gpu(tensor)
    if copy:
        value = _copy_array(value.address, value.shape, value.dtype)
    if stream != UNORDERED:
        gpu.order(gpu.stream, stream)
    interface = _interface(value, _has_flags(max_version) and not copy)
    capsule = _capsule(interface, value, max_version)
    if copy and _has_flags(max_version):
        _Versioned.from_address(capsule_contents(capsule)[1]).flags |= COPIED
    return capsule


def _capsule(interface: dict[str, Any], owner: object, max_version: tuple[int, int] | None) -> Any:
    """Return a capsule of an array on the GPU."""
    capsule = np.asarray(_ArrayInterface(interface, owner)).__dlpack__(max_version=max_version)
    fields = _capsule_fields(capsule)
    assert fields is not None
    fields.device, fields.number = CUDA, _device().number
    return capsule


def capsule_of_elements(
    address: int, size: int, dtype: str, max_version: tuple[int, int] | None
) -> Any:
    """Return a DLPack capsule of elements on the GPU. The caller keeps their memory alive.

    Args:
      address: The address of the first one.
      size: How many there are.
      dtype: The name of their dtype, ``bfloat16`` or one of NumPy's.
      max_version: The latest version of DLPack that the consumer knows.
    """
    is_bfloat = dtype == "bfloat16"
    typestr = np.dtype("uint16" if is_bfloat else dtype).str
    interface = {"shape": (size,), "typestr": typestr, "data": (address, False)}
    capsule = _capsule(interface, None, max_version)
    if is_bfloat:  # which NumPy cannot export
        fields = _capsule_fields(capsule)
        assert fields is not None
        fields.kind = _BFLOAT
    return capsule


def _on_gpu(tensor: Tensor) -> DeviceArray:
    """The value on the GPU. Single elements and arrays from the host are copied there."""
    from .cuda.runtime.device import resident

    value: DeviceArray | Array = tensor._stored_value()
    if not isinstance(value, np.ndarray):
        return value
    with _lock:  # copied once: users of the array interface keep only the tensor alive
        try:
            copy: DeviceArray = tensor._device_copy
        except AttributeError:
            copy = tensor._device_copy = resident(value)
        return copy


def _interface(value: DeviceArray, read_only: bool) -> dict[str, Any]:
    """Return the array interface of a value, whose memory is lent from now on.

    When the memory is released, our stream waits for the work of other libraries in the default
    stream.
    """
    value.owner.is_lent = True
    return {
        "shape": tuple(value.shape),
        "typestr": value.dtype.str,
        "data": (value.address, read_only),
    }


def cuda_array_interface(tensor: Tensor) -> dict[str, Any]:
    """CUDA's array interface of the value, valid while the tensor lives.

    On other devices the attribute does not exist. PyTorch does not accept read-only memory here:
    use ``torch.from_dlpack(tensor)``.
    """
    if settings.device() != "cuda":
        raise AttributeError(
            "This tensor is not on a GPU, so it has no __cuda_array_interface__: set "
            "NUMTAPE_DEVICE=cuda."
        )
    gpu, value = _device(), _on_gpu(tensor)
    # Some libraries ignore "stream" and compute in the default one.
    gpu.order(gpu.stream, LEGACY_STREAM)
    result = _interface(value, True) | {"strides": None, "stream": int(gpu.stream), "version": 3}
    if not value.size:
        result["data"] = 0, True
    return result


# Import.


class _CapsuleHolder:
    """Gives a capsule to NumPy."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def from_dlpack(value: object) -> Tensor:
    """See `numtape.experimental.dlpack.from_dlpack`."""
    array, on_gpu = _receive(value)
    dtype = dtypes.of_array(array)
    address = array.__array_interface__["data"][0]
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        raise InvalidArgumentError(
            f"An array of shape {array.shape} and strides {array.strides} is not contiguous, so "
            f"its memory cannot be shared. Share a copy: x.contiguous() in "
            f"PyTorch, ascontiguousarray(x) in NumPy and CuPy."
        )
    if on_gpu and array.size > 1 and address % _ALIGNMENT:
        raise InvalidArgumentError(
            f"An array on the GPU that begins at {address:#x}, which is not a multiple of "
            f"{_ALIGNMENT}, cannot be shared. Share a copy: x.clone() in PyTorch, x.copy() in CuPy."
        )
    storage: Any = array
    if on_gpu:
        from .cuda.runtime.device import DeviceArray
        from .cuda.runtime.resources import Borrowed

        storage = DeviceArray(Borrowed(_device(), array), address, array.shape, array.dtype)
    return of_array(storage, intern(array.shape, dtype))


def is_on_gpu(value: object) -> bool:
    """Whether a value is an array of another library on a GPU."""
    probe = getattr(type(value), "__dlpack_device__", None)
    if probe is not None:
        return probe(value)[0] in (CUDA, CUDA_MANAGED)
    return hasattr(value, "__cuda_array_interface__")


def copy_of(value: object, dtype: DType | None) -> Tensor:
    """A tensor with a copy of an array on a GPU, converted to ``dtype`` unless None."""
    shadow, on_gpu = _receive(value)
    result = dtypes.of_array(shadow)
    is_computable = result is not dtypes.float16 or dtype in (None, result)
    try:
        if on_gpu and is_computable and shadow.flags.c_contiguous and shadow.dtype.isnative:
            address = shadow.__array_interface__["data"][0]
            copy: Any = _copy_array(address, shadow.shape, shadow.dtype)
        else:
            kind = (dtype or result).numpy_dtype
            copy = convert_array(_download(shadow) if on_gpu else shadow, kind)
    finally:
        if on_gpu:
            _device().keep(shadow)  # until the copy is complete
    tensor = of_array(copy, intern(copy.shape, dtypes.of_array(copy)))
    if dtype in (None, tensor.dtype):
        return tensor
    return cast(tensor, dtype)


def _copy_array(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
    """A copy of contiguous elements, on the GPU."""
    from .cuda.runtime.device import DeviceArray, empty

    size = math.prod(shape) * dtype.itemsize
    buffer = empty(size)
    _device().copy(address, buffer.address, size)
    return DeviceArray(buffer, buffer.address, shape, dtype)


def _download(shadow: Array) -> Array:
    """The array on the host, laid out as on the GPU."""
    low, high = np.lib.array_utils.byte_bounds(shadow)
    memory = np.empty(high - low, np.uint8)
    _device().download(low, memory)
    begin = shadow.__array_interface__["data"][0] - low
    return np.ndarray(shadow.shape, shadow.dtype, memory, begin, shadow.strides)


def _receive(value: object) -> tuple[Array, bool]:
    """An array of another library: NumPy's, or, if it has elements on the GPU (True), a shadow."""
    array, on_gpu = _receive_array_or_shadow(value)
    return array, on_gpu and array.size > 0


def _receive_array_or_shadow(value: Any) -> tuple[Array, bool]:
    fields = _capsule_fields(value)
    if fields is not None:
        on_gpu = _is_our_gpu(fields.device, fields.number)
        if on_gpu:  # the stream that computes it is unknown
            gpu = _device()
            gpu.order(LEGACY_STREAM, gpu.stream)
        return _open_capsule(value, fields), on_gpu
    if hasattr(value, "__dlpack__"):
        on_gpu = _is_our_gpu(*value.__dlpack_device__())
        capsule = _request_capsule(value, {"stream": int(_device().stream)} if on_gpu else {})
        fields = _capsule_fields(capsule)
        if fields is not None:
            return _open_capsule(capsule, fields), on_gpu
    elif hasattr(value, "__cuda_array_interface__"):
        _is_our_gpu(CUDA, _device().number if settings.device() == "cuda" else 0)
        return _shadow(value), True
    kind = type(value).__name__
    raise InvalidArgumentError(
        f"A {kind} is not an unused DLPack capsule. A capsule can be consumed once only."
        if kind == "PyCapsule"
        else f"A {kind} has no __dlpack__ that returns a DLPack capsule."
    )


def _is_our_gpu(kind: int, number: int) -> bool:
    """Whether a device is our GPU; raises for a device whose memory cannot be used."""
    on_gpu = settings.device() == "cuda"
    if kind in (CPU, CUDA_HOST) or (kind == CUDA_MANAGED and not on_gpu):
        return False
    if kind not in (CUDA, CUDA_MANAGED):
        raise DeviceError(
            f"An array on a device of DLPack type {int(kind)}, which numtape does not support: "
            f"copy the array to the host first."
        )
    if not on_gpu:
        raise DeviceError(
            f"An array on a GPU, and numtape computes on the {settings.device()} device: {_ADVICE} "
            f"(x.cpu() in PyTorch, x.get() in CuPy)."
        )
    if kind == CUDA and number != _device().number:
        raise DeviceError(
            f"An array on GPU {number}, and numtape computes on GPU {_device().number} of "
            f"CUDA_VISIBLE_DEVICES: copy the array there first."
        )
    return True


def _request_capsule(value: Any, options: dict[str, Any]) -> Any:
    """The capsule of an object; older objects do not accept ``max_version``."""
    try:
        return value.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return value.__dlpack__(**options)


def _open_capsule(capsule: object, fields: _Fields) -> Array:
    """The array in a capsule, which is consumed."""
    name = f"{_DTYPE_KINDS.get(fields.kind, f'DLPack {fields.kind}-')}{fields.bits}"
    supported = _HOST_DTYPES if fields.device in (CPU, CUDA_HOST) else _SUPPORTED_DTYPES
    if name not in supported or fields.lanes != 1:
        raise ValueError(f"Unsupported dtype {name}. numtape has {', '.join(supported[1:])}.")
    device, fields.device = fields.device, CPU  # so that NumPy accepts it
    kind, fields.kind = fields.kind, _UINT if fields.kind == _BFLOAT else fields.kind
    try:
        array: Array = np.from_dlpack(_CapsuleHolder(capsule))
    finally:
        fields.device, fields.kind = device, kind
    return array.view(dtypes.bfloat16.numpy_dtype) if kind == _BFLOAT else array


def _shadow(value: Any) -> Array:
    """The shadow of an object that has CUDA's array interface."""
    interface = value.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise InvalidArgumentError("Arrays with a mask are not supported.")
    # Before version 3 there was no stream entry. None: nothing to wait for.
    stream = interface.get("stream", LEGACY_STREAM)
    gpu = _device()
    if stream is not None:
        gpu.order(stream, gpu.stream)
    return np.asarray(_ArrayInterface(interface, value))
