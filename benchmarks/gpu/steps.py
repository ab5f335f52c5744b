"""Checks of `benchmarks.gpu.first`: each class of kernels against NumPy, and rates.

A step is a function without arguments. It returns facts for the report and raises if a check
fails.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import numtape as nt
from benchmarks import formulas
from benchmarks.gpu.run import simulated

Facts = dict[str, Any]
RANDOM = np.random.default_rng(0)
PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    "numba-cuda",
    "cuda-core",
    "cuda-bindings",
    "cuda-pathfinder",
    "nvidia-nvjitlink",
    "nvidia-cublas",
    "torch",
    "jax",
)
_CLOSE = {"float32": 2e-5, "float64": 1e-11}  # relative to an array's largest element


def _size(full: int, tiny: int) -> int:
    """The number of elements: ``full`` on a GPU, ``tiny`` in the simulator."""
    return tiny if simulated() else full


def _close(value: Any, requested: Any, times: float = 1.0) -> float:
    """The difference relative to the largest element; raises if it is too large."""
    value, requested = np.asarray(value), np.asarray(requested)
    if value.shape != requested.shape:
        raise AssertionError(f"shape {value.shape} instead of {requested.shape}")
    if not value.size:
        return 0.0
    difference = np.abs(value.astype(np.float64) - requested).max()
    error = float(difference / max(float(np.abs(requested).max()), 1e-30))
    limit = times * _CLOSE[value.dtype.name]
    if not error <= limit:
        raise AssertionError(f"off by {error:.1e} of the largest element, more than {limit:.0e}")
    return error


def _equal(value: Any, requested: Any) -> None:
    value, requested = np.asarray(value), np.asarray(requested)
    if value.dtype != requested.dtype or value.tobytes() != requested.tobytes():
        raise AssertionError(
            f"{value.reshape(-1)[:5]} ... instead of {requested.reshape(-1)[:5]} ..."
        )


def _gpu() -> Any:
    from numtape.core.cuda.runtime.device import device

    return device()


def versions() -> Facts:
    """Versions, and the paths of the toolkit's libraries."""
    versions: Facts = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    gpu = _gpu()
    versions |= {"gpu": gpu.name, "capability": list(gpu.capability), "toolkit": gpu.toolkit()}
    if not simulated():
        versions["paths"] = _paths()
        fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit"
        try:
            message = subprocess.run(
                ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
                capture_output=True,
                text=True,
                timeout=20,
                check=True,
            )
            versions["nvidia-smi"] = message.stdout.strip()
        except (OSError, subprocess.SubprocessError) as problem:
            versions["nvidia-smi"] = str(problem)
    return versions


