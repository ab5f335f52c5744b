"""`NUMTAPE_DEVICE`, and its errors if a GPU cannot be used."""

import json

import pytest
from processes import run, start

pytestmark = [
    pytest.mark.numtape_only(reason="TensorFlow chooses devices otherwise"),
    pytest.mark.cpu_only("children that choose their devices"),
]

ADD = "import numtape as tf; print(float(tf.constant(1.0) + 2.0), tf.config.device())"


@pytest.mark.parametrize(
    ("value", "device"),
    [
        (None, "cpu"),
        ("", "cpu"),
        ("cpu", "cpu"),
        ("CPU", "cpu"),
        (" reference ", "reference"),
        ("Reference", "reference"),
    ],
)
def test_device_is_chosen_by_the_environment(value, device):
    assert run(ADD, NUMTAPE_DEVICE=value) == f"3.0 {device}"


@pytest.mark.parametrize("value", ["gpu", "cpu,cuda"])
def test_unknown_device_raises(value):
    error = refusal(value)
    assert "ValueError" in error
    assert "is not one of cpu, reference, cuda, auto" in error


def refusal(device, before=""):
    """The last line of the error of a first use."""
    child = start(before + ADD, NUMTAPE_DEVICE=device)
    printed, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert printed == ""
    return errors.strip().splitlines()[-1]


# Bindings that replace NVIDIA's; FOUND is their answer.
DRIVER = """
import enum, sys, types

FOUND = {found}

class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100

class Attribute(enum.IntEnum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16

driver = types.ModuleType("cuda.bindings.driver")
driver.CUresult, driver.CUdevice_attribute = CUresult, Attribute
driver.cuInit = lambda flags: (CUresult(FOUND.get("init", 0)),)
driver.cuGetErrorString = lambda status: (CUresult.CUDA_SUCCESS, b"as it says")
driver.cuDeviceGetCount = lambda: (CUresult.CUDA_SUCCESS, FOUND.get("count", 1))
driver.cuDeviceGet = lambda k: (CUresult.CUDA_SUCCESS, k)
driver.cuDeviceGetName = lambda n, k: (CUresult.CUDA_SUCCESS, b"Old GPU" + bytes(100))
driver.cuDeviceGetAttribute = lambda a, k: (CUresult.CUDA_SUCCESS, FOUND.get("major", 9))
driver.cuDriverGetVersion = lambda: (CUresult.CUDA_SUCCESS, FOUND.get("version", 13000))
bindings, cuda = types.ModuleType("cuda.bindings"), types.ModuleType("cuda")
bindings.driver, cuda.bindings = driver, bindings
sys.modules.update({{"cuda": cuda, "cuda.bindings": bindings, "cuda.bindings.driver": driver}})
if FOUND.get("missing"):
    sys.modules["cuda"] = sys.modules["cuda.bindings"] = None
"""
REASONS = [
    ({"missing": True}, "packages that are not installed", "pip install 'numtape[cuda]'"),
    ({"init": 100}, "The NVIDIA driver does not start", "CUDA_ERROR_NO_DEVICE"),
    ({"count": 0}, "There is no NVIDIA GPU", "CUDA_VISIBLE_DEVICES"),
    ({"major": 6}, "Old GPU has compute capability 6.6", "needs 7.5 or newer"),
    ({"version": 12080}, "The NVIDIA driver is for CUDA 12.8", "update it"),
]
whatever = pytest.mark.parametrize("found, why, fix", REASONS, ids=lambda x: str(x)[:30])


@whatever
@pytest.mark.parametrize("value", ["cuda", pytest.param("CUDA", marks=pytest.mark.slow)])
def test_cuda_says_why_there_is_none_and_what_to_do(value, found, why, fix):
    error = refusal(value, DRIVER.format(found=found))
    assert "DeviceError" in error
    assert why in error
    assert fix in error
    assert "NUMTAPE_DEVICE=cpu" in error


@whatever
def test_auto_takes_the_cpu_and_says_so_in_the_log(found, why, fix):
    script = DRIVER.format(found=found) + "import logging; logging.basicConfig(level=20)\n" + ADD
    child = start(script, NUMTAPE_DEVICE="auto")
    printed, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    assert printed.strip() == "3.0 cpu"
    (line,) = [x for x in errors.strip().splitlines() if "NUMTAPE_DEVICE" in x]
    assert line.startswith("INFO:numtape:NUMTAPE_DEVICE=auto takes the CPU")
    assert why in line


INFO = "from numtape.__main__ import main; main(['info'])"


@pytest.mark.slow
@whatever
def test_info_says_why_there_is_no_gpu(found, why, fix):
    (line,) = [x for x in run(DRIVER.format(found=found) + INFO).splitlines() if x[:3] == "GPU"]
    assert "none: " in line
    assert why in line


def test_info_of_the_simulator():
    (line,) = [x for x in run(INFO, NUMBA_ENABLE_CUDASIM="1").splitlines() if x[:3] == "GPU"]
    assert "Numba's simulator, compute capability 9.0" in line


def test_physical_devices():
    script = DRIVER.format(found={"count": 0}) + (
        "import numtape as tf\n"
        "print([d.name for d in tf.config.list_physical_devices()])\n"
        "print(tf.config.list_physical_devices('GPU'))\n"
    )
    assert run(script).splitlines() == ["['/physical_device:CPU:0']", "[]"]


@pytest.mark.slow
def test_the_simulator_counts_as_cuda_only_where_it_is_switched_on():
    script = ADD + "; print(tf.config.list_physical_devices('GPU')[0].name)"
    for value in ("cuda", "auto"):
        printed = run(script, NUMTAPE_DEVICE=value, NUMBA_ENABLE_CUDASIM="1")
        assert printed.splitlines() == ["3.0 cuda", "/physical_device:GPU:0"]


def test_memory_of_the_simulated_gpu():
    script = (
        "import json, numtape as tf\n"
        "info = tf.config.experimental.get_memory_info\n"
        "x = tf.ones(100) * 2.0\n"
        "x.numpy()\n"
        "before = info('GPU:0')\n"
        "y = x + tf.ones(1000)[:100]\n"
        "y.numpy()\n"
        "after = info('GPU:0')\n"
        "del y\n"
        "tf.config.experimental.reset_memory_stats('GPU:0')\n"
        "print(json.dumps([before, after, info('GPU:0')]))\n"
    )
    before, after, anew = json.loads(run(script, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1"))
    assert 400 <= before["current"] < after["current"] <= after["peak"]
    assert anew["current"] == anew["peak"] < after["peak"]


def test_the_cpu_imports_nothing_of_cuda():
    script = (
        "import sys, numtape as tf\n"
        "with tf.GradientTape() as tape:\n"
        "    v = tf.Variable(2.0)\n"
        "    y = v * v\n"
        "float(tape.gradient(y, v))\n"
        "names = ('cuda', 'numba.cuda', 'numtape.core.cuda')\n"
        "print([m for m in sys.modules if m.startswith(names)])"
    )
    assert run(script) == "[]"
