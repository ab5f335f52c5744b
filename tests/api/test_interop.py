"""Memory shared with NumPy, PyTorch and CuPy: on the host, in Numba's simulator, on a GPU."""

import contextlib
import ctypes
import gc
import struct
import subprocess
import sys
import weakref

import numpy as np
import pytest
from processes import ROOT, environment
from stub_driver import stub_gpu

from numtape.core import interop, settings
from numtape.core.values.weakrefs import WeakObjectMap

pytestmark = pytest.mark.numtape_only(reason="TensorFlow shares in other places")

NAMES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
SHAPES = [(), (1,), (5,), (2, 3), (0, 3), (2, 1, 2, 2)]

on_host = pytest.mark.skipif("settings.device() == 'cuda'", reason="tensors are on the GPU")
on_gpu = pytest.mark.skipif("settings.device() != 'cuda'", reason="tensors are on the host")
every_dtype = pytest.mark.parametrize("dtype", NAMES)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def cases(names):
    """Every dtype, and every shape."""
    found = [((2, 3), name) for name in names] + [(shape, "float32") for shape in SHAPES]
    return pytest.mark.parametrize("shape, dtype", dict.fromkeys(found), ids=str)


def numbers(shape, dtype="float32"):
    size = int(np.prod(shape))
    return (np.arange(1, size + 1) % 3).astype(dtype).reshape(shape)


class Producer:
    """An array of another library."""

    def __init__(self, array):
        self.array = array
        self.asked = []

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldProducer:
    """A producer that does not support versions."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Capsule:
    """An object with its own capsule, which others may read."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def opened(capsule):
    return np.from_dlpack(Capsule(capsule))


@contextlib.contextmanager
def says(error, *words):
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert word in str(caught.value)


# --- To others, on the host ----------------------------------------------------------------------


@on_host
@cases(NAMES)
def test_numpy_shares_a_tensors_memory(tf, shape, dtype):
    array = numbers(shape, dtype)
    tensor = tf.constant(array)
    found = np.from_dlpack(tensor)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert found.shape == shape
    assert not found.flags.writeable
    assert np.shares_memory(found, np.from_dlpack(tensor)) == (found.size > 0)


@on_host
@every_shape
def test_a_value_that_is_not_computed_yet(tf, shape):
    array = numbers(shape)
    tensor = tf.constant(array) * 2.0
    np.testing.assert_array_equal(np.from_dlpack(tensor), 2 * array)
    np.testing.assert_array_equal(opened(tensor.__dlpack__()), 2 * array)


@on_host
def test_an_older_capsule_says_nothing_of_writing(tf):
    tensor = tf.constant([1.0, 2.0])
    capsule = tensor.__dlpack__()
    _, flags, _ = contents(capsule, None)
    assert flags is None
    assert np.shares_memory(opened(capsule), np.from_dlpack(tensor))


@on_host
def test_memory_that_is_read_only_is_copied_into_an_older_capsule(tf):
    array = numbers(3)
    array.flags.writeable = False
    tensor = tf.experimental.dlpack.from_dlpack(array)
    assert np.shares_memory(np.from_dlpack(tensor), array)
    found = opened(tensor.__dlpack__())
    np.testing.assert_array_equal(found, array)
    assert not np.shares_memory(found, array)
    with pytest.raises(BufferError):
        tensor.__dlpack__(copy=False)


@on_host
def test_a_copy(tf):
    tensor = tf.constant([1.0, 2.0])
    assert not np.shares_memory(opened(tensor.__dlpack__(copy=True)), np.from_dlpack(tensor))
    found = opened(tensor.__dlpack__(copy=True, max_version=(1, 0)))
    found += 1
    np.testing.assert_array_equal(tensor.numpy(), [1.0, 2.0])


@on_host
def test_the_place_where_it_is_wanted(tf):
    tensor = tf.constant([1.0, 2.0])
    assert tensor.__dlpack_device__() == tf.Variable(1.0).__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(opened(tensor.__dlpack__(dl_device=(1, 0))), [1.0, 2.0])
    with says(BufferError, "(1, 0)", "(2, 0)"):
        tensor.__dlpack__(dl_device=(2, 0))


@on_host
def test_a_variable_shares_the_value_that_it_has(tf):
    variable = tf.Variable([1.0, 2.0])
    first = np.from_dlpack(variable)
    second = np.from_dlpack(variable.assign_add([10.0, 10.0]))
    np.testing.assert_array_equal(first, [1.0, 2.0])
    np.testing.assert_array_equal(second, [11.0, 12.0])
    assert np.shares_memory(second, np.from_dlpack(variable))


