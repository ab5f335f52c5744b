"""`train.Checkpoint`: saving, restoring, deferred restoration, and damaged files."""

import hashlib
import json
import os

import numpy as np
import pytest

numtape_only = pytest.mark.numtape_only("about numtape's files")
X = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)


def values(tf):
    """A module with variables in lists and dicts, one of which occurs twice."""
    module = tf.Module(name="module")
    module.v = tf.Variable([1, 2], name="anything")
    module.parts = [tf.Variable(1.5), {"a": tf.Variable([[True], [False]])}]
    module.again = module.v
    return module


def names(tf, path):
    found = dict(tf.train.list_variables(path))
    found.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)  # TensorFlow's own
    return {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"): list(x) for name, x in found.items()}


# --- Saving and restoring -------------------------------------------------------------------------


def test_values_are_stored_by_the_ways_to_them(tf, tmp_path):
    checkpoint = tf.train.Checkpoint(module=values(tf), step=tf.Variable(3, dtype=tf.int64))
    path = checkpoint.save(str(tmp_path / "ck"))
    assert path == str(tmp_path / "ck-1")
    found = names(tf, path)
    twice = {"module/v", "module/again"} & found.keys()
    assert len(twice) == 1 and found.pop(*twice) == [2]
    assert found == {
        "module/parts/0": [],
        "module/parts/1/a": [2, 1],
        "save_counter": [],
        "step": [],
    }
    step = "step/.ATTRIBUTES/VARIABLE_VALUE"
    assert tf.train.load_variable(str(tmp_path), step) == 3
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor(step).dtype == np.int64
    assert reader.get_variable_to_dtype_map()[step] == tf.int64
    assert reader.has_tensor(step) and not reader.has_tensor("step")
    with pytest.raises(tf.errors.NotFoundError):
        reader.get_tensor("nosuch")


def test_values_come_back(tf, tmp_path):
    module = values(tf)
    path = tf.train.Checkpoint(module=module).save(str(tmp_path / "ck"))
    other = values(tf)
    other.v.assign([8, 9])
    other.parts[0].assign(0.0)
    other.parts[1]["a"].assign([[False], [True]])
    status = tf.train.Checkpoint(module=other).restore(path)
    status.assert_consumed().assert_existing_objects_matched()
    assert other.v.numpy().tolist() == [1, 2] and other.parts[0].numpy() == 1.5
    assert other.parts[1]["a"].numpy().tolist() == [[True], [False]]


def test_a_root_gives_its_parts(tf, tmp_path):
    module = values(tf)
    path = tf.train.Checkpoint(module, step=tf.Variable(4)).save(str(tmp_path / "ck"))
    assert {"v", "again"} & names(tf, path).keys() and "step" in names(tf, path)
    module.v.assign([0, 0])
    tf.train.Checkpoint(module).restore(path).expect_partial()
    assert module.v.numpy().tolist() == [1, 2]


def test_what_is_missing_is_told(tf, tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1), b=tf.Variable(2)).save(str(tmp_path / "ck"))
    less = tf.train.Checkpoint(a=tf.Variable(0)).restore(path)
    less.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.b"):
        less.assert_consumed()
    more = tf.train.Checkpoint(a=tf.Variable(0), b=tf.Variable(0), c=tf.Variable(5)).restore(path)
    for check in (more.assert_consumed, more.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match="Found 1 Python objects that were not bound"):
            check()
    more.expect_partial().assert_nontrivial_match()
    path = tf.train.Checkpoint(a=tf.Variable(1)).write(str(tmp_path / "w"))
    with pytest.raises(AssertionError):
        tf.train.Checkpoint(z=tf.Variable(0)).read(path).assert_nontrivial_match()


def test_nothing_is_restored_of_nothing(tf, tmp_path):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1))
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    status = checkpoint.restore(None)
    status.expect_partial()
    with pytest.raises(AssertionError, match="No checkpoint specified"):
        status.assert_consumed()
    for call in (checkpoint.restore, checkpoint.read, tf.train.load_checkpoint):
        with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
            call(str(tmp_path / "nosuch"))