def _paths() -> Facts:
    """The paths of the libraries for compilation and matrix products."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    from numtape.core.cuda.runtime import toolkit

    paths: Facts = {name: os.environ.get(name) for name in toolkit.VARIABLES}
    for look in (toolkit.paths, lambda: {"cublas": load_nvidia_dynamic_lib("cublas").abs_path}):
        try:
            paths |= look()
        except Exception as problem:  # the other library may exist
            paths[f"no {type(problem).__name__}"] = str(problem)[:200]
    return paths


def cubin() -> Facts:
    """One launched kernel with an exact result."""
    from numtape.core.cuda.launches import probe

    probe(_gpu())
    x = np.arange(_size(100_003, 43), dtype=np.float32)
    _equal(nt.constant(x) * 3.0 + 1.0, x * np.float32(3) + np.float32(1))
    return {"elements": x.size}


def groups() -> Facts:
    """Elementwise ops in one kernel, with broadcast operands, in several dtypes."""
    rows, columns = _size(1_003, 5), _size(516, 8)
    for dtype in ("float32", "float64", "int32", "int64", "uint8"):
        x = RANDOM.integers(0, 100, (rows, columns)).astype(dtype)
        others = x[:1], x[:, :1], x[:1, :1], x[0]
        for y in others:
            _equal(nt.constant(x) * nt.constant(y) + nt.constant(x), x * y + x)
        for odd in (x[:, :-1], x[:-1, :-3]):  # not a multiple of the elements per thread
            _equal(nt.constant(odd) + nt.constant(odd[:1]), odd + odd[:1])
    _equal(nt.logical_not(nt.constant(x > 50)), ~(x > 50))
    worst: Facts = {}
    for dtype in ("float32", "float64"):
        values = RANDOM.uniform(-2, 2, (2, rows * columns)).astype(dtype)
        a, b = (nt.constant(v) for v in values)
        with nt.GradientTape() as tape:
            tape.watch([a, b])
            value = formulas.long_chain(_ops(), a, b)
        result = [value, *tape.gradient(value, [a, b])]
        requested = formulas.long_chain_by_hand(*values.astype(np.float64))
        worst[dtype] = max(_close(f, w) for f, w in zip(result, requested, strict=True))
    return worst


def _ops() -> Any:
    from benchmarks.libs.numtape_ import OPS

    return OPS


def reductions() -> Facts:
    """Sums, minima and maxima of all elements, rows and columns, bit for bit reproducible."""
    wide, tall = (_size(200, 3), _size(4_099, 7)), (_size(4_099, 7), _size(30, 3))
    shapes = [wide, tall, (_size(10**6, 40), 1)]
    worst = 0.0
    for shape, dtype in itertools.product(shapes, ("float32", "float64")):
        x = RANDOM.normal(size=shape).astype(dtype)
        tensor, size = nt.constant(x), float(np.abs(x).sum())
        for axis in (None, 0, 1):
            value = nt.reduce_sum(tensor, axis).numpy()
            _equal(nt.reduce_sum(tensor, axis), value)
            requested = np.sum(x, axis, np.float64)
            worst = max(worst, float(np.abs(value - requested).max()) / size)
            _equal(nt.reduce_max(tensor, axis), np.max(x, axis))
            _equal(nt.reduce_min(tensor, axis), np.min(x, axis))
    if worst > 1e-6:
        raise AssertionError(f"sums are off by {worst:.1e} of the sum of magnitudes")
    return {"of the sum of magnitudes": worst}


def rows() -> Facts:
    """Softmax and normalisation of rows, with gradients, for rows of many lengths."""
    worst = 0.0
    lengths = (3, 9) if simulated() else (3, 32, 33, 100, 256, 1_000, 1_024, 4_096, 4_099, 20_000)
    for length, dtype in itertools.product(lengths, ("float32", "float64")):
        x, g = RANDOM.normal(size=(2, _size(50, 3), length)).astype(dtype)
        gamma, beta = RANDOM.normal(size=(2, length)).astype(dtype)
        wide = [v.astype(np.float64) for v in (x, gamma, beta, g)]
        provided = [nt.constant(v) for v in (x, gamma, beta)]
        with nt.GradientTape(persistent=True) as tape:
            tape.watch(provided)
            soft, logs = nt.nn.softmax(provided[0]), nt.nn.log_softmax(provided[0])
            layer = nt.keras.layers.LayerNormalization(
                epsilon=1e-5, center=False, scale=False, dtype=dtype
            )
            norm = layer(provided[0]) * provided[1] + provided[2]
        value = [soft, tape.gradient(soft, provided[0], output_gradients=nt.constant(g))]
        requested = formulas.softmax_by_hand(wide[0], wide[3])
        value += [norm, *tape.gradient(norm, provided, output_gradients=nt.constant(g))]
        requested += formulas.layer_norm_by_hand(1e-5, *wide)
        value += [logs, tape.gradient(logs, provided[0], output_gradients=nt.constant(g))]
        top = wide[0] - wide[0].max(-1, keepdims=True)
        log_y = top - np.log(np.exp(top).sum(-1, keepdims=True))
        requested += [log_y, wide[3] - np.exp(log_y) * wide[3].sum(-1, keepdims=True)]
        worst = max(worst, *(_close(f, w, 10) for f, w in zip(value, requested, strict=True)))
    return {"worst": worst}


def gather() -> Facts:
    """Gathers of rows, columns and single elements."""
    for inner, dtype in itertools.product((1, 3, 4, 64), ("float32", "float64", "uint8")):
        x = RANDOM.integers(0, 100, (_size(1_003, 7), inner)).astype(dtype)
        for kind in ("int32", "int64"):
            at = RANDOM.integers(0, len(x), _size(5_000, 9)).astype(kind)
            _equal(nt.gather(nt.constant(x), at), x[at])
            across = RANDOM.integers(0, inner, 5).astype(kind)
            _equal(nt.gather(nt.constant(x), across, axis=1), x[:, across])
    return {}


def scatter() -> Facts:
    """The gradient of a gather: bit for bit reproducible by default, and with atomics."""
    worst = 0.0
    switch = nt.config.experimental.enable_nondeterministic_scatter
    for inner, dtype in itertools.product((1, 3, 4, 64), ("float32", "float64")):
        size, count = _size(1_003, 5), _size(20_000, 17)
        at = RANDOM.integers(0, size, count)
        added = RANDOM.normal(size=(count, inner)).astype(dtype)
        array = np.zeros((size, inner))
        np.add.at(array, at, added.astype(np.float64))
        table = nt.constant(np.zeros((size, inner), dtype))
        value = []
        for allowed in (False, False, True):
            switch(allowed)
            with nt.GradientTape() as tape:
                tape.watch(table)
                taken = nt.gather(table, at)
            weight = nt.constant(added)
            slopes = tape.gradient(taken, table, output_gradients=weight)
            value.append(nt.convert_to_tensor(slopes).numpy())
            switch(False)
        _equal(value[0], value[1])
        worst = max(worst, *(_close(f, array) for f in value))
    return {"worst": worst}


def scans() -> Facts:
    """Cumulative sums along short and long axes, argmax and argmin."""
    worst = 0.0
    long, wide = (_size(1_000, 5), _size(252, 6)), (3, _size(20_001, 9))
    for shape in ((4, 3), long, wide, (_size(300, 5), 7, 3)):
        x = RANDOM.normal(size=shape)
        for axis, exclusive, reverse in itertools.product(range(len(shape)), (0, 1), (0, 1)):
            turned = np.flip(x, axis) if reverse else x
            requested = np.cumsum(turned, axis) - (turned if exclusive else 0)
            requested = np.flip(requested, axis) if reverse else requested
            value = nt.cumsum(nt.constant(x), axis, bool(exclusive), bool(reverse))
            worst = max(worst, _close(value, requested))
        for axis in range(len(shape)):
            _equal(nt.argmax(nt.constant(x), axis), np.argmax(x, axis))
            _equal(nt.argmin(nt.constant(x), axis), np.argmin(x, axis))
    return {"worst": worst}


def transposes() -> Facts:
    """Transposes, slices, concatenations and paddings, which are exact."""
    shapes = (_size(1_003, 7), _size(517, 5)), (3, _size(65, 5), _size(33, 4)), (2, 3, 4, 5)
    for dtype in ("float32", "float64", "uint8"):
        for shape in shapes:
            x = RANDOM.integers(0, 100, shape).astype(dtype)
            for order in itertools.permutations(range(len(shape))):
                _equal(nt.transpose(nt.constant(x), order), x.transpose(order).copy())
            _equal(nt.constant(x)[1:, ::-2], x[1:, ::-2].copy())
            _equal(nt.concat([x, x[:1]], 0), np.concatenate([x, x[:1]]))
            _equal(nt.pad(nt.constant(x), [[1, 2]] * x.ndim), np.pad(x, [[1, 2]] * x.ndim))
    return {}


def draws() -> Facts:
    """Uniform draws equal the CPU's bit for bit; normal draws are close."""
    from numtape.core.cuda.launches import draw_values as on_gpu
    from numtape.core.reference.executor import compute_drawn as on_cpu
    from numtape.core.values.spec import intern

    worst = 0.0
    for dtype in (nt.float32, nt.float64):
        spec = intern((_size(100_003, 41),), dtype)
        key = [1234, 5678]
        _equal(on_gpu("uniform", key, spec).host(), on_cpu("uniform", key, spec))
        worst = max(worst, _close(on_gpu("normal", key, spec).host(), on_cpu("normal", key, spec)))
    return {"normal": worst}