@on_host
def test_memory_lives_as_long_as_its_user(tf):
    tensor = tf.constant(numbers(1000)) + 0.0
    expected = tensor.numpy()
    found = np.from_dlpack(tensor)
    del tensor
    others = [tf.constant(numbers(1000)) * float(k) for k in range(20)]
    for other in others:
        other.numpy()
    np.testing.assert_array_equal(found, expected)


@on_host
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_took_lets_go(tf, version):
    array = numbers(5)
    alive = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    capsule = tensor.__dlpack__(max_version=version)
    del tensor, array
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


@on_host
def test_there_is_no_array_interface_of_a_gpu(tf):
    variable = tf.Variable([1.0])
    for value in (tf.constant([1.0]), variable, variable.assign([2.0])):
        assert not hasattr(value, "__cuda_array_interface__")
        with says(AttributeError, "NUMTAPE_DEVICE=cuda"):
            _ = value.__cuda_array_interface__


# --- From others, on the host --------------------------------------------------------------------


@on_host
@pytest.mark.parametrize("wrap", [Producer, OldProducer, lambda x: x, lambda x: x.__dlpack__()])
@every_shape
def test_from_numpy(tf, shape, wrap):
    array = numbers(shape)
    tensor = tf.experimental.dlpack.from_dlpack(wrap(array))
    assert tensor.dtype == array.dtype
    assert tensor.shape == shape
    np.testing.assert_array_equal(tensor.numpy(), array)
    np.testing.assert_array_equal((tensor * 2.0).numpy(), 2 * array)
    assert np.shares_memory(np.from_dlpack(tensor), array) == (array.size > 0)


@every_dtype
def test_from_numpy_of_each_dtype(tf, dtype):
    array = numbers((2, 3), dtype)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_the_producer_lives_as_long_as_the_tensor(tf):
    array = numbers((2, 3))
    alive = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    del array
    gc.collect()
    np.testing.assert_array_equal(tensor.numpy(), numbers((2, 3)))
    assert alive() is not None
    del tensor
    gc.collect()
    assert alive() is None


def test_gradients_through_what_was_shared(tf):
    array = np.array([1.0, 2.0, 3.0])
    x = tf.experimental.dlpack.from_dlpack(array)
    w = tf.Variable(tf.experimental.dlpack.from_dlpack(array))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x * w)
    dx, dw = tape.gradient(y, [x, w])
    np.testing.assert_allclose(dx.numpy(), 2 * array**2)
    np.testing.assert_allclose(dw.numpy(), array**2)
    w.assign_add(dw)
    np.testing.assert_allclose(w.numpy(), array + array**2)
    np.testing.assert_array_equal(array, [1.0, 2.0, 3.0])


def test_shared_arguments_of_a_function(tf):
    @tf.function
    def double(x):
        return 2.0 * x

    for k in range(3):
        array = np.arange(4.0) + k
        tensor = tf.experimental.dlpack.from_dlpack(array)
        np.testing.assert_array_equal(double(tensor).numpy(), 2 * array)


@on_host
def test_sharing_inside_of_a_function_is_a_look(tf):
    @tf.function
    def scaled(x):
        return x * float(np.from_dlpack(x).sum())

    for values in ([1.0, 2.0], [1.0, 3.0], [1.0, 2.0]):
        expected = np.array(values) * sum(values)
        np.testing.assert_allclose(scaled(tf.constant(values)).numpy(), expected)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 4))[:, 1],
        np.zeros(4)[::2],
        np.zeros((2, 3)).T,
        np.zeros(4)[::-1],
        np.broadcast_to(np.zeros(3), (2, 3)).view(),
    ],
    ids=["column", "step", "transposed", "reversed", "repeated"],
)
def test_what_has_gaps_is_not_shared(tf, array):
    with says(tf.errors.InvalidArgumentError, "contiguous()", "ascontiguousarray"):
        tf.experimental.dlpack.from_dlpack(Producer(array))


def test_other_dtypes(tf):
    capsule = np.zeros(2, np.uint16).__dlpack__()
    interop._capsule_fields(capsule).bits = 24
    with says(ValueError, "uint24", "float32"):
        tf.experimental.dlpack.from_dlpack(capsule)
    interop._capsule_fields(capsule).bits = 16


