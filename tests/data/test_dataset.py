"""Datasets: elements of a pipeline, their order and their shapes."""

import numpy as np
import pytest

INT64 = np.int64


def listed(data):
    """The elements as NumPy values and lists."""

    def plain(x):
        if isinstance(x, dict):
            return {key: plain(value) for key, value in x.items()}
        return tuple(map(plain, x)) if isinstance(x, tuple) else np.asarray(x).tolist()

    return [plain(x) for x in data.as_numpy_iterator()]


PIPELINES = {
    "slices": (lambda D: D.from_tensor_slices([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "pairs": (lambda D: D.from_tensor_slices(([1.5, 2.5], [3, 4])), [(1.5, 3), (2.5, 4)]),
    "dicts": (
        lambda D: D.from_tensor_slices({"b": [1, 2], "a": [3, 4]}),
        [{"b": 1, "a": 3}, {"b": 2, "a": 4}],
    ),
    "one": (lambda D: D.from_tensors((1, [2, 3])), [(1, [2, 3])]),
    "range": (lambda D: D.range(5, 0, -2), [5, 3, 1]),
    "generator": (
        lambda D: D.from_generator(lambda n: iter(range(n)), args=(3,), output_types="float32"),
        [0.0, 1.0, 2.0],
    ),
    "zip": (lambda D: D.zip((D.range(3), (D.range(9), D.range(5, 7)))), [(0, (0, 5)), (1, (1, 6))]),
    "batch": (lambda D: D.range(5).batch(2), [[0, 1], [2, 3], [4]]),
    "drop": (lambda D: D.range(5).batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
    "unbatch": (lambda D: D.range(5).batch(3).unbatch(), [0, 1, 2, 3, 4]),
    "rebatch": (lambda D: D.range(5).batch(3).rebatch(2), [[0, 1], [2, 3], [4]]),
    "map": (lambda D: D.from_tensor_slices(([1, 2], [3, 4])).map(lambda a, b: a * b), [3, 8]),
    "map of a list": (lambda D: D.range(2).map(lambda x: [x, x + 1]), [(0, 1), (1, 2)]),
    "filter": (lambda D: D.range(6).filter(lambda x: x % 2 == 0), [0, 2, 4]),
    "take while": (lambda D: D.range(6).take_while(lambda x: x < 2), [0, 1]),
    "repeat": (lambda D: D.range(2).repeat(2), [0, 1, 0, 1]),
    "repeat nothing": (lambda D: D.range(0).repeat(), []),
    "endless": (lambda D: D.range(2).repeat().take(3), [0, 1, 0]),
    "skip": (lambda D: D.range(5).skip(3), [3, 4]),
    "skip all": (lambda D: D.range(5).skip(-1), []),
    "take all": (lambda D: D.range(2).take(-1), [0, 1]),
    "shard": (lambda D: D.range(7).shard(3, 1), [1, 4]),
    "enumerate": (lambda D: D.range(5, 7).enumerate(1), [(1, 5), (2, 6)]),
    "concatenate": (lambda D: D.range(2).concatenate(D.range(5, 7)), [0, 1, 5, 6]),
    "flat_map": (lambda D: D.range(4).flat_map(lambda n: D.range(n)), [0, 0, 1, 0, 1, 2]),
    "interleave": (
        lambda D: D.range(1, 4).interleave(lambda n: D.from_tensors(n).repeat(3), cycle_length=2),
        [1, 2, 1, 2, 1, 2, 3, 3, 3],
    ),
    "interleaved blocks": (
        lambda D: D.range(1, 4).interleave(
            lambda n: D.from_tensors(n).repeat(3), cycle_length=2, block_length=2
        ),
        [1, 1, 2, 2, 1, 2, 3, 3, 3],
    ),
    "windows": (
        lambda D: D.range(7).window(3, 2).flat_map(lambda w: w.batch(3)),
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]],
    ),
    "strided windows": (
        lambda D: D.range(7).window(2, 3, 2, True).flat_map(lambda w: w.batch(2)),
        [[0, 2], [3, 5]],
    ),
    "far windows": (
        lambda D: D.range(9).window(2, 4).flat_map(lambda w: w.batch(2)),
        [[0, 1], [4, 5], [8]],
    ),
    "scan": (lambda D: D.range(4).scan(INT64(0), lambda s, x: (s + x, s + x)), [0, 1, 3, 6]),
    "unique": (lambda D: D.from_tensor_slices([1, 2, 1]).unique(), [1, 2]),
    "cache": (lambda D: D.range(3).cache().repeat(2), [0, 1, 2] * 2),
    "prefetch": (lambda D: D.range(3).prefetch(-1), [0, 1, 2]),
    "choice": (
        lambda D: D.choose_from_datasets([D.range(2), D.range(10, 12)], D.range(2).repeat()),
        [0, 10, 1, 11],
    ),
    "datasets": (
        lambda D: D.from_tensor_slices([D.range(2), D.range(5, 8)]).flat_map(lambda d: d),
        [0, 1, 5, 6, 7],
    ),
    "strings": (
        lambda D: D.from_tensor_slices({"s": ["a", "bé"], "n": [1, 2]}).batch(2),
        [{"s": [b"a", "bé".encode()], "n": [1, 2]}],
    ),
    "none": (lambda D: D.from_tensors((1, None)), [(1, None)]),
    "parallel": (lambda D: D.range(4).map(lambda x: x + 1, num_parallel_calls=2), [1, 2, 3, 4]),
    "rebatch in turn": (
        lambda D: D.range(10).batch(4).rebatch([3, 1]),
        [[0, 1, 2], [3], [4, 5, 6], [7], [8, 9]],
    ),
    "empty batches": (
        lambda D: D.range(3).batch(3).rebatch([1, 0]),
        [[0], [], [1], [], [2], []],
    ),
    "padded": (
        lambda D: D.from_tensor_slices((["a", "b", "c"], [1, 2, 3])).padded_batch(2),
        [([b"a", b"b"], [1, 2]), ([b"c"], [3])],
    ),
    "groups": (
        lambda D: D.range(10).group_by_window(lambda x: 4 - x % 3, lambda k, w: w.batch(3), 3),
        [[0, 3, 6], [1, 4, 7], [2, 5, 8], [9]],
    ),
    "groups of sizes": (
        lambda D: D.range(6).group_by_window(
            lambda x: x % 2, lambda k, w: w.batch(9), window_size_func=lambda k: k + 1
        ),
        [[0], [2], [1, 3], [4], [5]],
    ),
    "buckets": (
        lambda D: D.range(8).bucket_by_sequence_length(lambda x: x, [2, 5], [1, 2, 3]),
        [[0], [1], [2, 3], [5, 6, 7], [4]],
    ),
    "resample": (
        lambda D: D.range(6).rejection_resample(lambda x: x % 2, [0.0, 1.0], [0.5, 0.5]),
        [(1, 1), (1, 3), (1, 5)],
    ),
    "choice to the end": (
        lambda D: D.choose_from_datasets([D.range(1), D.range(5, 7)], D.range(2).repeat(), False),
        [0, 5, 6],
    ),
    "only one has weight": (
        lambda D: D.sample_from_datasets([D.range(3), D.range(9)], [1.0, 0.0]),
        [0, 1, 2],
    ),
    "options": (lambda D: D.range(2).apply(lambda data: data.batch(2)), [[0, 1]]),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_elements(tf, name):
    """Elements (in two passes), their specs, and the reported cardinality."""
    make, wanted = PIPELINES[name]
    data = make(tf.data.Dataset)
    assert listed(data) == wanted
    assert listed(data) == wanted
    count = int(data.cardinality())
    assert count in (len(wanted), tf.data.UNKNOWN_CARDINALITY)
    if count >= 0:
        assert len(data) == count
    specs = tf.nest.flatten(data.element_spec)
    for element in data:
        parts = tf.nest.flatten(element)
        assert all(spec.is_compatible_with(x) for spec, x in zip(specs, parts, strict=True))


SPECS = {
    "slices": "<_TensorSliceDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int32, "
    "name=None)>",
    "pairs": "<_TensorSliceDataset element_spec=(TensorSpec(shape=(), dtype=tf.float32, name=None)"
    ", TensorSpec(shape=(), dtype=tf.int32, name=None))>",
    "batch": "<_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>",
    "drop": "<_BatchDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int64, name=None)>",
    "unbatch": "<_UnbatchDataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>",
    "map": "<_MapDataset element_spec=TensorSpec(shape=(), dtype=tf.int32, name=None)>",
    "generator": "<_FlatMapDataset element_spec=TensorSpec(shape=<unknown>, dtype=tf.float32, "
    "name=None)>",
    "repeat": "<_RepeatDataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>",
}


@pytest.mark.parametrize("name", SPECS)
def test_repr(tf, name):
    assert repr(PIPELINES[name][0](tf.data.Dataset)) == SPECS[name]


def test_lengths_that_are_not_known(tf):
    data = tf.data.Dataset
    with pytest.raises(TypeError, match="infinite"):
        len(data.range(2).repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(data.range(2).filter(lambda x: x > 0))
    assert data.range(2).repeat().cardinality() == tf.data.INFINITE_CARDINALITY
    assert int(data.zip(data.range(3), data.range(2).repeat()).cardinality()) == 3
    assert bool(data.range(0))


def test_a_batch_pads_what_differs_in_size(tf):
    data = tf.data.Dataset.range(1, 4).map(lambda n: (tf.fill([n], n), n))
    ((x, n),) = listed(data.padded_batch(3))
    assert (x, n) == ([[1, 0, 0], [2, 2, 0], [3, 3, 3]], [1, 2, 3])
    found = data.map(lambda x, n: x).padded_batch(2, [4], INT64(-1)).as_numpy_iterator()
    assert next(found).tolist() == [[1, -1, -1, -1], [2, 2, -1, -1]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(data.batch(2))
    with pytest.raises(tf.errors.DataLossError):
        list(data.padded_batch(3, ([2], [])))


def test_shuffling(tf):
    data = tf.data.Dataset.range(50)
    again = data.shuffle(50, seed=3)
    first, second = listed(again), listed(again)
    assert sorted(first) == list(range(50)) != first != second
    assert listed(data.shuffle(50, seed=3)) == first
    same = data.shuffle(50, seed=3, reshuffle_each_iteration=False)
    assert listed(same) == listed(same)
    near = listed(data.shuffle(5))
    assert sorted(near) == list(range(50)) and all(x <= k + 4 for k, x in enumerate(near))
    epochs = listed(data.shuffle(50, seed=1).repeat(2))
    assert sorted(epochs[:50]) == sorted(epochs[50:]) and epochs[:50] != epochs[50:]
    tf.random.set_seed(7)
    once = listed(data.shuffle(50))
    tf.random.set_seed(7)
    assert listed(data.shuffle(50)) == once
    one = data.shuffle(50, reshuffle_each_iteration=False)
    assert listed(one) == listed(one)


def test_every_order_is_as_likely(tf):
    """Each of the six orders of three elements occurs in a sixth of the cases."""
    data = tf.data.Dataset.range(3).shuffle(3, seed=1)
    orders = [tuple(listed(data)) for _ in range(600)]
    assert len(set(orders)) == 6
    assert min(orders.count(order) for order in set(orders)) > 60


def test_sampling(tf):
    data = tf.data.Dataset
    sources = [data.range(200), data.range(1000, 1200)]
    found = listed(data.sample_from_datasets(sources, [0.9, 0.1], seed=1).take(100))
    assert 70 < sum(x < 1000 for x in found) < 100
    both = listed(data.sample_from_datasets(sources, seed=1))
    assert sorted(both) == [*range(200), *range(1000, 1200)]
    with pytest.raises(ValueError, match="empty"):
        data.sample_from_datasets([])


def test_elements_are_copies(tf):
    array = np.arange(4.0)
    data = tf.data.Dataset.from_tensor_slices(array)
    array[0] = 9
    (first, *_) = data.as_numpy_iterator()
    assert first == 0
    data = data.batch(4).cache()
    (batch,) = data
    batch.numpy()[1] = 9
    assert listed(data) == [[0, 1, 2, 3]]


def test_an_iterator_ends_once_and_for_all(tf):
    iterator = iter(tf.data.Dataset.range(1))
    assert iter(iterator) is iterator and int(iterator.get_next()) == 0
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()


def test_reduce_and_the_only_element(tf):
    data = tf.data.Dataset
    total, count = data.range(5).reduce((INT64(0), 0), lambda s, x: (s[0] + x, s[1] + 1))
    assert (int(total), int(count)) == (10, 5)
    assert int(data.from_tensors(3).get_single_element()) == 3
    for wrong in (data.range(0), data.range(2)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrong.get_single_element()


ERRORS = {
    "a scalar": (ValueError, lambda D: D.from_tensor_slices(3)),
    "lengths": (ValueError, lambda D: D.from_tensor_slices(([1, 2], [1]))),
    "ragged": (ValueError, lambda D: D.from_tensor_slices([[1], [2, 3]])),
    "no function": (ValueError, lambda D: D.range(3).map(3)),
    "arguments": (TypeError, lambda D: list(D.zip(D.range(1), D.range(1)).map(lambda x: x))),
    "zip of a list": (TypeError, lambda D: D.zip([D.range(3)])),
    "zip of a number": (TypeError, lambda D: D.zip(D.range(3), 4)),
    "buffer": ("InvalidArgumentError", lambda D: D.range(3).shuffle(0)),
    "batch": ("InvalidArgumentError", lambda D: D.range(3).batch(0)),
    "shard": ("InvalidArgumentError", lambda D: D.range(3).shard(3, 4)),
    "generator": (TypeError, lambda D: D.from_generator([1], "int32")),
    "no types": (TypeError, lambda D: D.from_generator(lambda: iter([1]))),
    "generated shape": (
        "InvalidArgumentError",
        lambda D: list(D.from_generator(lambda: iter([1, [2]]), "int32", ())),
    ),
    "step": ("InvalidArgumentError", lambda D: D.range(1, 2, 0)),
    "a list of types": (TypeError, lambda D: D.from_generator(lambda: iter([1]), ["int32"])),
    "generated type": (
        "InvalidArgumentError",
        lambda D: list(D.from_generator(lambda: iter(["a"]), "int32")),
    ),
    "threads": ("InvalidArgumentError", lambda D: D.range(3).map(lambda x: x, 0)),
    "parallel interleave": (
        "InvalidArgumentError",
        lambda D: D.range(3).interleave(lambda x: D.range(2), 1, num_parallel_calls=-2),
    ),
    "cycle": ("InvalidArgumentError", lambda D: D.range(3).interleave(lambda x: D.range(2), 0)),
    "prefetch": ("InvalidArgumentError", lambda D: D.range(3).prefetch(-2)),
    "window": ("InvalidArgumentError", lambda D: D.range(3).window(2, 0)),
    "padded rank": (ValueError, lambda D: D.from_tensors([1, 2]).padded_batch(1, [2, 3])),
    "padded size": (ValueError, lambda D: D.from_tensors([1, 2]).padded_batch(1, [1])),
    "padding value": (
        TypeError,
        lambda D: D.from_tensors([1, 2]).padded_batch(1, [4], padding_values=1.5),
    ),
    "padded none": (TypeError, lambda D: D.from_tensors((1, None)).padded_batch(1)),
    "choice type": (
        TypeError,
        lambda D: D.choose_from_datasets([D.range(2)], D.from_tensors(5)),
    ),
    "choice": (
        "InvalidArgumentError",
        lambda D: list(D.choose_from_datasets([D.range(2)], D.range(3, 5))),
    ),
    "specs": (TypeError, lambda D: D.sample_from_datasets([D.range(2), D.from_tensors(1.0)])),
    "weights": (ValueError, lambda D: D.sample_from_datasets([D.range(2)] * 2, [1.0])),
    "batch sizes": (
        ValueError,
        lambda D: D.range(3).bucket_by_sequence_length(lambda x: x, [2], [1]),
    ),
    "two window sizes": (
        ValueError,
        lambda D: D.range(3).group_by_window(lambda x: x, lambda k, w: w, 1, lambda k: 1),
    ),
    "window size": (
        "InvalidArgumentError",
        lambda D: list(D.range(3).group_by_window(lambda x: x, lambda k, w: w, 0)),
    ),
    "unbatch": (ValueError, lambda D: D.from_tensors(([1, 2], [1])).unbatch()),
    "reduced type": (TypeError, lambda D: D.range(3).reduce(0, lambda s, x: x)),
    "no files": ("InvalidArgumentError", lambda D: D.list_files("/nowhere/*")),
    "nothing saved": ("NotFoundError", lambda D: D.load("/nowhere")),
    "predicate": (ValueError, lambda D: list(D.range(3).filter(lambda x: x))),
    "concatenate": (TypeError, lambda D: D.range(3).concatenate(D.from_tensor_slices([1.0]))),
    "apply": (TypeError, lambda D: D.range(3).apply(lambda data: 3)),
    "made by hand": (TypeError, lambda D: D()),
    "an item": (TypeError, lambda D: D.range(3)[0]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(tf, name):
    error, wrong = ERRORS[name]
    with pytest.raises(getattr(tf.errors, error) if isinstance(error, str) else error):
        wrong(tf.data.Dataset)


@pytest.mark.tf_differs(reason="an AttributeError within TensorFlow")
def test_a_function_that_gives_no_dataset(tf):
    data = tf.data.Dataset.range(3)
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        list(data.flat_map(lambda x: x))


def test_an_error_in_a_function_is_raised_where_it_is_iterated(tf):
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        list(tf.data.Dataset.range(3).map(broken))


@pytest.mark.numtape_only(reason="TensorFlow traces functions of a dataset")
def test_functions_run_as_python_for_each_element(tf):
    seen = []
    data = tf.data.Dataset.range(3).map(lambda x: seen.append(int(x)) or x)
    assert seen == []
    assert len(list(data)) == 3 and seen == [0, 1, 2]


def test_training_on_batches(tf):
    """A regression on shuffled batches finds its coefficients."""
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 3)).astype("float32")
    y = x @ np.array([1.0, -2.0, 0.5], "float32")
    w = tf.Variable(tf.zeros(3))
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=1).batch(32)
    for _ in range(30):
        for inputs, wanted in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.linalg.matvec(inputs, w) - wanted))
            w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), [1.0, -2.0, 0.5], atol=1e-3)


def test_a_cache_is_filled_when_all_elements_were_read(tf):
    dataset = tf.data.Dataset.range(10).shuffle(10).cache()
    orders = []
    for _ in range(3):
        iterator = iter(dataset)
        orders.append([int(next(iterator)) for _ in range(10)])  # without reaching the end
    assert orders[0] == orders[1] == orders[2]
    assert [int(x) for x in dataset] == orders[0]
    iterator = iter(partly := tf.data.Dataset.range(10).shuffle(10).cache())
    next(iterator)  # an incomplete cache is not used
    assert sorted(int(x) for x in partly) == list(range(10))


REORDERINGS = {
    "none": lambda data: data,
    "shuffle": lambda data: data.shuffle(7, seed=3),
    "one order": lambda data: data.shuffle(40, seed=3, reshuffle_each_iteration=False),
    "repeat": lambda data: data.shuffle(20, seed=1).repeat(3),
    "take and skip": lambda data: data.skip(3).take(11).repeat(2).take(-1),
    "shard": lambda data: data.shard(3, 1).prefetch(2).repeat(2),
    "cache": lambda data: data.shuffle(40, seed=5).cache().repeat(2),
    "all": lambda data: data.repeat(2).shuffle(9, seed=2).skip(2).shard(2, 0).take(9).cache(),
}


@pytest.mark.parametrize("name", REORDERINGS)
@pytest.mark.parametrize("drop_remainder", [False, True])
def test_batches_of_slices_are_those_of_elements(tf, name, drop_remainder):
    """A filter hides that elements are slices of arrays."""
    arrays = (
        np.arange(20, dtype="uint8"),
        {"a": np.arange(120.0).reshape(20, 2, 3), "b": np.zeros((20, 0), "float32")},
    )
    data = tf.data.Dataset.from_tensor_slices(arrays)
    plain = data.filter(lambda *_: True)
    found, expected = (
        REORDERINGS[name](x).batch(4, drop_remainder=drop_remainder) for x in (data, plain)
    )
    assert found.element_spec == expected.element_spec
    for _ in range(3):
        pairs = zip(found, expected, strict=True)
        for (x, nest), (y, other) in pairs:
            np.testing.assert_array_equal(x.numpy(), y.numpy(), strict=True)
            for key in "ab":
                np.testing.assert_array_equal(nest[key].numpy(), other[key].numpy(), strict=True)


@pytest.mark.records
def test_batches_of_slices_in_a_recorded_call(tf):
    """A dataset from outside is read again in each replay."""
    data = tf.data.Dataset.from_tensor_slices(np.arange(6.0))

    @tf.function
    def total(x):
        for part in data.repeat(2).batch(4):
            x = x * 0.5 + tf.reduce_sum(part)
        return x

    assert [float(total(tf.constant(0.0, tf.float64))) for _ in range(3)] == [20.5] * 3


def test_mapped_slices_keep_their_values(tf):
    """Tensors of slices share memory with the dataset; no order or later use changes them."""
    x = np.asfortranarray(np.arange(24.0).reshape(6, 2, 2))
    y, half = np.arange(6), np.arange(6, dtype="float16")
    data = tf.data.Dataset.from_tensor_slices((x, {"y": y, "half": half}))
    x[:], y[:] = -1, -1
    kept = []

    def keep(x, rest):
        kept.append((x, rest["y"]))
        return x * 2.0, rest["y"], rest["half"]

    for batch in data.shuffle(6, seed=1).map(keep).batch(4):
        order = batch[1].numpy()
        expected = 2.0 * np.arange(24.0).reshape(6, 2, 2)[order]
        np.testing.assert_array_equal(batch[0].numpy(), expected)
        np.testing.assert_array_equal(batch[2].numpy(), order.astype("float16"))
        assert batch[2].dtype == "float16"
    for x, y in kept:
        np.testing.assert_array_equal(x.numpy(), np.arange(24.0).reshape(6, 2, 2)[y.numpy()])
        x.numpy()[:] = -1  # a copy
    (first, *_) = data.map(lambda x, rest: x).batch(6)
    np.testing.assert_array_equal(first.numpy(), np.arange(24.0).reshape(6, 2, 2))


def test_batches_of_mapped_elements_have_gradients(tf):
    w = tf.Variable(3.0)
    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 5.0]).map(lambda x: (x, x * w)).batch(3)
    with tf.GradientTape() as tape:
        for x, y in data:
            total = tf.reduce_sum(x * y)
    assert float(total) == 90.0
    if tf.__name__ == "numtape":
        assert float(tape.gradient(total, w)) == 30.0


