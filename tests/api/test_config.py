"""`tf.config`: logical and visible devices, threads."""

import pytest

import numtape as tf

CPU = tf.config.list_physical_devices("CPU")[0]
CONFIGURATION = tf.config.LogicalDeviceConfiguration


@pytest.fixture(autouse=True)
def restore():
    yield
    tf.config.set_logical_device_configuration(CPU, [CONFIGURATION()])


def test_logical_devices():
    tf.config.set_logical_device_configuration(CPU, [CONFIGURATION()] * 2)
    names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert names == ["/device:CPU:0", "/device:CPU:1"]
    assert len(tf.config.experimental.get_virtual_device_configuration(CPU)) == 2
    with tf.device(names[1]):
        assert tf.ones(2).numpy().tolist() == [1.0, 1.0]


def test_hidden_gpu():
    tf.config.set_visible_devices([], "GPU")
    assert tf.config.get_visible_devices("GPU") == []
    assert [x.device_type for x in tf.config.list_logical_devices()] == ["CPU"]
    with tf.device("/GPU:0"):
        assert "CPU" in tf.ones(2).device
    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU"), "GPU")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tf.config.set_visible_devices([], "CPU"), ValueError, "cannot be hidden"),
        (lambda: tf.config.set_visible_devices(["x"]), ValueError, "Unrecognized device"),
        (lambda: tf.config.set_visible_devices(CPU, "GPU"), ValueError, "is not a GPU"),
        (
            lambda: tf.config.set_logical_device_configuration(CPU, [CONFIGURATION(1.0)]),
            ValueError,
            "memory limit",
        ),
        (
            lambda: tf.config.threading.set_inter_op_parallelism_threads(4),
            RuntimeError,
            "one op after another",
        ),
        (
            lambda: tf.config.threading.set_intra_op_parallelism_threads(10**6),
            RuntimeError,
            "NUMTAPE_NUM_THREADS",
        ),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