@on_host
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "bfloat16"])
def test_dtypes_of_the_host(tf, dtype):
    first = tf.constant([1.0, -2.5])
    tensor = tf.experimental.dlpack.from_dlpack(tf.cast(first, dtype))
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tf.cast(tensor, tf.complex128), [1.0, -2.5])
    if dtype != "bfloat16":
        assert np.from_dlpack(tensor).dtype == dtype


@pytest.mark.parametrize("value", [3.0, [1.0], "text", None])
def test_what_is_no_array(tf, value):
    with says(tf.errors.InvalidArgumentError, "__dlpack__"):
        tf.experimental.dlpack.from_dlpack(value)


@on_host
def test_a_capsule_is_taken_once(tf):
    capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.0]))
    tf.experimental.dlpack.from_dlpack(capsule)
    with says(tf.errors.InvalidArgumentError, "once"):
        tf.experimental.dlpack.from_dlpack(capsule)


def test_there_and_back(tf):
    x = tf.constant([[1.0, 2.0]])
    for value in (x, 2.0 * x, tf.Variable(x), [[1.0, 2.0]]):
        capsule = tf.experimental.dlpack.to_dlpack(value)
        found = tf.experimental.dlpack.from_dlpack(capsule)
        np.testing.assert_array_equal(found.numpy(), tf.convert_to_tensor(value).numpy())


class Elsewhere:
    """An array on another device."""

    def __init__(self, kind, number=0):
        self.place = kind, number

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **options):
        raise AssertionError("it is asked for its device first")


class OnlyInterface:
    @property
    def __cuda_array_interface__(self):
        return {"shape": (1,), "typestr": "<f4", "data": (64, False), "version": 3}


CONVERSIONS = {
    "from_dlpack": lambda tf, x: tf.experimental.dlpack.from_dlpack(x),
    "constant": lambda tf, x: tf.constant(x),
    "constant of a dtype": lambda tf, x: tf.constant(x, tf.float64),
    "convert_to_tensor": lambda tf, x: tf.convert_to_tensor(x),
    "Variable": lambda tf, x: tf.Variable(x),
    "operand": lambda tf, x: tf.constant([1.0]) + x,
    "first operand": lambda tf, x: tf.add(x, x),
}
conversions = pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)


@on_host
@conversions
@pytest.mark.parametrize("value", [Elsewhere(2), OnlyInterface()], ids=["dlpack", "interface"])
def test_arrays_of_a_gpu_on_the_host(tf, convert, value):
    with says(tf.DeviceError, "NUMTAPE_DEVICE=cuda", "x.cpu()", "x.get()"):
        convert(tf, value)


def test_other_kinds_of_memory(tf):
    with says(tf.DeviceError, "type 8"):
        tf.experimental.dlpack.from_dlpack(Elsewhere(8))


# --- PyTorch, on the host ------------------------------------------------------------------------

TORCH_NAMES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@on_host
@cases(TORCH_NAMES)
def test_torch_there_and_back(tf, torch, shape, dtype):
    first = torch.from_numpy(numbers(shape, dtype))
    tensor = tf.experimental.dlpack.from_dlpack(first)
    assert tensor.dtype == dtype
    second = torch.from_dlpack(tensor)
    assert second.dtype == first.dtype
    assert second.shape == first.shape
    assert torch.equal(first, second)
    if first.numel():
        assert first.data_ptr() == second.data_ptr()
    capsule = tf.experimental.dlpack.to_dlpack(tensor)
    assert torch.equal(torch.utils.dlpack.from_dlpack(capsule), first)


@on_host
def test_torch_shares_what_numtape_computes(tf, torch):
    tensor = tf.constant(numbers((4, 5))) * 3.0
    found = torch.from_dlpack(tensor)
    assert found.data_ptr() == torch.from_dlpack(tensor).data_ptr()
    del tensor
    gc.collect()
    np.testing.assert_array_equal(found.numpy(), 3 * numbers((4, 5)))


def test_numtape_keeps_a_tensor_of_torchs(tf, torch):
    array = numbers(5)
    alive = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(torch.from_numpy(array))
    del array
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(tensor.numpy(), numbers(5))
    del tensor
    gc.collect()
    assert alive() is None


@on_host
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_torch_keeps_what_it_shares(tf, torch, version):
    array = numbers(5)
    alive = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    found = torch.from_dlpack(tensor.__dlpack__(max_version=version))
    del array, tensor
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(found.numpy(), numbers(5))
    del found
    gc.collect()
    assert alive() is None