def large() -> Facts:
    """A sum and a broadcast over more elements than 32-bit integers can count."""
    count = _size(2**31 + 5, 2**7 + 5)
    x = nt.ones((count,), nt.uint8)
    _equal(nt.reduce_sum(x), np.uint8(count % 256))
    _equal((x + x)[-3:], np.full(3, 2, np.uint8))
    side = _size(46_341, 11)
    line = nt.constant((np.arange(side) % 251).astype(np.uint8))
    table = line + nt.reshape(line, (side, 1))
    last = line.numpy()
    _equal(table[-1], last + last[-1])
    _equal(table[:, -1], last + last[-1])
    return {"elements": count}


def products() -> Facts:
    """Matrix products, transposed and batched, with and without TF32."""
    worst: Facts = {}
    allow = nt.config.experimental.enable_tensor_float_32_execution
    m, k, n = (_size(s, t) for s, t in ((257, 3), (130, 4), (65, 5)))
    for way in ("float32", "tf32", "float64"):
        allow(way == "tf32")
        for turned, batch in itertools.product(("NN", "NT", "TN"), (1, 3)):
            a, b = RANDOM.normal(size=(batch, m, k)), RANDOM.normal(size=(batch, k, n))
            dtype = "float64" if way == "float64" else "float32"
            x = a.swapaxes(1, 2).astype(dtype) if turned[0] == "T" else a.astype(dtype)
            y = b.swapaxes(1, 2).astype(dtype) if turned[1] == "T" else b.astype(dtype)
            requested = a @ b
            if batch == 1:
                x, y, requested = x[0], y[0], requested[0]
            ta, tb = turned[0] == "T", turned[1] == "T"
            value = nt.matmul(nt.constant(x), nt.constant(y), transpose_a=ta, transpose_b=tb)
            error = _close(value, requested, 100 if way == "tf32" else 1)
            worst[way] = max(worst.get(way, 0.0), error)
    allow(False)
    return worst


