"""`memoryview(tensor)` and other users of the buffer protocol, compared with NumPy arrays."""

import gc
import hashlib
import io
import struct
import sys

import numpy as np
import pytest
from processes import run

from numtape.core.cpython import layout
from numtape.core.values.export import FAILED_EXPORTS, array_of
from numtape.core.values.tensor import Tensor

pytestmark = [
    pytest.mark.numtape_only(reason="TensorFlow has other errors, and views of what is writable"),
    pytest.mark.cpu_only(reason="a value on the GPU has no buffer"),
    pytest.mark.skipif(
        bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "supported"
    ),
]

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
    "complex64",
    "complex128",
]
LARGE = 1 << 17


def numbers(shape, dtype):
    return (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)


def facts(shown):
    return shown.format, shown.itemsize, shown.shape, shown.strides, shown.tobytes()


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3), (LARGE,)], ids=str)
def test_a_memoryview_is_that_of_the_array(tf, shape, dtype):
    array = numbers(shape, dtype)
    for tensor in (tf.constant(array), tf.reshape(tf.constant(array), shape[::-1])):
        shown = memoryview(tensor)
        assert shown.readonly
        assert facts(shown) == facts(memoryview(array.reshape(tensor.shape)))
        assert bytes(shown) == array.tobytes()


def test_a_value_is_computed_for_it(tf):
    array = numbers((4, 5), "float32")
    shown = memoryview(tf.constant(array) * 2.0 + 1.0)
    gc.collect()  # the view keeps the value alive
    assert facts(shown) == facts(memoryview(array * 2 + 1))


def test_it_has_the_tensors_own_memory(tf):
    tensor = tf.constant(numbers((LARGE,), "float32"))
    first, second = (np.frombuffer(memoryview(tensor), np.float32) for _ in range(2))
    assert np.shares_memory(first, second)
    assert np.shares_memory(first, np.asarray(tensor))
    assert not np.asarray(tensor).flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(tensor).flags.writeable = True


def test_what_takes_bytes_takes_a_tensor(tf):
    array = numbers((2, 3), "float32")
    tensor, file = tf.constant(array), io.BytesIO()
    file.write(tensor)
    assert file.getvalue() == bytes(tensor) == bytes(bytearray(tensor)) == array.tobytes()
    assert b"".join([tensor, tensor]) == array.tobytes() * 2
    assert struct.unpack("6f", tensor) == struct.unpack("6f", array)
    assert hashlib.sha256(tensor).digest() == hashlib.sha256(array).digest()
    assert np.array_equal(np.frombuffer(tensor, np.float32), array.ravel())
    assert bytes(tf.constant(3)) == bytes(3)  # an integer, as in TensorFlow


def test_nobody_writes_through_it(tf):
    tensor = tf.constant(numbers((3,), "float32"))
    with pytest.raises(TypeError, match="read-only"):
        memoryview(tensor)[0] = 2.0
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"12345678").readinto(tensor)
    with pytest.raises((TypeError, BufferError), match=r"read-write|not writable"):
        struct.pack_into("f", tensor, 0, 1.0)
    with pytest.raises((TypeError, ValueError)):
        np.frombuffer(memoryview(tensor), np.float32)[0] = 2.0
    assert np.array_equal(tensor, numbers((3,), "float32"))


def test_a_dtype_that_buffers_have_no_format_for(tf):
    tensor = tf.cast([1.0, 2.0], tf.bfloat16)
    with pytest.raises(ValueError, match="buffer"):
        memoryview(tensor)
    assert np.asarray(tensor).dtype == tf.bfloat16.as_numpy_dtype
    assert not np.asarray(tensor).flags.writeable


def test_variables_have_none(tf):
    """As in TensorFlow: NumPy arrays of variables are writeable copies."""
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(variable)
    assert np.asarray(variable).flags.writeable


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        np.array,
        lambda x: np.array([x, x]),
        np.sin,
        memoryview,
    ],
    ids=["asarray", "array", "list", "sin", "memoryview"],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError, BufferError])
