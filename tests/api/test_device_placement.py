"""`tf.device`: placement of computations."""

import pytest
from processes import run

ON_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}


@pytest.mark.parametrize(
    "name",
    [
        "/CPU:0",
        "cpu:0",
        "CPU",
        "/device:CPU:0",
        "/cpu:1",
        ON_CPU,
        *(
            pytest.param(name, marks=pytest.mark.cpu_only("no name is the one chosen"))
            for name in ("", None)
        ),
    ],
)
def test_names_of_the_cpu(tf, name):
    with tf.device(name):
        x = tf.Variable([1.0, 2.0])
        y = x * 2.0
        assert x.device == y.device == ON_CPU
    assert y.numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", ["foo", "/CPU:0:1", "/TPU:x", 3])
def test_what_is_no_name_of_a_device(tf, name):
    with pytest.raises(ValueError):
        with tf.device(name):
            pass


def test_gradients_go_through(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        with tf.device("/CPU:0"):
            y = x * x
        z = tf.reduce_sum(y * x)
    assert tape.gradient(z, x).numpy().tolist() == [3.0, 12.0]


def test_an_error_ends_the_block(tf):
    with pytest.raises(KeyError):
        with tf.device("/CPU:0"):
            raise KeyError
    assert float(tf.constant(2.0) * 3.0) == 6.0


@pytest.mark.numtape_only(reason="numtape's own simulator")
def test_the_end_of_a_block_that_fails():
    """The previous device is restored."""
    script = """
import numtape as tf
from numtape.core.cuda.runtime.device import device

gpu = device()
x = tf.ones(4) * 2.0
with tf.device("/CPU:0"):
    pass
download = gpu.launch
def failing(*_):
    raise KeyError
try:
    with tf.device("/GPU:0"):
        gpu.launch = failing
        y = x * 3.0
except KeyError:
    print("failed")
gpu.launch = download
print(tf.config.device(), float(y[0]))
"""
    found = run(script, **{**SIMULATED, "NUMTAPE_DEVICE": "cpu"})
    assert found.split() == ["failed", "cpu", "6.0"]


NO_GPU = """
import logging, sys
logging.basicConfig(level=20, stream=sys.stdout)
sys.modules["cuda"] = None
import numtape as tf
with tf.device("/GPU:0"):
    print((tf.ones(2) * 2.0).device[-5:])
tf.config.set_soft_device_placement(False)
try:
    with tf.device("/GPU:0"):
        pass
except tf.DeviceError as error:
    print(error)
print(float(tf.constant(2.0)))
"""


@pytest.mark.numtape_only(reason="TensorFlow chooses devices otherwise")
def test_the_cpu_takes_the_place_of_a_gpu_only_if_it_may():
    here = {"NUMTAPE_DEVICE": "cpu", "NUMBA_ENABLE_CUDASIM": None}
    *_, said, where, error, after = run(NO_GPU, **here).splitlines()
    assert said.startswith("INFO:numtape:/GPU:0 is not there; the CPU takes its place")
    assert where == "CPU:0"
    assert "packages that are not installed" in error
    assert after == "2.0"


MOVED = """
import numpy as np
import numtape as tf
from numtape.core.cuda.runtime.device import device

def launches(call):
    before = device().launches
    found = call()
    return found, device().launches - before

def where(tensor):
    return tensor.device[-5:]

x = tf.Variable(np.arange(6.0).reshape(2, 3))
with tf.device({here!r}):
    y = x * 2.0 + 1.0
    print(where(y), launches(lambda: y.numpy().tolist()))
z = y * x
w = z + 1.0
with tf.device({here!r}):  # z and w are computed before
    v = w - 1.0
    print(where(z), where(v), launches(lambda: (z.numpy().tolist(), v.numpy().tolist())))
print(where(v))

@tf.function
def cube(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x * n
    return tape.gradient(y, x), tf.reduce_sum(y)

values = []
for k in range(4):
    with tf.device({here!r} if k % 2 else {there!r}):
        (slope, total), count = launches(lambda: cube(x + float(k), tf.constant(2.0, tf.float64)))
        print(where(slope), count > 0)
        values += [slope, total]
print([np.sum(value.numpy()) for value in values])
c = tf.constant(np.arange(6.0).reshape(2, 3)) + 1.0
c.numpy()

@tf.function
def joined(x):
    return tf.concat([x, c, x * c], axis=0), tf.reduce_sum(c)

for k in range(6):  # recorded on either device, replayed on the other
    with tf.device({here!r} if k % 3 else {there!r}):
        print([t.numpy().tolist() for t in joined(x)])
with tf.GradientTape() as tape:
    y = x * x
    with tf.device({here!r}):
        y = tf.sin(y)
    y = tf.reduce_sum(y * x)
print(np.round(tape.gradient(y, x).numpy(), 12).tolist())
x.assign_add(tf.ones_like(x))
with tf.device({here!r}):
    x.assign_add(tf.ones_like(x))
print(x.numpy().tolist())
"""


def moved(here, there, **variables):
    return run(MOVED.format(here=here, there=there), **variables).splitlines()


@pytest.mark.records
@pytest.mark.numtape_only(reason="numtape's own simulator")
@pytest.mark.parametrize("device", ["cuda", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_both_devices_in_one_program(device):
    """Values are transferred as needed, and are equal on both devices."""
    here, there = ("/CPU:0", "/GPU:0") if device == "cuda" else ("/GPU:0", "/CPU:0")
    found = moved(here, there, **{**SIMULATED, "NUMTAPE_DEVICE": device})
    alone = moved("", "", NUMTAPE_DEVICE="cpu", NUMBA_ENABLE_CUDASIM="1")
    first, second = here[1:], there[1:]
    x = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    y = [[2 * v + 1 for v in row] for row in x]
    z = [[v * (2 * v + 1) for v in row] for row in x]
    kernels = 1 if first == "GPU:0" else 0
    assert found[0] == f"{first} {(y, kernels)}"
    assert found[1] == f"{second} {first} {((z, z), kernels)}"
    assert found[2] == first
    for k in range(4):
        place = first if k % 2 else second
        assert found[3 + k] == f"{place} {place == 'GPU:0'}"
    assert found[7:] == alone[7:]


@pytest.mark.numtape_only(reason="needs a GPU there")
def test_memory_of_gpus_grows(tf):
    """Calls at the start of programs; TensorFlow also refuses CPUs."""
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)
    assert tf.config.experimental.get_memory_growth(gpu)
    (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    for device, wanted in ((gpu, False), (cpu, True)):
        with pytest.raises(ValueError, match="emory"):
            tf.config.experimental.set_memory_growth(device, wanted)
