"""A pytest plugin that runs Keras's tests of files, callbacks, models and utilities on numtape.

It adds modules to those of `keras_binding`, whose docstring says how to run it::

    KERAS_CHECKOUT=~/keras python -m pytest -p keras_files_binding --noconftest --rootdir ~/keras \\
        -c /dev/null ~/keras/keras/src/saving/saving_lib_test.py

h5py must be installed. Tests that do not pass are listed in ``keras_failures.txt``.
"""

import hashlib
import io
import os
import shutil
import sys
import types
import wave
from pathlib import Path

import numpy as np
from keras_binding import MODULES, Namespace, TestCase

import numtape as tf
from numtape import keras
from numtape.keras import registry
from numtape.keras.callbacks import monitor
from numtape.keras.datasets import reading
from numtape.keras.saving import files, h5, legacy_h5, objects
from numtape.keras.utils import directories, local_files


def run_class_serialization_test(self, instance, custom_objects=None):
    """Check that an object comes back from its configuration."""
    config = keras.saving.serialize_keras_object(instance)
    with keras.saving.custom_object_scope(custom_objects):
        revived = keras.saving.deserialize_keras_object(config)
    self.assertEqual(keras.saving.serialize_keras_object(revived), config)
    return revived


def assert_is_type(self, x, kind):
    self.assertIsInstance(x, kind)


for _name, _method in (
    ("run_class_serialization_test", run_class_serialization_test),
    ("assertIsType", assert_is_type),
):
    if not hasattr(TestCase, _name):
        setattr(TestCase, _name, _method)


def bind(name, *fallbacks, **attributes):
    MODULES[f"keras.src.{name}"] = Namespace(f"keras.src.{name}", *fallbacks, **attributes)


def get_test_data(train_samples, test_samples, input_shape, num_classes, random_seed=None):
    """Noisy points around a random center for each class."""
    generator = np.random.default_rng(random_seed)
    count = train_samples + test_samples
    centers = 2 * num_classes * generator.random((num_classes, *input_shape))
    y = generator.integers(0, num_classes, count)
    x = (centers[y] + generator.normal(size=(count, *input_shape))).astype("float32")
    return (x[:train_samples], y[:train_samples]), (x[train_samples:], y[train_samples:])


MODULES["keras.src.testing.test_utils"].__dict__["get_test_data"] = get_test_data


class SafeModeScope:
    """Loading never executes code from a file."""

    def __init__(self, safe_mode=True):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass


bind("testing.test_case", TestCase=TestCase)
bind(
    "saving.saving_lib",
    keras.saving,
    save_weights_only=files.save_weights,
    load_weights_only=files.load_weights,
)
MODULES["keras.src.saving.saving_lib"].__dict__.update(
    _MEMORY_UPPER_BOUND=0.5,
    _CONFIG_FILENAME="config.json",
    _METADATA_FILENAME="metadata.json",
    _VARS_FNAME="model.weights",
    _VARS_FNAME_H5="model.weights.h5",
    safe_get_h5_dataset=h5.read_array,
)
bind("saving.saving_api", keras.saving)
bind(
    "saving.object_registration",
    keras.saving,
    GLOBAL_CUSTOM_OBJECTS=registry._OBJECTS,
    GLOBAL_CUSTOM_NAMES=registry._NAMES,
)
bind("saving.file_editor", keras.saving)
bind(
    "saving.serialization_lib",
    keras.saving,
    objects,
    keras.config,
    SafeModeScope=SafeModeScope,
    ObjectSharingScope=registry.sharing_objects,
)
bind(
    "legacy.saving.legacy_h5_format",
    legacy_h5,
    save_model_to_hdf5=lambda model, path, overwrite=True, include_optimizer=True: files.save_model(
        model, path, overwrite, include_optimizer=include_optimizer
    ),
    load_model_from_hdf5=files.load_model,
)
bind("legacy.saving", legacy_h5_format=MODULES["keras.src.legacy.saving.legacy_h5_format"])


def encode_wav(audio, rate):
    """The bytes of a WAV file, as `tf.audio.encode_wav` returns them."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((np.shape(audio)[1], 2, rate, 0, "NONE", ""))
        file.writeframes(np.clip(np.asarray(audio) * 32768, -32768, 32767).astype("<i2").tobytes())
    return types.SimpleNamespace(numpy=stream.getvalue)


audio = types.SimpleNamespace(encode_wav=encode_wav)
bind("utils.module_utils", tensorflow=Namespace("tensorflow", tf, audio=audio))
bind(
    "utils.file_utils",
    local_files,
    keras.utils,
    validate_file=local_files.matches,
    hash_file=lambda path, algorithm="sha256", chunk_size=0: hashlib.new(
        algorithm, Path(path).read_bytes()
    ).hexdigest(),
    join=os.path.join,
    exists=os.path.exists,
    isdir=os.path.isdir,
    listdir=os.listdir,
    makedirs=os.makedirs,
    remove=os.remove,
    rmtree=shutil.rmtree,
    copy=shutil.copy,
    File=open,
)
bind("utils.io_utils", monitor, keras.config, keras.utils)
bind("utils.rng_utils", keras.utils)
bind("utils.progbar", keras.utils)
bind(
    "utils.dataset_utils",
    directories,
    keras.utils,
    get_training_or_validation_split=lambda samples, labels, split, subset: (
        directories.part_of(samples, split, subset),
        directories.part_of(labels, split, subset),
    ),
)
bind("datasets.npz_utils", reading)
for _name in ("numerical", "sequence", "audio_dataset", "timeseries_dataset", "image_dataset"):
    bind(f"utils.{_name}_utils", keras.utils, np=np)
for _name in ("callbacks", "callbacks.callback", "models", "losses", "metrics", "optimizers"):
    bind(_name, getattr(keras, _name.partition(".")[0]), keras)
bind("callbacks", keras.callbacks, monitor, keras)
bind("callbacks.monitor_callback", monitor)
bind("utils", keras.utils)
bind("datasets", keras.datasets)
for _name in ("cloning", "functional", "model", "sequential"):
    bind(f"models.{_name}", keras.models, keras)
MODULES["tensorflow"] = tf
for _name in ("python", "python.eager", "python.eager.context"):
    MODULES[f"tensorflow.{_name}"] = Namespace(f"tensorflow.{_name}")
for _name, _module in MODULES.items():
    sys.modules[_name] = _module
    parent, _, last = _name.rpartition(".")
    if parent in MODULES and isinstance(MODULES[parent], Namespace):
        MODULES[parent].__dict__[last] = _module