def test_elements_that_a_function_returns_cannot_change_the_dataset(tf):
    """Mapped elements share memory with the source; PyTorch writes to what DLPack gives it."""
    torch = pytest.importorskip("torch")
    zeros = np.zeros((2, 3), np.float32)
    for source, function in ((zeros, lambda x: x), ((zeros, zeros), lambda x, y: y)):
        dataset = tf.data.Dataset.from_tensor_slices(source).map(function)
        for x in dataset:
            torch.as_tensor(x).add_(1.0)
            torch.from_dlpack(x).fill_(7.0)
        assert not any(x.numpy().any() for x in dataset)


def test_mapped_elements_do_not_share_memory_with_the_source(tf):
    arrays = np.zeros((2, 3), np.float32), np.zeros(2)
    elements = []
    dataset = tf.data.Dataset.from_tensor_slices(arrays)
    list(dataset.map(lambda x, y: elements.append((x, y)) or (x, y)))
    assert len(elements) == 2
    for element in elements:
        for x, source in zip(element, dataset._arrays, strict=True):
            assert not np.shares_memory(x.numpy(), source)


def test_options_are_checked_and_merged(tf):
    options, other = tf.data.Options(), tf.data.Options()
    options.threading.private_threadpool_size = 3
    options.deterministic = True
    other.deterministic = False
    with pytest.raises(TypeError, match="deterministic"):
        options.deterministic = "yes"
    with pytest.raises(TypeError, match="threading"):
        options.threading = 3
    with pytest.raises(AttributeError, match="wrong"):
        options.wrong = 1
    D = tf.data.Dataset
    merged = D.range(3).with_options(options).with_options(other).map(lambda x: x).options()
    assert merged.deterministic is False and merged.threading.private_threadpool_size == 3
    with pytest.raises(ValueError):
        merged.deterministic = True
    assert not D.zip(
        D.range(1).with_options(options), D.range(1).with_options(other)
    ).options() == (options)
    assert tf.data.Options() == tf.data.Options() != options
    assert options.experimental_distribute.auto_shard_policy.name == "AUTO"


