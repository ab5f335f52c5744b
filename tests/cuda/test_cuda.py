"""The CUDA executor, in Numba's simulator (in its own process) and on a GPU if available.

On a machine with a GPU, this command runs all tests that need one, including the table of ops and
the random programs. Run it from the folder that contains `tests`, which may be read-only. Compiled
kernels are cached in NUMTAPE_CACHE_DIR; compiling takes most of the time::

    python -m pytest -p no:cacheprovider -m gpu -n 16 --maxprocesses 16

This one runs all tests, on the GPU unless they choose a device (some 16,000 kernels of 0.2 s each,
less than nine minutes on 16 cores; each process has its own context of some 500 MB of GPU
memory)::

    NUMTAPE_DEVICE=cuda python -m pytest -p no:cacheprovider -n 16 --maxprocesses 16

Both skip tests that cannot run; `-rs` prints the reasons. Finally, run each class of kernel once on
small inputs under the sanitizer; the first line compiles the kernels::

    export NUMTAPE_DEVICE=cuda PYTHONPATH=.
    python tests/support/cuda_all_kernels.py
    compute-sanitizer --tool memcheck --error-exitcode 9 python tests/support/cuda_all_kernels.py
    compute-sanitizer --tool racecheck --error-exitcode 9 python tests/support/cuda_all_kernels.py
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checks import SEED
from processes import ROOT, SUPPORT, environment, run

pytestmark = pytest.mark.numtape_only(reason="TensorFlow chooses devices otherwise")

SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}
ON_GPU = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": None}
# The slowest tests in the simulator: compositions of ops that have their own tests, and views.
LONG = "cuda-norm or variance or std or logsumexp or strided or operands_stay or moments"
# Tests that do not depend on the device that `NUMTAPE_DEVICE` selects.
simulator = pytest.mark.cpu_only("in the simulator, whatever the device")


def suite(chosen, *files, shard="0/1", timeout=540, **variables):
    """Run tests in a process with these variables, and return its output."""
    options = ["-q", "--shard", shard, "-p", "no:cacheprovider", "-k", chosen, *files]
    child = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        env=environment(ROOT, **variables),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    assert child.returncode == 0, child.stdout[-5000:]
    return child.stdout


@simulator
@pytest.mark.parametrize(
    "shard",
    [
        pytest.param("of the seed", marks=pytest.mark.slow),
        *(pytest.param(f"{k}/4", marks=pytest.mark.thorough) for k in range(4)),
    ],
)
def test_every_op_in_the_simulator(shard):
    """Tests a quarter of the ops, depending on the seed, or all."""
    shard = f"{SEED % 4}/4" if shard == "of the seed" else shard
    chosen = f"(test_value or test_derivatives) and not ({LONG})"
    suite(chosen, "tests/ops/test_ops.py", shard=shard, **SIMULATED)


@pytest.mark.slow
@simulator
def test_functions_in_the_simulator():
    """Replays, whose arguments and results may exist on the GPU only."""
    files = "tests/replay/test_function.py", "tests/replay/test_function_gradients.py"
    suite("not training_inside", *files, **SIMULATED)


# A plugin that pretends that a GPU exists, to list the tests that would run on it.
FOUND = """
import sys

def pytest_configure(config):
    for module in list(sys.modules.values()):
        if hasattr(module, "no_gpu"):
            module.no_gpu = lambda: ""
