"""Replays on a GPU: driver calls on a stub driver, and results in the simulator."""

import pytest
from processes import SUPPORT, run

pytestmark = pytest.mark.numtape_only(reason="TensorFlow chooses devices otherwise")

ON_STUB = f"""
import sys

sys.path.insert(0, {str(SUPPORT)!r})
from stub_driver import on_stub

asked = on_stub()


def calls(step, *batches):
    '''What the last of several calls asks the driver for, by name.'''
    for batch in batches:
        asked.calls.clear()
        step(*batch)
    assert asked.calls[0] == ("cuCtxGetCurrent",)
    return sorted(name for name, *_ in asked.calls[1:])


import numpy as np

import numtape as tf
"""

TRAINING = (
    ON_STUB
    + """
w, b = tf.Variable(tf.ones((4, 3))), tf.Variable(tf.zeros(3))
optimizer = tf.keras.optimizers.Adam(0.1)
optimizer.build([w, b])


@tf.function
def step(x, y, rate=1.0):
    with tf.GradientTape() as tape:
        loss = rate * tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    return loss


def batch(k):
    return np.full((2, 4), k, np.float32), np.full((2, 3), k, np.float32)
"""
)


def on_stub(script):
    return run(script, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM=None)


@pytest.mark.records
def test_a_step_on_the_same_arrays_is_one_launch_of_a_graph():
    script = """
x, y = map(tf.constant, batch(1.0))
print(*calls(step, *[(x, y)] * 14))
"""
    assert on_stub(TRAINING + script) == "cuGraphLaunch"


@pytest.mark.records
@pytest.mark.slow
def test_a_new_small_batch_is_two_uploads_and_a_graph():
    script = "print(*calls(step, *map(batch, range(14))))"
    found = "cuGraphLaunch cuMemcpyHtoDAsync cuMemcpyHtoDAsync"
    assert on_stub(TRAINING + script) == found


@pytest.mark.records
@pytest.mark.slow
def test_a_new_number_is_one_upload_of_cells():
    script = """
x, y = map(tf.constant, batch(1.0))
print(*calls(step, *((x, y, tf.constant(float(k))) for k in range(14))))
"""
    assert on_stub(TRAINING + script) == "cuGraphLaunch cuMemcpyHtoDAsync"


@pytest.mark.records
@pytest.mark.slow
def test_losses_that_are_kept():
    """Each is copied to its own address, and the graph stays the same."""
    script = """
kept = []
found = calls(lambda *batch: kept.append(step(*batch)), *map(batch, range(24)))
print(*(name for name in found if name != "cuMemcpyHtoDAsync"))
"""
    found = "cuGraphLaunch cuMemAllocAsync cuMemcpyDtoDAsync cuMemcpyDtoDAsync"
    assert on_stub(TRAINING + script) == found


@pytest.mark.records
def test_arrays_of_the_gpu_at_ever_other_addresses():
    """Inputs and results are copied via fixed addresses, unless that takes longer."""
    script = """
@tf.function
def squares(x):
    return tf.matmul(tf.exp(tf.matmul(x, x)), x)


@tf.function
def scaled(x):
    return tf.exp(x) * 2.0


for function, size in (squares, 10), (squares, 2050), (scaled, 10):
    results = []
    arrays = [tf.random.normal((size, size)) for k in range(16)]
    print(*calls(lambda x: results.append(function(x)), *((x,) for x in arrays)))
"""
    small, large, alone = on_stub(ON_STUB + script).splitlines()
    assert small == "cuGraphLaunch cuMemAllocAsync cuMemcpyDtoDAsync cuMemcpyDtoDAsync"
    assert large == "cuLaunchKernel cuMemAllocAsync gemm gemm"
    assert alone == "cuLaunchKernel cuMemAllocAsync"


def test_addresses_that_come_again():
    """A row whose array had another address for a while is no longer copied."""
    script = """
from numtape.core.cuda.graph_capture import Steady

steady = Steady(True)
found = [steady.wanders(0, address) for address in (1, 2, 3, 1, 2, 3, 1, 2)]
print(any(found), [steady.wanders(0, address) for address in range(10, 15)][-1])
print([steady.wanders(0, 10 + k % 2) for k in range(40)][-1])
print(any(steady.wanders(1, address) for address in range(4)))
"""
    assert on_stub(ON_STUB + script).split() == ["False", "True", "False", "False"]


@pytest.mark.records
@pytest.mark.slow
def test_few_launches_of_many_arrays_are_a_graph():
    script = """
weights = [tf.Variable(tf.ones((5, k))) for k in range(2, 10)]
optimizer = tf.keras.optimizers.Adam(0.1)
optimizer.build(weights)


@tf.function
def step(rate):
    optimizer.apply_gradients([(rate * w, w) for w in weights])


print(*calls(step, *((tf.constant(2.0),) for k in range(14))))
"""
    assert on_stub(ON_STUB + script) == "cuGraphLaunch"