@pytest.mark.parametrize("value", [3, "text", None])
def test_what_has_no_variables_is_refused(tf, value):
    with pytest.raises(ValueError, match="was expecting x to be a trackable object"):
        tf.train.Checkpoint(x=value)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([1.0, 2.0, 3.0], "ValueError"),
        (np.zeros(2), "InvalidArgumentError"),
        ([[1.0, 2.0]], "ValueError"),
    ],
)
def test_what_does_not_fit_changes_nothing(tf, tmp_path, wrong, error):
    a, b = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    path = tf.train.Checkpoint(a=a, b=b).save(str(tmp_path / "ck"))
    b = tf.Variable(wrong)
    a.assign(5.0)
    kind = getattr(tf.errors, error, ValueError)
    with pytest.raises((kind, ValueError)):
        tf.train.Checkpoint(a=a, b=b).restore(path)
    if tf.__name__ == "numtape":
        assert a.numpy() == 5.0 and np.array_equal(b, np.asarray(wrong))


def test_write_and_read_do_not_count(tf, tmp_path):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1))
    path = checkpoint.write(str(tmp_path / "w"))
    assert path == str(tmp_path / "w") and "save_counter" not in names(tf, path)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    checkpoint.a.assign(7)
    checkpoint.read(path).assert_consumed()
    assert checkpoint.a.numpy() == 1 and checkpoint.save_counter.numpy() == 0


# --- Variables created later ----------------------------------------------------------------------


def test_attributes_that_are_set_later_get_their_values(tf, tmp_path):
    path = tf.train.Checkpoint(module=values(tf), step=tf.Variable(3)).save(str(tmp_path / "ck"))
    module = tf.Module(name="module")
    checkpoint = tf.train.Checkpoint(module=module)
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError):
        status.assert_consumed()
    module.v = tf.Variable([0, 0])
    assert module.v.numpy().tolist() == [1, 2]
    module.again = module.v
    module.parts = [tf.Variable(0.0), {"a": tf.Variable([[False], [False]])}]
    checkpoint.step = tf.Variable(0)
    assert module.parts[0].numpy() == 1.5 and checkpoint.step.numpy() == 3
    status.assert_consumed()


def training(tf, seed=0):
    """A model, an optimizer with a schedule, and a step."""
    keras = tf.keras
    tf.random.set_seed(seed)
    model = keras.Sequential(
        [
            keras.layers.Dense(3, "relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    optimizer = keras.optimizers.Adam(schedule)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(X, training=True) - X[:, :1]))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return model, optimizer, step


@pytest.mark.parametrize("recorded", [False, True])
def test_models_and_optimizers_that_are_built_later_go_on_as_if_never_stopped(
    tf, tmp_path, recorded
):
    model, optimizer, step = training(tf)
    for _ in range(3):
        step()
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "ck"))
    expected = [step().numpy() for _ in range(3)]
    model, optimizer, step = training(tf, 1)
    status = tf.train.Checkpoint(model=model, optimizer=optimizer).restore(path)
    if not recorded and tf.__name__ == "numtape":
        step = step.python_function
    found = [step().numpy() for _ in range(3)]
    if tf.__name__ == "numtape":  # TensorFlow's Keras does not track some of its variables
        status.assert_consumed()
        assert found == expected


@pytest.mark.parametrize("trained", [False, True])
def test_a_compiled_model_is_stored_with_its_optimizer(tf, tmp_path, trained):
    def compiled():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.1), "mse")
        return model

    first, second = compiled(), compiled()
    first.fit(X, X[:, :1], epochs=2, verbose=0)
    path = tf.train.Checkpoint(model=first).save(str(tmp_path / "ck"))
    first.fit(X, X[:, :1], shuffle=False, verbose=0)
    if trained:
        second.fit(X, X[:, :1], verbose=0)
    status = tf.train.Checkpoint(model=second).restore(path)
    second.fit(X, X[:, :1], shuffle=False, verbose=0)
    status.assert_consumed().assert_existing_objects_matched()
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert second.optimizer.iterations.numpy() == 3
    plain = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    status = tf.train.Checkpoint(model=plain).restore(path)
    with pytest.raises(AssertionError, match="optimizer"):
        status.assert_consumed()
    status.expect_partial()


