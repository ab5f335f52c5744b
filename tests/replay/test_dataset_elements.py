"""Datasets in recorded functions: a replay consumes the elements that plain Python would."""

import gc
import threading
import warnings
from collections import namedtuple

import numpy as np
import pytest

import numtape as tf

Dataset = tf.data.Dataset
Pair = namedtuple("Pair", "a b")
plain = pytest.mark.filterwarnings("ignore:numtape.function:RuntimeWarning")


def _values(found):
    return tf.nest.map_structure(
        lambda x: (str(np.asarray(x).dtype), np.asarray(x).tolist()), found
    )


def _calls(f, arguments, count):
    """The results of calls, or the exceptions they raise."""
    found = []
    for _ in range(count):
        try:
            found.append(_values(f(*arguments())))
        except (StopIteration, tf.errors.OutOfRangeError, ValueError) as error:
            found.append(type(error).__name__)
    return found


def _compared(make, count=12):
    """Compare a function with its recording; ``make(wrap)`` returns it and its arguments."""
    expected = _calls(*make(lambda f: f), count)
    f, arguments = make(tf.function)
    assert _calls(f, arguments, count) == expected
    return f.paths()


def _over(dataset, f):
    """A function that takes an iterator as its argument."""

    def make(wrap):
        iterator = iter(dataset())
        return wrap(f), lambda: (iterator,)

    return make


def _slices(*values):
    return lambda: Dataset.from_tensor_slices(np.array(values))


def _branches(iterator):
    x = next(iterator)
    return (x, next(iterator)) if x < 0 else (x, 2 * x)


def _raises(iterator):
    x = next(iterator)
    if x == 3:
        raise ValueError("three")
    return x


def _all(iterator):
    return [x + 1 for x in iterator]


def _structure():
    tree = {"a": np.arange(9.0), "b": (np.arange(9), np.ones((9, 2), np.float32))}
    return Dataset.from_tensor_slices(tree).batch(2)


def _generated():
    def numbers():
        yield from range(7)

    return Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int32))