"""


@pytest.mark.slow
@simulator
@pytest.mark.parametrize("device", [None, "cuda"])
def test_values_and_derivatives_are_checked_on_a_gpu(device, tmp_path):
    """With a GPU, every row of the table of ops and the random programs run on it."""
    (tmp_path / "gpu_found.py").write_text(FOUND)
    where = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    files = (
        "ops/test_ops.py",
        "runtime/test_random_programs.py",
        "replay/test_replay_programs.py",
        "ops/test_random.py",
    )
    child = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "gpu_found",
            "-p",
            "no:cacheprovider",
            "--collect-only",
            "-qqq",
            "-m",
            "gpu",
            *(f"tests/{name}" for name in files),
        ],
        env=environment(
            ROOT,
            PYTHONPATH=f"{ROOT}{os.pathsep}{where}",
            NUMTAPE_DEVICE=device,
            NUMBA_ENABLE_CUDASIM=None,
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [line for line in child.stdout.split("\n") if line.startswith("tests/")]
    counts = dict(line.split(": ") for line in lines)
    listed = {Path(name).name: int(count) for name, count in counts.items()}
    assert listed["test_ops.py"] >= 1440
    assert listed["test_random_programs.py"] == 4
    assert listed["test_replay_programs.py"] == 20
    assert listed["test_random.py"] == 4


PROGRAM = (SUPPORT / "cuda_program.py").read_text("utf-8")


@simulator
@pytest.mark.slow
def test_programs_in_the_simulator():
    """Training, replay, guards, second derivatives: as on the CPU."""
    expected = run(PROGRAM, NUMTAPE_DEVICE="cpu")
    assert run(PROGRAM, **SIMULATED) == expected


KERNELS = (SUPPORT / "cuda_kernels.py").read_text("utf-8")


@pytest.mark.slow
@simulator
def test_kernels_in_the_simulator():
    """Split axes and scatter-adds, bit for bit reproducible."""
    run(KERNELS, timeout=540, **SIMULATED)


SHORT = (SUPPORT / "cuda_all_kernels.py").read_text("utf-8")


@simulator
def test_each_kernel_on_little_in_the_simulator():
    """The script for the sanitizer covers every kernel."""
    assert run(SHORT, timeout=540, **SIMULATED).endswith("kernels, without none")


@simulator
@pytest.mark.parametrize(
    "dtypes",
    [
        pytest.param("one", marks=pytest.mark.slow),
        pytest.param("all", marks=pytest.mark.thorough),
    ],
)
def test_what_is_left_to_the_host(dtypes):
    """Every case of every op with its derivatives, or of one row in three.

    No kernel runs: the launches are only prepared.
    """
    script = """
import sys

import numpy as np

sys.path[:0] = ["tests", "tests/support"]
import numtape as tf
from conftest import rows_checked_with_slow
from numtape.core.cuda import launches
from numtape.core.log.op import CODES
from op_cases import CASES
from op_draws import draw, variants

everything = sys.argv[1] == "all"
alone = set()
launches.Launch.run = launches.Product.run = lambda self, gpu, at: None

def on_host(self, gpu, at):
    if not any(spec.wide for spec in self.specs):  # NumPy computes all of these
        alone.add(self.op.name)

launches.OnHost.run = on_host

def differentiated(case, tensors, options):
    watched = [x for x in tensors if x.dtype.is_floating]
    with tf.GradientTape() as second:
        second.watch(watched)
        with tf.GradientTape() as first:
            first.watch(watched)
            results = tf.nest.flatten(case.function(tf)(*tensors, **options))
        weights = [tf.ones_like(y) for y in results]
        second.watch([w for w in weights if w.dtype.is_floating])
        if case.order > 0:
            slopes = first.gradient(results, watched, weights, "zero")
            slopes = [tf.convert_to_tensor(x) for x in slopes]  # slices of a gather, too
    if case.order > 0:
        results += slopes + second.gradient(slopes, [*watched, *weights], None, "zero")
    for x in results:
        tf.convert_to_tensor(x).numpy()

for case in CASES:
    if not everything and id(case) in rows_checked_with_slow():
        continue
    for dtype in case.dtypes if everything else case.dtypes[:1]:
        tried = variants(case)
        # Where an elementwise op runs does not depend on how its operands are broadcast.
        for shapes, options in tried[::4] if case.elementwise and not everything else tried:
            tensors = [tf.constant(x) for x in draw(case, shapes, dtype)]
            try:
                differentiated(case, tensors, options)
            except tf.errors.InvalidArgumentError:
                pass  # a check of values, which nobody computed
said = {op.name for op in CODES.ops if op.on_host}
print(*sorted(alone - said))
"""
    assert run(script, dtypes, timeout=540, **SIMULATED).strip() == ""


@simulator
def test_memory_that_is_exhausted():
    """The error names the request, and the session continues."""
    script = """