@pytest.mark.records
def test_more_memory_than_there_is():
    """Idle buffers and the pool are freed first; then an error is raised and replays go on."""
    script = """
row, two = tf.ones(50_000), tf.Variable(2.0)


@tf.function
def table(x):
    return tf.reshape(x, (-1, 1)) * row * two


def all_of(rows):
    return tf.reshape(tf.range(float(rows)), (-1, 1)) * row


for function, rows in (table, tf.ones), (all_of, int):
    kept = []
    for k in range(8):
        function(rows(2 + k % 2))
        kept.append(len(asked.memory))
    asked.calls.clear()
    try:
        function(rows(10**6)).numpy()
    except tf.errors.ResourceExhaustedError as error:
        print("Mul of shape (1000000, 50000) (float32)" in error.message)
    print(*[name for name, *_ in asked.named("cuMemPoolTrimTo", "cuMemAllocAsync")][-3:])
    for k in range(8):
        function(rows(2 + k % 2)).numpy()
    print(len(asked.memory) <= max(kept) + 1)
"""
    found = "True", "cuMemAllocAsync cuMemPoolTrimTo cuMemAllocAsync", "True"
    assert tuple(on_stub(ON_STUB + script).splitlines()) == found * 2


# Batches from the host and the GPU, results kept alive, scalars that exist on the GPU only, and
# arguments that are returned unchanged.
BATCHES = """
import numpy as np

import numtape as tf

w, steps = tf.Variable(tf.ones((4, 3))), tf.Variable(0.0)


@tf.function
def step(x, rate):
    with tf.GradientTape() as tape:
        y = tf.tanh(tf.matmul(x, w))
        loss = tf.reduce_mean(tf.square(y - 0.5)) * rate
    w.assign_sub(0.1 * tape.gradient(loss, w))
    steps.assign_add(rate)
    return loss, tf.cumsum(y, axis=1), x, tf.reshape(x, (4, 2)), steps.read_value()


@tf.function
def made(x):
    return tf.cumsum(x * 0.25, axis=0)


same, kept = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)), []
for k in range(60):
    x = same if k % 7 == 3 else np.full((2, 4), 0.01 * k, np.float32)
    if k >= 30:
        x = made(x)
    rate = tf.constant(1.0 + k % 3)
    if k % 5 == 4:
        rate = steps / steps  # the GPU knows it
    found = step(x, rate)
    if k < 20 or k % 2:
        kept.append(found)
for found in kept:
    print(*(np.round(x.numpy().astype(np.float64), 4).tolist() for x in found))
print(np.round(w.numpy().astype(np.float64), 4).tolist(), float(steps))
"""
COUNTED = (
    """
from numtape.core.cuda.runtime.device import device

gpu, replays = device(), []
replay = gpu.replay
gpu.replay = lambda graph: replays.append(1) or replay(graph)
"""
    + BATCHES
    + "assert len(replays) > 40, len(replays)\n"
)