@on_host
def test_what_torch_computes_from_what_it_shares(tf, torch):
    weights = np.array([1.0, 2.0, 3.0])
    v = tf.Variable(weights)
    x = torch.from_dlpack(v).requires_grad_()
    (x**3).sum().backward()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v**3.0)
    expected = tape.gradient(y, v)
    found = tf.experimental.dlpack.from_dlpack(x.grad)
    np.testing.assert_allclose(found.numpy(), expected.numpy())


def test_what_torch_does_not_share(tf, torch):
    with says(BufferError, "detach()"):
        tf.experimental.dlpack.from_dlpack(torch.zeros(2, requires_grad=True))
    half = tf.experimental.dlpack.from_dlpack(torch.tensor([0.5, 1.5], dtype=torch.bfloat16))
    assert half.dtype == tf.bfloat16 and half.numpy().tolist() == [0.5, 1.5]
    assert torch.from_dlpack(half).dtype == torch.bfloat16
    with says(tf.errors.InvalidArgumentError, "contiguous()"):
        tf.experimental.dlpack.from_dlpack(torch.zeros(2, 3).T)


def test_constants_of_torch_are_copies(tf, torch):
    value = torch.tensor([1.0, 2.0])
    tensors = [tf.constant(value), tf.convert_to_tensor(value), tf.constant(0.0) + value]
    value.zero_()
    for tensor in tensors:
        np.testing.assert_array_equal(tensor.numpy(), [1.0, 2.0])


# --- Both directions, on the GPU or in the simulator
# ---------------------------------------------------


def suite(*chosen, **variables):
    """Run tests of this file in a process with these variables."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *chosen,
            __file__,
        ],
        env=environment(ROOT, **variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@on_host
@pytest.mark.slow
def test_on_the_simulated_device():
    suite("-m", "not gpu", NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1")


@on_host
@pytest.mark.gpu
def test_on_the_cuda_device():
    suite(NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM=None)


@pytest.fixture
def gpu():
    from numtape.core.cuda.runtime.device import device

    return device()


def at(gpu, address, shape, dtype):
    """The contents of GPU memory."""
    found = np.empty(shape, dtype)
    gpu.download(address, found)
    return found


def put(gpu, array):
    """GPU memory with the elements of an array."""
    memory = gpu.empty(array.nbytes)
    gpu.upload(np.ascontiguousarray(array), memory.address)
    return memory


def of_python(name, result):
    """A function of Python's C API that takes a capsule and a name."""
    kind = ctypes.PYFUNCTYPE(result, ctypes.py_object, ctypes.c_char_p)
    return kind((name, ctypes.pythonapi))


pointer_of = of_python("PyCapsule_GetPointer", ctypes.c_void_p)
rename = of_python("PyCapsule_SetName", ctypes.c_int)
USED = {None: b"used_dltensor", (1, 0): b"used_dltensor_versioned"}


def contents(capsule, version):
    """The structure in a capsule, with the layout of dlpack.h."""
    pointer = pointer_of(capsule, b"dltensor_versioned" if version else b"dltensor")
    if version:
        major, _, _, deleter, flags = struct.unpack("=IIQQQ", ctypes.string_at(pointer, 32))
        assert major == 1
        array = ctypes.string_at(pointer + 32, 48)
    else:
        array, flags = ctypes.string_at(pointer, 48), None
        (_, deleter) = struct.unpack("=QQ", ctypes.string_at(pointer + 48, 16))
    names = (
        "data",
        "device",
        "number",
        "rank",
        "code",
        "bits",
        "lanes",
        "shape",
        "strides",
        "offset",
    )
    found = dict(zip(names, struct.unpack("=QiiiBBHQQQ", array), strict=True))
    for name in ("shape", "strides"):
        place = found[name]
        if place:
            found[name] = tuple((ctypes.c_int64 * found["rank"]).from_address(place))
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
    return found, flags, lambda: delete(pointer)