def test_the_error_of_a_look_comes_out_once(tf, monkeypatch, make, error):
    """NumPy drops errors of the buffer protocol, but the original error is raised."""
    raised = []

    def failing(tensor):
        raised.append(error("so it is"))
        raise raised[-1]

    tensor = tf.constant([1.0, 2.0])
    monkeypatch.setattr(Tensor, "_stored_value", failing)
    with pytest.raises(error) as caught:
        make(tensor)
    assert raised == [caught.value]
    monkeypatch.undo()
    assert np.asarray(tensor).tolist() == [1.0, 2.0]
    assert not FAILED_EXPORTS


def test_an_interrupt_before_the_first_instruction_is_not_lost(tf):
    tensor = tf.constant([1.0, 2.0])

    def interrupts(frame, event, arg):
        if frame.f_code is array_of.__code__:
            raise KeyboardInterrupt

    before = sys.gettrace()
    for make in (np.asarray, memoryview):
        sys.settrace(interrupts)
        try:
            with pytest.raises(KeyboardInterrupt):
                make(tensor)
        finally:
            sys.settrace(before)


def test_an_error_that_came_out_is_not_raised_again(tf, monkeypatch):
    tensor = tf.constant([1.0, 2.0])
    with monkeypatch.context() as patched:
        patched.setattr(Tensor, "_stored_value", lambda x: 1 // 0)
        for make in (memoryview, hashlib.sha256):
            with pytest.raises(ZeroDivisionError):
                make(tensor)
    for make in (Tensor.__array__, np.asarray):
        assert make(tensor).tolist() == [1.0, 2.0]


@pytest.mark.filterwarnings("ignore:.*runs as plain Python:RuntimeWarning")
@pytest.mark.parametrize(
    "first",
    [
        lambda x: memoryview(x)[0],
        lambda x: struct.unpack("3f", x)[0],
        lambda x: -bytes(x)[3] + 100,
        lambda x: np.frombuffer(x, np.float32)[0],
    ],
    ids=["memoryview", "struct", "bytes", "frombuffer"],
)
def test_a_replay_never_takes_what_a_buffer_had_before(tf, first):
    @tf.function
    def signed(x):
        return x * 2.0 if first(x) > 0 else x * 3.0

    for sign in (1.0, -1.0, 1.0, -1.0, 1.0, -1.0):
        x = sign * np.ones(3, np.float32)
        expected = x * (2 if sign > 0 else 3)
        assert signed(tf.constant(x)).numpy().tolist() == expected.tolist()


def test_classes_made_of_tensors(tf):
    class Derived(Tensor):
        pass

    tensor, derived = tf.constant([1.0, 2.0]), Derived()
    derived._home, derived._row, derived._spec = np.asarray(tensor), 0, tensor._spec
    assert memoryview(derived).tolist() == [1.0, 2.0]
    if sys.version_info >= (3, 12):
        from collections.abc import Buffer

        assert isinstance(tensor, Buffer)
        assert tensor.__buffer__(0).tolist() == [1.0, 2.0]


def test_without_machine_code_it_is_refused():
    assert "bytes-like" in run(REFUSED, NUMTAPE_RECORD="python")


REFUSED = """
import numpy as np, numtape as tf
x = tf.constant([1.0, 2.0])
assert np.asarray(x).tolist() == [1.0, 2.0]
try:
    memoryview(x)
except TypeError as error:
    print(error)
"""


def test_what_kept_it_from_being_made_may_pass():
    assert "[1.0, 2.0]" in run(LATE, NUMTAPE_RECORD="native")


LATE = """
import llvmlite.binding as llvm

def without(data):
    raise MemoryError

loaded, llvm.ObjectFileRef.from_data = llvm.ObjectFileRef.from_data, without
import numtape as tf
llvm.ObjectFileRef.from_data = loaded
x = tf.constant([1.0, 2.0])
try:
    memoryview(x)
except TypeError:
    for _ in range(100):
        float(tf.reduce_sum(x * x))
    print(memoryview(x).tolist())
"""