def test_optionals(tf):
    iterator = iter(tf.data.Dataset.range(1))
    full, empty = (iterator.get_next_as_optional() for _ in range(2))
    assert bool(full.has_value()) and int(full.get_value()) == 0 and not bool(empty.has_value())
    with pytest.raises(tf.errors.InvalidArgumentError):
        empty.get_value()
    assert empty.element_spec == full.element_spec == tf.TensorSpec((), tf.int64)
    assert tf.OptionalSpec.from_value(full) == tf.OptionalSpec(tf.TensorSpec((), tf.int64))


def test_sparse_and_ragged_elements(tf):
    D = tf.data.Dataset
    ragged = tf.ragged.constant([[1], [2, 3], []])
    rows = D.from_tensor_slices(ragged)
    assert [x.numpy().tolist() for x in rows] == [[1], [2, 3], []]
    assert [x.to_list() for x in rows.batch(2)] == [[[1], [2, 3]], [[]]]
    assert rows.batch(2).element_spec == tf.RaggedTensorSpec([None, None], tf.int32)
    fill = D.range(1, 4).map(lambda n: tf.fill([n], n))
    assert [x.to_list() for x in fill.ragged_batch(3)] == [[[1], [2, 2], [3, 3, 3]]]
    (batch,) = fill.sparse_batch(3, [4])
    dense = tf.sparse.to_dense(batch).numpy().tolist()
    assert dense == [[1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0]]
    sparse = tf.sparse.from_dense([[1, 0], [0, 2]])
    parts = [tf.sparse.to_dense(x).numpy().tolist() for x in D.from_tensor_slices(sparse)]
    assert parts == [[1, 0], [0, 2]]
    (both,) = D.from_tensors(sparse).repeat(2).batch(2)
    assert tf.sparse.to_dense(both).numpy().tolist() == [[[1, 0], [0, 2]]] * 2