@numtape_only
def test_nothing_waits_for_what_is_gone(tf, tmp_path):
    from numtape.deferred_restore import _listeners

    before = len(_listeners)
    path = tf.train.Checkpoint(a=tf.Variable(1), m=values(tf)).save(str(tmp_path / "ck"))
    module = tf.Module()
    checkpoint = tf.train.Checkpoint(m=module)
    for _ in range(3):
        checkpoint.restore(path)
    assert len(_listeners) == before + 2
    del checkpoint, module
    assert len(_listeners) == before


def test_generators_are_stored(tf, tmp_path):
    generator = tf.random.Generator.from_seed(1)
    path = tf.train.Checkpoint(g=generator).save(str(tmp_path / "ck"))
    expected = generator.normal([2]).numpy()
    other = tf.random.Generator.from_seed(5)
    tf.train.Checkpoint(g=other).restore(path).assert_consumed()
    assert np.array_equal(other.normal([2]), expected)


@numtape_only
def test_metrics_are_stored(tf, tmp_path):
    metric = tf.keras.metrics.Mean()
    metric.update_state([1.0, 2.0])
    path = tf.train.Checkpoint(m=metric).save(str(tmp_path / "ck"))
    metric.update_state([100.0])
    tf.train.Checkpoint(m=metric).restore(path).assert_consumed()
    assert metric.result().numpy() == 1.5


# --- The manager ----------------------------------------------------------------------------------


def files(folder):
    return sorted({name.partition(".")[0] for name in os.listdir(folder)})


def test_a_manager_keeps_the_last_ones(tf, tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None
    saved = [manager.save() for _ in range(4)]
    assert saved == [str(tmp_path / f"ckpt-{k}") for k in range(1, 5)]
    assert manager.checkpoints == saved[2:] and manager.latest_checkpoint == saved[3]
    assert files(tmp_path) == ["checkpoint", "ckpt-3", "ckpt-4"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved[3]
    assert manager.save(checkpoint_number=77) == str(tmp_path / "ckpt-77")
    again = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)
    assert again.checkpoints == [saved[3], str(tmp_path / "ckpt-77")]
    checkpoint.v.assign(3.0)
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-77")
    assert checkpoint.v.numpy() == 1.0
    assert again.save() == str(tmp_path / "ckpt-6")
    assert files(tmp_path) == ["checkpoint", "ckpt-6"]


def test_a_manager_keeps_some_for_good(tf, tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(
        checkpoint, str(tmp_path), max_to_keep=1, keep_checkpoint_every_n_hours=1e-9
    )
    for _ in range(3):
        manager.save()
    assert len(manager.checkpoints) == 1
    assert files(tmp_path) == ["checkpoint", "ckpt-1", "ckpt-2", "ckpt-3"]


def test_a_manager_saves_at_intervals(tf, tmp_path):
    step, begun = tf.Variable(0), []
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step),
        str(tmp_path),
        max_to_keep=None,
        step_counter=step,
        checkpoint_interval=2,
        init_fn=lambda: begun.append(1),
    )
    assert manager.restore_or_initialize() is None and begun == [1]
    saved = []
    for k in range(5):
        step.assign(k)
        saved.append(manager.save() is not None)
    assert saved == [True, False, True, False, True] and manager.checkpoint_interval == 2
    assert manager.save(check_interval=False) is None  # at the same step
    step.assign_add(1)
    assert manager.save() is None and manager.save(check_interval=False) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_to_keep": 0}, "Expected a positive integer or `None` for `max_to_keep`, got 0"),
        ({"max_to_keep": 1, "checkpoint_interval": 2}, "`step_counter` should be passed"),
    ],
)
def test_managers_say_what_is_wrong(tf, tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), **arguments)


# --- Files ----------------------------------------------------------------------------------------