@on_gpu
@pytest.mark.parametrize("version", [None, (1, 0)])
@cases(NAMES)
def test_gpu_what_a_capsule_says(tf, gpu, shape, dtype, version):
    array = numbers(shape, dtype)
    tensor = tf.constant(array)
    assert tensor.__dlpack_device__() == (2, 0)
    capsule = tensor.__dlpack__(stream=-1, max_version=version)
    found, flags, _ = contents(capsule, version)
    assert (found["device"], found["number"], found["lanes"], found["rank"]) == (
        2,
        0,
        1,
        array.ndim,
    )
    kinds = {"i": 0, "u": 1, "f": 2, "b": 6}
    assert (found["code"], found["bits"]) == (kinds[array.dtype.kind], 8 * array.itemsize)
    if shape:
        assert found["shape"] == shape
        if found["strides"] and array.size:
            expected = tuple(step // array.itemsize for step in array.strides)
            assert found["strides"] == expected
    assert flags == (1 if version else None)  # read-only
    begin = found["data"] + found["offset"]
    np.testing.assert_array_equal(at(gpu, begin, shape, dtype), array)


@on_gpu
def test_gpu_values_are_where_they_were_computed(tf, gpu):
    tensor = tf.constant([1.0, 2.0, 3.0]) * 2.0
    where = tensor._stored_value().address
    found, _, _ = contents(tensor.__dlpack__(), None)
    assert found["data"] == where == tensor.__cuda_array_interface__["data"][0]
    same, _, _ = contents(tensor.__dlpack__(), None)
    assert same["data"] == where


@on_gpu
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_gpu_memory_is_given_back(tf, gpu, version):
    def exported():
        return (tf.constant(numbers(100)) * 2.0).__dlpack__(max_version=version)

    def used():
        gc.collect()
        gpu.synchronize()
        return gpu.memory_info()["current"]

    exported()
    before = used()
    capsule = exported()
    assert used() >= before + 400
    del capsule  # without a consumer
    assert used() == before
    capsule = exported()
    _, _, delete = contents(capsule, version)
    rename(capsule, USED[version])
    del capsule
    assert used() >= before + 400
    delete()
    assert used() == before


@on_gpu
def test_gpu_a_copy(tf, gpu):
    tensor = tf.constant([1.0, 2.0, 3.0]) * 2.0
    for version, expected in ((None, None), ((1, 0), 2)):  # copied, and not read-only
        capsule = tensor.__dlpack__(max_version=version, copy=True)
        found, flags, _ = contents(capsule, version)
        assert flags == expected
        assert found["data"] != tensor._stored_value().address
        np.testing.assert_array_equal(at(gpu, found["data"], 3, "float32"), [2.0, 4.0, 6.0])


@on_gpu
def test_gpu_to_the_host(tf):
    tensor = tf.constant([1.0, 2.0, 3.0]) * 2.0
    found = np.from_dlpack(tensor, device="cpu")
    np.testing.assert_array_equal(found, [2.0, 4.0, 6.0])
    assert not found.flags.writeable
    with says(BufferError, "copy"):
        np.from_dlpack(tensor, device="cpu", copy=False)
    with says(BufferError, "(2, 1)"):
        tensor.__dlpack__(dl_device=(2, 1))


@on_gpu
@pytest.mark.parametrize("stream", [0, -2])
def test_gpu_streams_that_are_none(tf, stream):
    with says(ValueError, "stream"):
        tf.constant([1.0]).__dlpack__(stream=stream)


@on_gpu
@cases(NAMES)
def test_gpu_array_interface(tf, gpu, shape, dtype):
    array = numbers(shape, dtype)
    for value in (tf.constant(array), tf.Variable(array)):
        found = value.__cuda_array_interface__
        assert found["version"] == 3
        assert found["shape"] == shape
        assert np.dtype(found["typestr"]) == array.dtype
        assert found["strides"] is None
        assert found["stream"] == int(gpu.stream)
        address, read_only = found["data"]
        assert read_only
        assert (address == 0) == (array.size == 0)
        again = value.__cuda_array_interface__["data"][0]
        assert again == address
        np.testing.assert_array_equal(at(gpu, address, shape, dtype), array)


@on_gpu
def test_gpu_one_element_under_a_tape(tf, gpu):
    """The tensor stays a row of the tape's log; other libraries read a copy."""
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        found = y.__cuda_array_interface__
        z = y * y
    assert tape.gradient(z, x).numpy() == 108.0
    assert at(gpu, found["data"][0], (), "float32") == 9.0


class Foreign:
    """An array of another library's, with CUDA's array interface."""

    def __init__(self, gpu, array, **entries):
        base = array if array.base is None else array.base
        self.memory = put(gpu, base)
        begin = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
            "data": (self.memory.address + begin, False),
            "strides": None if array.flags.c_contiguous else array.strides,
            **entries,
        }