@pytest.mark.slow
def test_new_arrays_in_the_simulator():
    found = run(COUNTED, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1", timeout=300)
    assert found == run(BATCHES, NUMTAPE_DEVICE="cpu")


CHECKS = """
import numpy as np

import numtape as tf
from numtape.core.cuda.runtime.device import device

gpu, downloads = device(), []
download = gpu.download
gpu.download = lambda *args: downloads.append(1) or download(*args)
count = tf.Variable(0)
table = tf.constant([1.0, 2.0, 3.0])


@tf.function
def known(at):
    count.assign_add(1)
    return tf.gather(table, at) * tf.cast(7 // (at + 1), tf.float32)


@tf.function
def computed(x):
    count.assign_add(1)
    return tf.gather(table, tf.cast(tf.cumsum(x), tf.int32))


def expect(call):
    try:
        call()
    except tf.errors.InvalidArgumentError as error:
        return error.message
    raise AssertionError


# What the host knows is checked there, before anything is done; nothing is waited for.
at = [tf.constant([k % 3, 0]) for k in range(9)]
downloads.clear()
found = [known(x) for x in at]
assert len(downloads) <= 3, downloads  # of the call that was recorded
for k in range(2):
    message = expect(lambda: known(tf.constant([1, 3])))
    assert message == "an index of 3 is not in [0, 3) [Op:GatherV2]", message
assert int(count) == 9
assert [x.numpy().tolist() for x in found] == [
    [(k % 3 + 1.0) * (7 // (k % 3 + 1)), 7.0] for k in range(9)
]

# What only the GPU knows is said at the next look at anything.
steps = [tf.constant([0.0, k % 3]) for k in range(9)]
computed(steps[0]).numpy()
downloads.clear()
found = [computed(x) for x in steps]
assert not downloads
assert [x.numpy().tolist() for x in found] == [[1.0, k % 3 + 1.0] for k in range(9)]
assert len(downloads) == 10, downloads  # one of the word
late = computed(tf.constant([5.0, 1.0]))
computed(steps[0])
for look in (found[1] * 2.0).numpy, late.numpy:
    try:
        print(look())
    except tf.errors.InvalidArgumentError as error:
        print(error.message)
print(computed(steps[2]).numpy(), int(count))
"""


@pytest.mark.records
def test_indices_are_checked_without_waiting():
    found = run(CHECKS, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1", timeout=300)
    said = "an index is not in [0, 3) [Op:GatherV2], in a call replayed since"
    assert found.splitlines() == [f"{said} a value was last read", "[0. 0.]", "[1. 3.] 22"]


BETWEEN = (
    CHECKS.partition("# What the host knows")[0]
    + """
from numtape.core.cuda import graph_capture
from numtape.core.cuda.device_errors import DEVICE_CHECKS

for _ in range(2):
    computed(tf.constant([0.0, 1.0])).numpy()
run, looks = graph_capture.Graphs.run, [DEVICE_CHECKS.look]
graph_capture.Graphs.run = lambda *args: (looks[0](), run(*args))
computed(tf.constant([5.0, 1.0]))
looks[0] = lambda: None


def interrupted(*args):
    gpu.download = download
    raise KeyboardInterrupt


gpu.download = interrupted
try:
    DEVICE_CHECKS.look()
except KeyboardInterrupt:
    print(expect(DEVICE_CHECKS.look))
DEVICE_CHECKS.look()
"""
)


@pytest.mark.records
@pytest.mark.slow
def test_what_a_check_finds_is_said_whatever_comes_in_between():
    """Another thread evaluates before the check is launched; an evaluation is interrupted."""
    found = run(BETWEEN, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1", timeout=300)
    assert found.startswith("an index is not in [0, 3) [Op:GatherV2], in a call")


# A small network's step; `launched` counts its products and kernels.
SMALL = (
    ON_STUB
    + """
from numtape.core.cuda import executor, launches

programs = []


class Program(executor.CudaProgram):
    def __init__(self, *args):
        super().__init__(*args)
        programs.append(self)


executor.CudaProgram = Program


def launched(step, *batch):
    for _ in range(2):
        step(*batch)
    kinds = [type(launch).__name__ for launch in programs.pop(0).plan.launches]
    return kinds.count("Product"), kinds.count("Launch"), len(kinds)
"""
)


@pytest.mark.records
def test_what_one_block_reduces_is_the_result():
    script = """
loss = tf.function(lambda x: tf.reduce_sum(tf.square(x)) + tf.reduce_max(x))
print(*launched(loss, tf.ones(1000)), *launched(loss, tf.ones(100_000)))
"""
    assert on_stub(SMALL + script) == "0 1 1 0 2 2"


NETWORK = """
sizes, weights = (2, 64, 64, 1), []
for rows, columns in zip(sizes, sizes[1:]):
    weights += [tf.Variable(tf.ones((rows, columns))), tf.Variable(tf.zeros(columns))]
optimizer = tf.keras.optimizers.Adam(0.01)
optimizer.build(weights)


def gradients(x, y):
    with tf.GradientTape() as tape:
        for k in range(0, 6, 2):
            x = tf.matmul(tf.tanh(x) if k else x, weights[k]) + weights[k + 1]
        loss = tf.reduce_mean(tf.square(x - y))
    return tape.gradient(loss, weights)


@tf.function
def descent(x, y):
    for w, g in zip(weights, gradients(x, y)):
        w.assign_sub(0.01 * g)


@tf.function
def adam(x, y):
    optimizer.apply_gradients(zip(gradients(x, y), weights))


for step in descent, adam:
    print(*launched(step, tf.ones((32, 2)), tf.ones((32, 1))))
"""


@pytest.mark.records
def test_what_shares_much_memory_among_threads_stays_alone():
    script = """
turned = tf.function(lambda x: tf.exp(tf.transpose(x)) + tf.sin(tf.transpose(tf.tanh(x))))
print(*launched(turned, tf.ones((64, 64))))
"""
    assert on_stub(SMALL + script) == "0 4 4"


@pytest.mark.records
def test_small_launches_that_follow_each_other_are_one():
    """So are all updates of variables of more than one element: six kernels beside products."""
    assert on_stub(SMALL + NETWORK).splitlines() == ["8 6 14"] * 2


def test_kernels_with_atomics_are_kept_as_long_as_graphs_that_have_them():
    script = """
import numtape as tf
from numtape.core.cuda import launches
from numtape.core.cuda.ops.scatter import scatter_add
from numtape.core.log.op import CODES
from numtape.core.values.dtypes import as_dtype
from numtape.core.values.spec import intern

table, at = intern((8, 4), as_dtype("float32")), intern((2,), as_dtype("int32"))
(op,) = [op for op in CODES.ops if op.name == "ScatterAdd"]
row = launches.LaunchRow(op, {"axis": 0}, table, [table, at], [0, 1, 2], lambda size: 3)
(scatter,) = scatter_add(row)
kernels = [one.kernel for one in scatter.atomic()]
launches._kernels.clear()
print(all(one.kernel is made for one, made in zip(scatter.atomic(), kernels, strict=True)))
"""
    assert on_stub(ON_STUB + script) == "True"