def capture() -> Facts:
    """A CUDA graph with the process's first matrix product and kernels, replayed ten times."""
    side = _size(64, 3)
    start = RANDOM.normal(size=(side, side)).astype(np.float32) / side
    w, x = nt.Variable(start), nt.constant(RANDOM.normal(size=(side, side)).astype(np.float32))

    @nt.function
    def step(rate: Any) -> Any:
        with nt.GradientTape() as tape:
            loss = nt.reduce_sum(nt.square(nt.tanh(nt.matmul(x, w)) - 0.5))
        w.assign_sub(rate * tape.gradient(loss, w))
        return loss

    here, provided = start.astype(np.float64), x.numpy().astype(np.float64)
    for number in range(13):
        rate = np.float32(0.01 / (1 + number))
        result = float(step(nt.constant(rate)))
        t = np.tanh(provided @ here)
        requested = float(np.sum((t - 0.5) ** 2))
        if not abs(result - requested) <= 1e-3 * requested:
            raise AssertionError(f"step {number}: loss {result} instead of {requested}")
        here -= float(rate) * (provided.T @ (2 * (t - 0.5) * (1 - t * t)))
    return {"loss": result, "weights": _close(w.numpy(), here, 100)}


def exhaust_memory() -> Facts:
    """An allocation beyond the GPU's memory raises the right error, and the next op works."""
    if simulated():
        return {"skipped": "the simulator has the host's memory"}
    try:
        nt.ones((50_000_000_000,)).numpy()
    except nt.errors.ResourceExhaustedError as problem:
        message = str(problem)
    else:
        raise AssertionError("an allocation of 200 GB did not fail")
    _equal(nt.constant([1.0, 2.0]) * 2.0, np.array([2.0, 4.0], np.float32))
    return {"said": message}


def dlpack() -> Facts:
    """Round trips of arrays to PyTorch by DLPack, on the GPU."""
    if simulated() or importlib.util.find_spec("torch") is None:
        return {"skipped": "PyTorch is not installed, or this is the simulator"}
    import torch

    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    own = nt.experimental.dlpack.from_dlpack(x)
    reference = torch.from_dlpack(own * 2.0)
    if reference.device.type != "cuda" or not torch.equal(reference, x * 2):
        raise AssertionError(f"{reference} instead of {x * 2}")
    for _ in range(50):  # on both libraries' streams
        reference = torch.from_dlpack(nt.experimental.dlpack.from_dlpack(reference + 1) - 1.0)
    if not torch.equal(reference, x * 2):
        raise AssertionError("the streams of PyTorch and numtape were not synchronized")
    return {}


TRAINING = """
import hashlib
import numpy as np, numtape as nt
random, n = np.random.default_rng(0), {size}
x, t = random.normal(size=(n, 4)).astype("f"), random.normal(size=(n, 1)).astype("f")
nt.random.set_seed(1)
layers = nt.keras.layers.Dense({hidden}, activation="tanh"), nt.keras.layers.Dense(1)
def model(x):
    for layer in layers:
        x = layer(x)
    return x
optimizer = nt.keras.optimizers.Adam(0.01)
model(x)
@nt.function
def step(x, t):
    with nt.GradientTape() as tape:
        loss = nt.reduce_mean(nt.square(model(x) - t))
    weights = [w for layer in layers for w in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss
for k in range({steps}):
    loss = step(x, t)
bits = b"".join(w.numpy().tobytes() for layer in layers for w in layer.trainable_variables)
print(float(loss), hashlib.sha256(bits).hexdigest())
"""


def twice() -> Facts:
    """A training program yields the same bits in two processes."""
    text = TRAINING.format(size=_size(1_000, 5), hidden=_size(64, 3), steps=_size(50, 4))
    printed = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr[-2000:])
        printed.append(done.stdout.strip())
    if printed[0] != printed[1]:
        raise AssertionError(f"{printed[0]}, then {printed[1]}")
    return {"printed": printed[0]}


def rates() -> Facts:
    """Rates of copies and matrix products, and the overhead of calls."""
    from benchmarks.gpu.worker import GpuCaseServer

    served, size = GpuCaseServer("numtape"), "tiny" if simulated() else "full"
    rates: Facts = {
        f"{what}/s": rate for what, by in served.ceilings(size).items() for rate in by.values()
    }
    for name, seconds in served.overheads(size).items():
        rates[f"{name}, µs"] = 1e6 * seconds["host"]
    return rates


STEPS: dict[str, Callable[[], Facts]] = {
    step.__name__: step
    for step in (
        versions,
        cubin,
        groups,
        reductions,
        rows,
        gather,
        scatter,
        scans,
        transposes,
        draws,
        large,
        products,
        capture,
        exhaust_memory,
        dlpack,
        twice,
        rates,
    )
}
ALONE = ("large", "exhaust_memory", "rates")  # steps that need all memory, or undisturbed timing