REPLAYED = {
    "batches": _over(lambda: Dataset.range(8).batch(3), lambda it: next(it) * 2),
    "two elements": _over(lambda: Dataset.range(9), lambda it: next(it) - next(it)),
    "structure": _over(_structure, lambda it: next(it)),
    "namedtuple": _over(
        lambda: Dataset.from_tensor_slices(Pair(np.arange(4.0), np.arange(4))),
        lambda it: next(it).a,
    ),
    "get_next": _over(lambda: Dataset.range(5), lambda it: it.get_next() + 1),
    "default": _over(lambda: Dataset.range(5), lambda it: next(it, tf.constant(-1, tf.int64))),
    "branches": _over(_slices(1.0, -1, 2, -3, -4, 5, 6, 7, -8, 9, -1, 3, 4, 5, -6, 7), _branches),
    "raises": _over(lambda: Dataset.range(9), _raises),
    "map": _over(
        lambda: (
            Dataset.range(9)
            .map(lambda x: tf.sin(tf.cast(x, tf.float32)))
            .filter(lambda x: x > 0)
            .batch(2)
        ),
        lambda it: next(it) * 2,
    ),
    "generator": _over(_generated, lambda it: next(it) * 2),
    "cache and repeat": _over(
        lambda: Dataset.range(3).shuffle(3, seed=1).cache().repeat(3), lambda it: next(it) + 1
    ),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_next_is_read_anew_in_each_replay(name):
    paths = _compared(REPLAYED[name])
    assert not paths.reasons
    assert sum(path.hits for path in paths) > 0


def test_iterator_from_outside():
    def make(wrap):
        iterator, other = iter(Dataset.range(20).batch(3)), iter(Dataset.range(30))
        x = tf.constant(2, tf.int64)
        return wrap(lambda x: (next(iterator), x * next(other))), lambda: (x,)

    paths = _compared(make)
    assert [path.hits for path in paths] == [5, 0]


def test_rest_of_an_iterator():
    _compared(_over(lambda: Dataset.range(5), _all), 3)


def test_elements_outside_and_inside_take_turns():
    def make(wrap):
        iterator = iter(Dataset.range(30))
        f = wrap(lambda it: 2 * next(it))
        both = lambda it: (next(it), f(it), next(it))  # noqa: E731
        both.paths = getattr(f, "paths", None)
        return both, lambda: (iterator,)

    assert [path.hits for path in _compared(make)] == [9]


IN_FUNCTION = {
    "loop": lambda data, x: [x + q for q in data],
    "enumerate": lambda data, x: [x + k * q for k, q in enumerate(data)],
    "two loops": lambda data, x: [x + q * r for q in data for r in data],
    "iter and next": lambda data, x: next(iter(data)) + x,
    "derived": lambda data, x: [x + tf.reduce_sum(q) for q in data.batch(2).take(2)],
    "zip": lambda data, x: [x + p - q for p, q in Dataset.zip(data, data)],
    "map of the argument": lambda data, x: [q for q in data.map(lambda q: q * x)],
    "reduce": lambda data, x: data.reduce(x, lambda a, b: 3 * a + b),
    "single": lambda data, x: data.batch(9).get_single_element() + x,
    "break": lambda data, x: _until(data, x),
}


def _until(data, x):
    for q in data:
        if q == 2:
            return x + q
        x = 2 * x + q
    return x


@pytest.mark.parametrize("name", IN_FUNCTION)
def test_dataset_in_a_function(name):
    body = IN_FUNCTION[name]

    def make(wrap):
        data, numbers = Dataset.range(5).shuffle(5, seed=3), iter(range(99))
        f = wrap(lambda x: body(data, x))
        return f, lambda: (tf.constant(next(numbers), tf.int64),)

    paths = _compared(make, 8)
    assert not paths.reasons
    assert sum(path.hits for path in paths) > (0 if name == "break" else 6)


def test_dataset_whose_values_python_reads():
    def make(wrap):
        data = Dataset.range(3).shuffle(3, seed=3)
        f = wrap(lambda x: x + sum(3**k * int(q) for k, q in enumerate(data.as_numpy_iterator())))
        return f, lambda: (tf.constant(0),)

    _compared(make, 20)


def test_dataset_made_in_the_function():
    def make(wrap):
        numbers = iter(range(99))
        f = wrap(lambda x: [x * q for q in Dataset.range(3).map(lambda q: q + x)])
        return f, lambda: (tf.constant(next(numbers), tf.int64),)

    assert [path.hits for path in _compared(make)] == [11]


def test_gradient_and_assign():
    def make(wrap):
        iterator, v = iter(Dataset.range(20).batch(3)), tf.Variable(2.0)

        def step(it):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(v * v * tf.cast(next(it), tf.float32))
            v.assign_sub(0.01 * tape.gradient(loss, v))
            return v + 0

        return wrap(step), lambda: (iterator,)

    assert [path.hits for path in _compared(make)] == [5, 0]


def test_tape_around_the_call():
    def make(wrap):
        iterator, v = iter(Dataset.range(20).batch(3)), tf.Variable(2.0)
        f = wrap(lambda it: tf.reduce_sum(v * v * tf.cast(next(it), tf.float32)))

        def gradient(it):
            with tf.GradientTape() as tape:
                loss = f(it)
            return tape.gradient(loss, v)

        gradient.paths = getattr(f, "paths", None)
        return gradient, lambda: (iterator,)

    assert [path.hits for path in _compared(make)] == [5, 0]


def test_state_that_the_dataset_changes():
    """The dataset's function changes state that the recorded function reads, so guards fail."""

    def make(wrap):
        count = [0]

        def counted(x):
            count[0] += 1
            return x

        iterator = iter(Dataset.range(9).map(counted))
        return wrap(lambda it: next(it) * count[0]), lambda: (iterator,)

    _compared(make)


def test_random_numbers_of_the_dataset():
    def make(wrap):
        tf.random.set_seed(3)
        iterator = iter(Dataset.range(9).map(lambda x: tf.random.uniform([])))
        return wrap(lambda it: next(it) + tf.random.uniform([])), lambda: (iterator,)

    with pytest.warns(RuntimeWarning, match="made by random numbers"):
        _compared(make)


def test_variable_that_the_dataset_reads():
    def make(wrap):
        v = tf.Variable(1.0)
        iterator = iter(Dataset.range(9).map(lambda x: v * 2))

        def step(it):
            found = next(it)
            v.assign_add(1.0)
            return found

        return wrap(step), lambda: (iterator,)

    with pytest.warns(RuntimeWarning, match="a dataset reads a variable"):
        _compared(make)


@plain
def test_datasets_that_replays_cannot_read():
    def failing():
        yield from range(4)
        raise ValueError("no more")

    _compared(
        _over(
            lambda: Dataset.from_generator(failing, output_signature=tf.TensorSpec((), tf.int32)),
            lambda it: next(it) * 2,
        )
    )
    _compared(_over(lambda: Dataset.range(9).window(2), lambda it: list(next(it))))
    _compared(
        lambda wrap: (
            wrap(lambda: [x + 0 for x in Dataset.range(5).shuffle(5, seed=4)]),
            lambda: (),
        )
    )


def test_paths_that_do_not_match_consume_no_elements():
    """The first path tried reads three elements, but the path that matches reads only one."""
    values = [1.0, 2, 3, 1, 2, 3, -1, -2, -3, 1, 2, 3, -4, 5, 6, 7, -8]

    def step(it):
        x = next(it)
        return x + next(it) * next(it) if x > 0 else x

    paths = _compared(_over(_slices(*values), step))
    assert [path.hits for path in paths] == [3, 4] and not paths.reasons


def test_one_recording_for_each_kind_of_element():
    shapes = [(2,), (3,), (2,), (2,), (3,), (1,), (2,)]

    def arrays():
        for k, shape in enumerate(shapes):
            yield np.full(shape, k, np.float32)

    spec = tf.TensorSpec((None,), tf.float32)
    paths = _compared(
        _over(
            lambda: Dataset.from_generator(arrays, output_signature=spec), lambda it: next(it) * 2
        )
    )
    assert sorted(path.hits for path in paths) == [0, 1, 3]


def test_interrupted_call_leaves_the_element_or_takes_it():
    """Elements read before the interrupt are consumed, as in Python."""
    stop = [0]

    def step(it):
        x = next(it)
        if x == 3 and stop[0]:
            raise KeyboardInterrupt
        return x

    found = {}
    for wrap in (lambda f: f, tf.function):
        f, it, got = wrap(step), iter(Dataset.range(6)), []
        stop[0] = 1
        for _ in range(6):
            try:
                got.append(int(f(it)))
            except KeyboardInterrupt:
                stop[0] = 0
        found[wrap] = got
    assert len(set(map(tuple, found.values()))) == 1


def test_iteration_starts_as_in_python():
    """Starting a loop advances a shuffled dataset, even if the loop reads nothing or raises."""

    def make(wrap):
        data = Dataset.range(8).shuffle(8, seed=1)
        numbers = iter(range(99))

        def f(x):
            iter(data)
            if x % 4 == 3:
                raise ValueError("three")
            return [x + q for q in data.take(2)]

        return wrap(f), lambda: (tf.constant(next(numbers), tf.int64),)

    _compared(make)


def test_threads_share_an_iterator():
    """Each element goes to exactly one call."""
    iterator, f = iter(Dataset.range(400)), tf.function(lambda it: next(it) * 2)
    for _ in range(3):
        f(iterator)
    found = [[], [], []]

    def work(mine):
        for _ in range(100):
            mine.append(int(f(iterator)) // 2)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(x for mine in found for x in mine) == list(range(3, 303))


def test_nested_functions():
    def make(wrap):
        iterator = iter(Dataset.range(9))
        inner = wrap(lambda it: next(it) * 2)
        return wrap(lambda it: inner(it) + next(it)), lambda: (iterator,)

    assert [path.hits for path in _compared(make, 6)] == [3]


def test_keras_train_step_over_an_iterator():
    """A custom loop over batches trains on each of them."""
    x = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
    data = Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(5)
    found = []
    for wrap in (lambda f: f, tf.function):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.build((None, 3))
        optimizer = tf.keras.optimizers.SGD(0.1)

        @wrap
        def step(it, model=model, optimizer=optimizer):
            inputs, targets = next(it)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(inputs, training=True) - 2 * targets) ** 2)
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        losses = []
        for _ in range(2):
            it = iter(data)
            losses += [float(step(it)) for _ in range(5)]
        found.append(losses)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert len(set(found[1])) == 10