import numtape as tf
from numtape.core.cuda.runtime.simulator import Simulator

v, empty = tf.Variable(tf.ones((100, 100))), Simulator.empty
v.numpy()


def scarce(self, size):
    if size > 60_000:
        raise tf.errors.ResourceExhaustedError("There is not enough.")
    return empty(self, size)


Simulator.empty = scarce
try:
    large = tf.ones((200, 100)) * 3.0
    large.numpy()
except tf.errors.ResourceExhaustedError as error:
    print(error.message)
print(v.device, float(tf.reduce_sum(tf.ones(10) * 2.0)))
"""
    said, after = run(script, **SIMULATED).splitlines()
    assert said.startswith("There is not enough. Of the memory requested, the largest values")
    assert "of shape (200, 100) (float32)" in said
    assert after == "/job:localhost/replica:0/task:0/device:GPU:0 20.0"


@simulator
def test_memory_that_ends_while_a_kernel_runs():
    """The garbage collector may run in any of the simulator's threads."""
    script = """
from numtape.core.cuda.runtime.simulator import Simulator

gpu = Simulator()
out, others = gpu.empty(64), [gpu.empty(64)]


def kernel(out):
    others.clear()
    out[0] = 1


gpu.launch(gpu.kernel(lambda: kernel, ["*int64"], "kernel", ""), 1, 2, [out.address])
print(gpu.memory_info()["current"])
"""
    assert run(script, **SIMULATED) == "64"


REPLAYS = """
import numtape as tf
from numtape.core.cuda.runtime.device import device

gpu, seen = device(), {"download": 0, "capture": 0, "replay": 0}
for name in seen:
    def counted(*args, name=name, call=getattr(gpu, name)):
        seen[name] += 1
        return call(*args)
    setattr(gpu, name, counted)

w = tf.Variable(tf.ones((4, 3)))
steps = tf.Variable(0.0)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    before = steps.read_value()
    steps.assign_add(1.0)
    return loss, before

x = tf.ones((2, 4))
losses, counts = zip(*(step(x) for _ in range(12)))
print(seen["download"], seen["capture"] > 0, seen["replay"] > 3)
print(*map(float, losses), float(steps), seen["download"])
print(*map(float, counts))
"""


def replayed(**variables):
    first, second, counts = run(REPLAYS, **variables).splitlines()
    losses, w = [], np.ones((4, 3))
    for _ in range(12):
        y = np.ones((2, 4)) @ w
        losses.append((y * y).mean())
        w -= 0.1 * np.ones((4, 2)) @ (2 * y / y.size)
    # Recordings are executed immediately; each loss and the steps are evaluated at the end.
    assert first == "1 True True"
    np.testing.assert_allclose(np.fromstring(second, sep=" "), [*losses, 12, 13], rtol=1e-5)
    assert counts == " ".join(map(str, map(float, range(12))))


@pytest.mark.records
@simulator
def test_replays_in_the_simulator_wait_for_nothing():
    """Steps that evaluate nothing are launched as graphs, without copies to the host."""
    replayed(**SIMULATED)


@pytest.mark.gpu
def test_replays_wait_for_nothing():
    replayed(**ON_GPU)