@on_gpu
@cases(NAMES)
def test_gpu_from_an_array_interface(tf, gpu, shape, dtype):
    array = numbers(shape, dtype)
    foreign = Foreign(gpu, array)
    tensor = tf.experimental.dlpack.from_dlpack(foreign)
    copies = tf.constant(foreign), tf.convert_to_tensor(foreign)
    for found in (tensor, *copies):
        assert found.dtype == dtype
        assert found.shape == shape
    if array.size:
        assert tensor._stored_value().address == foreign.memory.address
        gpu.upload(np.zeros_like(array), foreign.memory.address)
        np.testing.assert_array_equal(tensor.numpy(), np.zeros_like(array))
    for copy in copies:
        np.testing.assert_array_equal(copy.numpy(), array)


@on_gpu
@pytest.mark.parametrize("convert", [CONVERSIONS[name] for name in CONVERSIONS], ids=CONVERSIONS)
def test_gpu_conversions(tf, gpu, convert):
    array = numbers(4)
    found = convert(tf, Foreign(gpu, array))
    expected = convert(tf, array)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@on_gpu
def test_gpu_operands_take_the_other_ones_dtype(tf, gpu):
    found = tf.constant([1.0, 1.0], tf.float64) + Foreign(gpu, np.array([1, 2]))
    assert found.dtype == "float64"
    np.testing.assert_array_equal(found.numpy(), [2.0, 3.0])
    half = Foreign(gpu, np.array([1, 2], np.float16))
    np.testing.assert_array_equal(tf.constant(half, tf.float32).numpy(), [1.0, 2.0])


@on_gpu
@pytest.mark.parametrize(
    "array",
    [
        numbers((4, 3))[:, 1],
        numbers(8)[::2],
        numbers((2, 3)).T,
        numbers(4)[::-1],
        numbers(4, ">f4"),
        numbers((2, 3, 2))[1].T,
    ],
    ids=["column", "step", "transposed", "reversed", "other bytes", "part"],
)
def test_gpu_arrays_that_lie_otherwise(tf, gpu, array):
    foreign = Foreign(gpu, array)
    np.testing.assert_array_equal(tf.constant(foreign).numpy(), array)
    np.testing.assert_array_equal(tf.constant(foreign, tf.int32).numpy(), array)
    with says(tf.errors.InvalidArgumentError, "ascontiguousarray"):
        tf.experimental.dlpack.from_dlpack(foreign)


@on_gpu
def test_gpu_arrays_that_begin_anywhere(tf, gpu):
    foreign = Foreign(gpu, numbers(9)[1:])
    with says(tf.errors.InvalidArgumentError, "clone()"):
        tf.experimental.dlpack.from_dlpack(foreign)
    np.testing.assert_array_equal(tf.constant(foreign).numpy(), numbers(9)[1:])


@on_gpu
def test_gpu_masks_and_other_dtypes(tf, gpu):
    with says(tf.errors.InvalidArgumentError, "mask"):
        tf.constant(Foreign(gpu, numbers(3), mask=OnlyInterface()))
    for convert in (tf.constant, tf.experimental.dlpack.from_dlpack):
        with says(ValueError, "datetime64"):
            convert(Foreign(gpu, np.zeros(2, "datetime64[D]")))


@on_gpu
@pytest.mark.parametrize("wrap", [Producer, OldProducer, lambda x: x, lambda x: x.__dlpack__()])
def test_gpu_from_dlpack(tf, wrap):
    first = tf.constant([1.0, 2.0, 3.0]) * 2.0
    second = tf.experimental.dlpack.from_dlpack(wrap(first))
    assert second._stored_value().address == first._stored_value().address
    del first
    gc.collect()
    np.testing.assert_array_equal((second + 1.0).numpy(), [3.0, 5.0, 7.0])


@on_gpu
def test_gpu_a_capsule_stays_as_it_was(tf):
    """The capsule belongs to the producer, whose deleter may read the device."""
    capsule = (tf.constant([1.0, 2.0]) * 2.0).__dlpack__(max_version=(1, 0))
    before, _, _ = contents(capsule, True)
    pointer = pointer_of(capsule, b"dltensor_versioned")
    tensor = tf.experimental.dlpack.from_dlpack(capsule)
    after = struct.unpack("=Qii", ctypes.string_at(pointer + 32, 16))
    assert after == (before["data"], 2, 0)
    np.testing.assert_array_equal(tensor.numpy(), [2.0, 4.0])