def test_check_replay(monkeypatch):
    from numtape.core import settings

    monkeypatch.setattr(settings, "check_replay", lambda: 1)
    _compared(_over(lambda: Dataset.range(9), lambda it: next(it) * 2))


def test_a_dropped_function_frees_the_iterator():
    import weakref

    iterator = iter(Dataset.range(9))
    f = tf.function(lambda it: next(it) * 2)
    f(iterator), f(iterator)
    gone = weakref.ref(iterator)
    del f, iterator
    gc.collect()
    assert gone() is None


OPERATIONS = (
    lambda d, r: d.batch(int(r.integers(1, 4)), drop_remainder=bool(r.integers(2))),
    lambda d, r: d.shuffle(int(r.integers(1, 9)), seed=int(r.integers(9))),
    lambda d, r: d.map(lambda x: x * 2 + 1),
    lambda d, r: d.take(int(r.integers(1, 12))),
    lambda d, r: d.skip(int(r.integers(3))),
    lambda d, r: d.repeat(int(r.integers(1, 3))),
    lambda d, r: d.cache(),
    lambda d, r: d.filter(lambda x: tf.reduce_sum(x) % 3 != 0),
    lambda d, r: d.prefetch(2),
    lambda d, r: d.shard(2, int(r.integers(2))),
    lambda d, r: d.concatenate(d),
)