LIFETIMES = """
import gc, signal
import numpy as np
import numtape as tf
from numtape.core.cuda.runtime.device import device

gpu = device()


@tf.function
def f(x):
    return tf.cumsum(tf.exp(x) * 2.0), tf.sin(x) * x


x = tf.constant(np.arange(5.0))
right = [t.numpy().tolist() for t in f(x)]
for k in range(3):
    box = [f(x)]
    box.append(box)  # the garbage collector ends results and their memory together
    del box
    gc.collect()
    found = f(x)
    assert [t.numpy().tolist() for t in found] == right

# A signal handler computes while launches are captured.
y, seen = tf.constant([1.0, 2.0]), []
signal.signal(signal.SIGUSR1, lambda *_: seen.append((y * y + 1.0).numpy().tolist()))
captured = gpu.capture


def interrupted(run):
    def between(launcher):
        signal.raise_signal(signal.SIGUSR1)
        run(launcher)
    return captured(between)


gpu.capture = interrupted


@tf.function
def g(x):
    y = tf.reshape(tf.exp(x) * 2.0, (1, 5))
    return tf.matmul(tf.tanh(tf.matmul(y, tf.ones((5, 5), y.dtype))), tf.ones((5, 5), y.dtype))


values = [g(x).numpy().tolist() for k in range(8)]
assert len(seen) > 0 and seen == [[2.0, 5.0]] * len(seen), seen
assert values == [values[0]] * 8

# What only waits for use is given up where memory is exhausted.
del found
gc.collect()
empty, failed = gpu.empty, []
before = gpu.memory_info()["current"]


def scarce(size):
    if not failed:
        failed.append(size)
        raise tf.errors.ResourceExhaustedError("There is not enough.")
    return empty(size)


gpu.empty = scarce
assert (tf.ones(100) * 3.0).numpy()[99] == 3.0 and failed
assert gpu.memory_info()["current"] < before + 800
assert [t.numpy().tolist() for t in f(x)] == right

# What is only passed through is not kept.
same = tf.function(lambda x: x)
for k in range(6):
    same(tf.exp(x * float(k)))
    gc.collect()
    if k == 2:
        before = gpu.memory_info()["current"]
assert gpu.memory_info()["current"] == before

# A kernel that could not be made is made later.
kernel, failed = gpu.kernel, []


def broken(*args):
    if not failed:
        failed.append(args)
        raise tf.errors.ResourceExhaustedError("No room for a kernel.")
    return kernel(*args)


gpu.kernel = broken
h = tf.function(lambda x: tf.tan(x) * 7.0)
for k in range(2):
    try:
        found = h(x)
    except tf.errors.ResourceExhaustedError:
        continue
print(len(failed), found.shape)
"""


@pytest.mark.records
@simulator
def test_lifetimes_in_the_simulator():
    assert run(LIFETIMES, **SIMULATED) == "1 (5,)"


# Random numbers of each kind, from Python and in replays, with and without tapes and guards.
DRAWS = """
import numpy as np
import numtape as tf

SIZES = [(), (0,), (1,), (2,), (3, 3), (4,), (8,), (2, 37), (150,)]
v = tf.Variable(2.0)


@tf.function
def replayed(x):
    z = tf.random.normal((21,))
    w = tf.random.uniform((3, 5), dtype=tf.float64)
    if tf.reduce_all(w < 0.95):
        z = z + x * v
    v.assign_add(tf.random.uniform(()))
    return z, w, tf.random.normal((2,)), tf.random.uniform((4,), 0, 9, tf.int32), v.read_value()


def found():
    tf.random.set_seed(2**62 + 1)
    for dtype in (tf.float32, tf.float64):
        for shape in SIZES:
            yield tf.random.uniform(shape, dtype=dtype)
            yield tf.random.normal(shape, dtype=dtype, seed=len(shape))
    yield tf.random.normal((7,), 1.0, 2.0)
    yield tf.random.truncated_normal((5,))
    yield tf.random.shuffle(tf.range(6))
    for k in range(6):
        yield from replayed(tf.ones(21) * 0.5)
        with tf.GradientTape() as tape:
            z, *_ = replayed(tf.ones(21))
            y = tf.reduce_sum(z * tf.random.normal((21,)))
        yield tape.gradient(y, v, unconnected_gradients="zero")
    yield tf.Variable(tf.random.normal((5, 2))) * 3.0


for x in found():
    x = np.asarray(x)
    print(x.dtype, *x.shape, ":", x.tobytes().hex())
"""


def drawn(**variables):
    """The draws of `DRAWS`, as arrays."""
    found = []
    for line in run(DRAWS, **variables).splitlines():
        head, _, raw = line.partition(":")
        dtype, *shape = head.split()
        found.append(np.frombuffer(bytes.fromhex(raw), dtype).reshape(tuple(map(int, shape))))
    return found