ARRAYS = {
    "bool": np.array([True, False]),
    "int8": np.arange(3, dtype=np.int8),
    "uint64": np.array([2**64 - 1], np.uint64),
    "float16": np.ones((2, 0), np.float16),
    "float32": np.array(1.5, np.float32),
    "float64": np.arange(6.0).reshape(2, 3).T,
    "complex64": np.array([1 + 2j], np.complex64),
    "complex128": np.array([[1 - 2j, 3j]]),
    "scalar": np.array(2j),
}


@numtape_only
def test_arrays_come_back_from_bytes(tf):
    from numtape.train.arrays import pack, unpack

    given = {**ARRAYS, "bfloat16": np.array([1.5], tf.bfloat16.numpy_dtype)}
    found, description = unpack(pack(given, {"a": [1, None]}), "it")
    assert description == {"a": [1, None]} and found.keys() == given.keys()
    for name, x in given.items():
        assert found[name].dtype == x.dtype and np.array_equal(found[name], x), name
        assert found[name].shape == x.shape and found[name].flags.writeable, name


@numtape_only
def test_others_read_our_files_and_theirs_are_refused(tf, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    from numtape.train.arrays import pack, unpack

    given = {k: x for k, x in ARRAYS.items() if not k.startswith(("complex", "scalar"))}
    found = safetensors.load(pack(given, None))
    assert all(np.array_equal(found[k], x) and found[k].dtype == x.dtype for k, x in given.items())
    with pytest.raises(tf.errors.DataLossError, match="another program wrote"):
        unpack(safetensors.save({"a": np.zeros(2)}), "it")


def change_header(content, change, mend):
    """The bytes with a modified header, and a matching checksum if ``mend``."""
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    change(header)
    if mend:
        metadata = header["__metadata__"]
        entries = {k: x for k, x in header.items() if k != "__metadata__"}
        text = json.dumps([entries, metadata["numtape"]], sort_keys=True)
        metadata["sha256"] = hashlib.sha256(text.encode() + data).hexdigest()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(**new):
    return lambda header: header["a/.ATTRIBUTES/VARIABLE_VALUE"].update(new)


def described(old, new):
    def change(header):
        metadata = header["__metadata__"]
        assert old in metadata["numtape"]
        metadata["numtape"] = metadata["numtape"].replace(old, new)

    return change


A, B = "a/.ATTRIBUTES/VARIABLE_VALUE", "b/.ATTRIBUTES/VARIABLE_VALUE"
CHANGES = {
    "another dtype": entry(dtype="I32"),
    "another size": entry(dtype="F64"),
    "an unknown dtype": entry(dtype="F8"),
    "another shape": entry(shape=[1, 2]),
    "a larger shape": entry(shape=[3]),
    "a negative shape": entry(shape=[-1, -2]),
    "no shape": lambda header: header[A].pop("shape"),
    "a shape of words": entry(shape=["x"]),
    "another place": entry(data_offsets=[4, 12]),
    "a place before": entry(data_offsets=[-8, 0]),
    "three places": entry(data_offsets=[0, 8, 9]),
    "a name missing": lambda header: header.pop(A),
    "an extra name": lambda header: header.update(
        c={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    ),
    "a new name": lambda header: header.update(c=header.pop(A)),
    "no description": lambda header: header["__metadata__"].pop("numtape"),
    "no metadata": lambda header: header.pop("__metadata__"),
    "no checksum": lambda header: header["__metadata__"].update(sha256=""),
    "a description cut": described("}", ""),
    "no list of nodes": described('"checkpoint": [', '"checkpoint": 3, "x": ['),
    "an unknown node": described('"a": 1', '"a": 77'),
    "a node of a word": described('"a": 1', '"a": "x"'),
    "an unknown key": described(f'"{A}"', '"nosuch"'),
    "a key twice": described(f'"{A}"', f'"{B}"'),
    "another kind of file": described('"checkpoint"', '"weights"'),
}
# These change only letters of the header, so with a new checksum the file is valid.
HARMLESS = {"another dtype", "another shape"}


@numtape_only
def test_damaged_files_are_refused_and_change_nothing(tf, tmp_path):
    a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    checkpoint = tf.train.Checkpoint(a=a, b=b)
    path = checkpoint.write(str(tmp_path / "ck"))
    file = tmp_path / "ck.safetensors"
    good = file.read_bytes()
    size = int.from_bytes(good[:8], "little")
    cuts = {f"cut at {n}": good[:n] for n in (0, 3, 8, 9, 8 + size // 2, 8 + size, len(good) - 1)}
    lengths = {
        f"length {n}": n.to_bytes(8, "little") + good[8:]
        for n in (0, 1, size - 1, size + 1, len(good), 2**63)
    }
    damaged = {
        **cuts,
        **lengths,
        "more": good + b"\0",
        "a bit": good[:-1] + bytes([good[-1] ^ 1]),
        "text": b"what is this?" * 9,
        "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(99),
        "zeros": bytes(99),
        "list": (2).to_bytes(8, "little") + b"[]",
        "pickle": b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00.",
        **{name: change_header(good, change, False) for name, change in CHANGES.items()},
        **{
            f"{name}, new checksum": change_header(good, change, True)
            for name, change in CHANGES.items()
            if name not in HARMLESS and name not in ("no description", "no metadata", "no checksum")
        },
    }
    a.assign([7.0, 7.0])
    b.assign([8.0, 8.0])
    for name, content in damaged.items():
        file.write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match=r"ck\.safetensors"):
            checkpoint.restore(path)
            pytest.fail(name)
        assert a.numpy().tolist() == [7, 7] and b.numpy().tolist() == [8, 8], name
    for name in HARMLESS:
        file.write_bytes(change_header(good, CHANGES[name], True))
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            checkpoint.restore(path)
        assert a.numpy().tolist() == [7, 7] and b.numpy().tolist() == [8, 8], name
    file.write_bytes(good)
    checkpoint.restore(path).assert_consumed()
    assert a.numpy().tolist() == [1, 2] and b.numpy().tolist() == [3, 4]


@numtape_only
def test_a_file_that_cannot_be_written_leaves_all_as_before(tf, tmp_path, monkeypatch):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0))
    path = checkpoint.save(str(tmp_path / "ck"))
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    checkpoint.a.assign(2.0)

    def broken(*args):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        checkpoint.save(str(tmp_path / "ck"))
    monkeypatch.undo()
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
    assert checkpoint.save_counter.numpy() == 1
    assert tf.train.latest_checkpoint(str(tmp_path)) == path


@numtape_only
def test_checkpoints_of_tensorflow_are_refused_by_name(tf, tmp_path):
    (tmp_path / "ck-1.index").write_bytes(b"\0")
    (tmp_path / "ck-1.data-00000-of-00001").write_bytes(b"\0")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ck-1"\n')
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0))
    with pytest.raises(tf.errors.UnimplementedError, match="a checkpoint that TensorFlow wrote"):
        checkpoint.restore(str(tmp_path / "ck-1"))
    with pytest.raises(tf.errors.UnimplementedError, match="TensorFlow wrote the checkpoints"):
        tf.train.latest_checkpoint(tmp_path)
    with pytest.raises(tf.errors.UnimplementedError, match="TensorFlow wrote the checkpoints"):
        tf.train.CheckpointManager(checkpoint, tmp_path, 1)


@numtape_only
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"model_checkpoint_path": 3}',
        '{"model_checkpoint_path": "../a", "all_model_checkpoint_paths": ["../a"], '
        '"all_model_checkpoint_timestamps": [1], "last_preserved_timestamp": null}',
        '{"model_checkpoint_path": "a", "all_model_checkpoint_paths": ["a"], '
        '"all_model_checkpoint_timestamps": [], "last_preserved_timestamp": null}',
    ],
)
def test_a_damaged_list_of_checkpoints_is_refused(tf, tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(tf.errors.DataLossError, match="is damaged"):
        tf.train.latest_checkpoint(tmp_path)