EXPERIMENTAL = {
    "at": (lambda X, D: [int(X.at(D.range(9).map(lambda x: x * 2), 3))], [6]),
    "assert": (lambda X, D: listed(D.range(3).apply(X.assert_cardinality(3))), [0, 1, 2]),
    "pad": (
        lambda X, D: listed(D.from_tensor_slices({"a": [1]}).apply(X.pad_to_cardinality(2))),
        [{"a": 1, "valid": True}, {"a": 0, "valid": False}],
    ),
    "list": (lambda X, D: listed(X.from_list([(1, "a"), (2, "b")])), [(1, b"a"), (2, b"b")]),
    "reducer": (
        lambda X, D: listed(
            D.range(10).apply(
                X.group_by_reducer(
                    lambda x: 4 - x % 2,
                    X.Reducer(lambda k: INT64(0), lambda s, x: s + x, lambda s: s * 10),
                )
            )
        ),
        [250, 200],
    ),
    "map and batch": (
        lambda X, D: listed(D.range(3).apply(X.map_and_batch(abs, 2))),
        [[0, 1], [2]],
    ),
    "counter": (lambda X, D: listed(X.Counter(2, 3).take(3)), [2, 5, 8]),
}


@pytest.mark.parametrize("name", EXPERIMENTAL)
def test_experimental_functions(tf, name):
    make, wanted = EXPERIMENTAL[name]
    assert make(tf.data.experimental, tf.data.Dataset) == wanted


def test_errors_of_experimental_functions(tf):
    X, data = tf.data.experimental, tf.data.Dataset.range(3)
    for count in (2, 4):
        with pytest.raises(tf.errors.FailedPreconditionError):
            list(data.apply(X.assert_cardinality(count)))
    with pytest.raises(tf.errors.OutOfRangeError):
        X.at(data, 3)
    with pytest.raises(tf.errors.UnimplementedError):
        X.at(data.filter(lambda x: x > 0), 0)