@on_gpu
def test_gpu_keeps_the_producer(tf, gpu):
    foreign = Foreign(gpu, numbers(4))
    alive = weakref.ref(foreign)
    tensor = tf.experimental.dlpack.from_dlpack(foreign)
    del foreign
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal((tensor * 2.0).numpy(), 2 * numbers(4))
    del tensor
    gpu.synchronize()
    gpu.empty(1)  # releases buffers that the GPU no longer uses
    gc.collect()
    assert alive() is None


@on_gpu
def test_gpu_from_the_host(tf):
    array = numbers((2, 3))
    tensor = tf.experimental.dlpack.from_dlpack(array)
    np.testing.assert_array_equal((tensor + tf.constant(array)).numpy(), 2 * array)


@on_gpu
def test_gpu_of_another_number(tf):
    for convert in (tf.constant, tf.experimental.dlpack.from_dlpack):
        with says(tf.DeviceError, "GPU 1", "CUDA_VISIBLE_DEVICES"):
            convert(Elsewhere(2, 1))


# --- The order of streams, on a stub driver ------------------------------------------------------


@pytest.fixture
def stub(monkeypatch):
    from numtape.core.cuda.runtime import device

    found = stub_gpu(monkeypatch)
    monkeypatch.setattr(device, "_device", found)
    monkeypatch.setattr(device, "_copies", WeakObjectMap())
    # restored afterwards: it disables fast paths permanently
    monkeypatch.setattr(settings, "moved", settings.moved)
    with settings.override("cuda"):
        yield found
        gc.collect()


def orders(stub, act):
    """Pairs of streams since `act`, of which the second waits for the first."""
    calls = stub._driver.calls
    calls.clear()
    result = act()
    recorded = {event: stream for _, event, stream in stub._driver.named("cuEventRecord")}
    waits = stub._driver.named("cuStreamWaitEvent")
    return [(recorded[event], stream) for _, stream, event, _ in waits], result


OURS = 77


@pytest.mark.parametrize("stream, waiting", [(None, 1), (1, 1), (2, 2), (1234, 1234), (-1, None)])
def test_the_consumers_stream_waits(tf, stub, stream, waiting):
    tensor = tf.constant([1.0, 2.0])
    found, capsule = orders(stub, lambda: tensor.__dlpack__(stream=stream))
    assert found == ([] if waiting is None else [(OURS, waiting)])
    assert contents(capsule, None)[0]["device"] == 2


def test_the_default_stream_waits_for_an_array_interface(tf, stub):
    tensor = tf.constant([1.0, 2.0])
    found, interface = orders(stub, lambda: tensor.__cuda_array_interface__)
    assert found == [(OURS, 1)]
    assert interface["stream"] == OURS


def test_memory_is_given_back_after_the_consumers_work(tf, stub):
    capsule = tf.constant([1.0, 2.0]).__dlpack__(stream=-1)
    address = contents(capsule, None)[0]["data"]

    def let_go():
        nonlocal capsule
        capsule = None
        gc.collect()
        stub.synchronize()

    found, _ = orders(stub, let_go)
    assert found == [(1, OURS)]
    calls = stub._driver.calls
    wait = next(k for k, call in enumerate(calls) if call[0] == "cuStreamWaitEvent")
    assert calls.index(("cuMemFreeAsync", address, OURS)) > wait


def test_our_stream_waits_for_the_producer(tf, stub):
    producer = Producer(tf.constant([1.0, 2.0]))
    orders(stub, lambda: tf.experimental.dlpack.from_dlpack(producer))
    assert producer.asked == [{"stream": OURS, "max_version": (1, 0)}]
    capsule = tf.constant([1.0, 2.0]).__dlpack__()
    found, _ = orders(stub, lambda: tf.experimental.dlpack.from_dlpack(capsule))
    assert found == [(1, OURS)]


@pytest.mark.parametrize(
    "entries, expected",
    [
        ({"stream": None}, []),
        ({"stream": 1}, [(1, OURS)]),
        ({"stream": 2}, [(2, OURS)]),
        ({"stream": 1234}, [(1234, OURS)]),
        ({}, [(1, OURS)]),
    ],
)
@pytest.mark.parametrize("name", ["constant", "from_dlpack"])
def test_our_stream_waits_for_an_array_interface(tf, stub, entries, expected, name):
    foreign = Foreign(stub, numbers(8))
    del foreign.__cuda_array_interface__["stream"]
    foreign.__cuda_array_interface__ |= entries
    found, tensor = orders(stub, lambda: CONVERSIONS[name](tf, foreign))
    assert found == expected
    np.testing.assert_array_equal(tensor.numpy(), numbers(8))