def _program(seed):
    """A random function that reads datasets, and its arguments."""

    def make(wrap):
        random = np.random.default_rng(seed)
        data = Dataset.range(int(random.integers(1, 30)))
        for _ in range(int(random.integers(1, 4))):
            data = OPERATIONS[random.integers(len(OPERATIONS))](data, random)
        other = Dataset.range(7).shuffle(7, seed=seed)
        its = [iter(data), iter(other)]
        steps = random.integers(0, 5, int(random.integers(1, 4))).tolist()
        v = tf.Variable(0, dtype=tf.int64)

        def body(x):
            for step in steps:
                if step == 0:
                    x = x + tf.reduce_sum(next(its[0]))
                elif step == 1:
                    x = 2 * x + tf.reduce_sum(next(its[1], tf.constant(5, tf.int64)))
                elif step == 2:
                    for q in other.take(2):
                        x = 3 * x + q
                elif step == 3:
                    x = x + tf.reduce_sum(next(iter(data), tf.constant(1, tf.int64)))
                elif x % 2 == 0:
                    x = x + tf.reduce_sum(next(its[0]))
            if x % 3 == 0:  # last, because earlier lines may raise
                v.assign_add(x)
            return x, v + 0

        return wrap(body), lambda: (tf.constant(int(random.integers(9)), tf.int64),)

    return make


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(10 * block, 10 * block + 10):
            _compared(_program(seed), 6)