def compare_draws(found, expected):
    """Uniform draws are equal, normal ones agree to a few units in the last place."""
    assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in expected]
    for k, (x, y) in enumerate(zip(found, expected, strict=True)):
        if k < 36:
            np.testing.assert_array_max_ulp(x, y, 8 * (k % 2))
        else:
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@simulator
def test_random_numbers_in_the_simulator():
    expected = drawn(NUMTAPE_DEVICE="cpu")
    compare_draws(drawn(NUMTAPE_DEVICE="reference"), expected)
    compare_draws(drawn(**SIMULATED), expected)
    compare_draws(drawn(**SIMULATED, NUMTAPE_CHECK_REPLAY="1"), expected)


@simulator
def test_known_answers_of_philox_in_the_simulator():
    script = """
import numpy as np
import numtape
from numtape.kernels.cuda.random import philox
from numtape.core.cuda.runtime.simulator import Simulator
from philox_values import KNOWN

gpu = Simulator()


def kernel(a, b, c, d, key, other, out):
    words = philox(*map(np.uint64, (a, b, c, d, key, other)))
    for k in range(4):
        out[k] = words[k]


for counter, key, words in KNOWN:
    out, found = gpu.empty(32), np.empty(4, np.uint64)
    made = gpu.kernel(lambda: kernel, [*["uint64"] * 6, "*uint64"], "kernel", "")
    gpu.launch(made, 1, 1, [*counter, *key, out.address])
    gpu.download(out.address, found)
    print(tuple(found.tolist()) == words)
"""
    tests = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})"
    assert run(tests + script, **SIMULATED).split() == ["True"] * 3


@pytest.mark.records
@simulator
def test_draws_stay_on_the_gpu():
    """Each draw is one launch, without copies to the GPU."""
    script = """
import numtape as tf
from numtape.core.cuda.runtime.device import DeviceArray, device

gpu, copied = device(), []
upload = gpu.upload
gpu.upload = lambda array, address: copied.append(array.size) or upload(array, address)
x = [tf.random.normal((9,)), tf.random.uniform((3, 4), dtype=tf.float64)]
print(all(type(t._home) is DeviceArray for t in x), gpu.launches, copied)


@tf.function
def f():
    return tf.random.normal((40,)) * 2.0 + tf.random.normal((40,))


f()
copied.clear()
before = gpu.launches
f()
print(gpu.launches - before, sum(copied))
"""
    assert run(script, **SIMULATED).splitlines() == ["True 2 []", "3 1"]


def test_filled_tensors_are_made_on_the_gpu():
    """Tensors of more than a few elements are filled without copies to the GPU."""
    script = """
import numtape as tf
from numtape.core.cuda.runtime.device import device
gpu, copied = device(), []
upload = gpu.upload
gpu.upload = lambda array, address: copied.append(array.size) or upload(array, address)
x = [tf.ones((130, 130)), tf.zeros((130, 130), tf.uint8), tf.ones((130, 130), tf.bool)]
total = [float(tf.reduce_sum(tf.cast(t, tf.float64))) for t in x]
print(copied, total)
"""
    assert run(script, **SIMULATED) == "[] [16900.0, 0.0, 16900.0]"


@pytest.mark.gpu
def test_random_numbers():
    compare_draws(drawn(**ON_GPU), drawn(NUMTAPE_DEVICE="cpu"))


@pytest.mark.gpu
def test_programs():
    assert run(PROGRAM, **ON_GPU) == run(PROGRAM, NUMTAPE_DEVICE="cpu")


@pytest.mark.gpu
def test_kernels():
    run(KERNELS, timeout=540, **ON_GPU)


@pytest.mark.gpu
def test_each_kernel_on_little():
    assert run(SHORT, timeout=540, **ON_GPU).endswith("kernels, without none")


@pytest.mark.gpu
def test_two_runs_are_bit_for_bit_the_same():
    script = PROGRAM + "\nprint(w.numpy().tobytes().hex())"
    assert run(script, **ON_GPU) == run(script, **ON_GPU)