def test_the_producer_is_let_go_of_after_our_work(tf, monkeypatch, stub):
    foreign = Foreign(stub, numbers(8))
    alive = weakref.ref(foreign)
    stub._driver.late = True
    tensor = tf.constant(foreign)
    del foreign
    gc.collect()
    assert alive() is not None  # the copy is queued but not executed
    np.testing.assert_array_equal(tensor.numpy(), numbers(8))
    stub.empty(1)
    gc.collect()
    assert alive() is None


def test_a_capsule_for_whoever_takes_it_is_ready(tf, stub):
    tensor = tf.constant([1.0, 2.0])
    stub._driver.calls.clear()
    tf.experimental.dlpack.to_dlpack(tensor)
    assert stub._driver.calls[-1] == ("cuStreamSynchronize", OURS)


# --- PyTorch and CuPy, on a GPU ------------------------------------------------------------------


@pytest.fixture
def library(request):
    found = pytest.importorskip(request.param)
    if request.param == "torch" and not found.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return found


both = pytest.mark.parametrize("library", ["torch", "cupy"], indirect=True)


def made(library, array):
    """An array of a library on the GPU."""
    on = {"device": "cuda"} if library.__name__ == "torch" else {}
    return library.asarray(array, **on)


def pointer(x):
    return x.data_ptr() if hasattr(x, "data_ptr") else x.data.ptr


def fetched(x):
    return x.cpu().numpy() if hasattr(x, "cpu") else x.get()


@pytest.mark.gpu
@on_gpu
@both
@cases(TORCH_NAMES)
def test_gpu_library_there_and_back(tf, library, shape, dtype):
    array = numbers(shape, dtype)
    first = made(library, array)
    tensor = tf.experimental.dlpack.from_dlpack(first)
    np.testing.assert_array_equal(tensor.numpy(), array)
    others = [library.from_dlpack(tensor)]
    if library.__name__ == "cupy":
        others.append(library.asarray(tensor))  # PyTorch rejects read-only interfaces
    for found in others:
        assert found.dtype == first.dtype
        np.testing.assert_array_equal(fetched(found), array)
        if array.size:
            assert pointer(found) == pointer(first)
    copy = tf.constant(first)
    np.testing.assert_array_equal(copy.numpy(), array)
    assert copy.dtype == dtype


@pytest.mark.gpu
@on_gpu
@both
def test_gpu_library_shares_what_numtape_computes(tf, library):
    tensor = tf.constant(numbers(1000)) * 2.0
    found = library.from_dlpack(tensor)
    assert pointer(found) == tensor._stored_value().address
    del tensor
    np.testing.assert_array_equal(fetched(found + 1), 2 * numbers(1000) + 1)


@pytest.mark.gpu
@on_gpu
@both
def test_gpu_library_order_of_streams(tf, library):
    """Each side reads results whose computation the other side has only queued."""
    x = tf.constant(np.ones((2000, 2000), np.float32))
    w = made(library, np.full((2000, 2000), 1 / 2000, np.float32))
    for _ in range(20):
        x = tf.experimental.dlpack.from_dlpack(library.from_dlpack(x) @ w)
        x = tf.matmul(x, tf.experimental.dlpack.from_dlpack(w * 1.0))
        x = tf.constant(library.from_dlpack(x) * 1.0)
    np.testing.assert_allclose(x.numpy(), 1.0, rtol=1e-3)


@pytest.mark.gpu
@on_gpu
def test_gpu_library_streams_of_torch(tf):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    w = torch.full((2000, 2000), 1 / 2000, device="cuda")
    torch.cuda.synchronize()
    x = tf.constant(np.ones((2000, 2000), np.float32))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(20):
            shared = torch.from_dlpack(x) @ w
            x = tf.experimental.dlpack.from_dlpack(shared) + 0.0
    np.testing.assert_allclose(x.numpy(), 1.0, rtol=1e-3)


@pytest.mark.gpu
@on_gpu
def test_gpu_library_pinned_memory_of_torch(tf):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    pinned = torch.arange(5.0).pin_memory()
    tensor = tf.experimental.dlpack.from_dlpack(pinned)
    np.testing.assert_array_equal((tensor * 2.0).numpy(), 2 * np.arange(5.0))
