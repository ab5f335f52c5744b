"""Checks each collective on all ranks against NumPy."""

import itertools

import ml_dtypes
import numpy as np

import numtape as nt

hvd = nt.distribute
hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
# A scalar, sizes that travel in the header, and sizes that do not.
SHAPES = [(), (0,), (3,), (2, 5), (40, 30), (70000,)]
COMBINE = {
    hvd.Sum: np.add.reduce,
    hvd.Average: lambda xs, axis: np.mean(xs, axis, dtype=np.float64),
    hvd.Min: np.minimum.reduce,
    hvd.Max: np.maximum.reduce,
    hvd.Product: np.multiply.reduce,
}


def arrays(shape, dtype, seed=0):
    """The array of each rank."""
    rng = np.random.default_rng(seed)
    values = [rng.integers(-8, 9, shape) for _ in range(SIZE)]
    return [np.asarray(x).astype(dtype) / (2 if "float" in dtype else 1) for x in values]


def raises(error, text, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError(f"no {error.__name__}")


def check_values():
    for shape, dtype in itertools.product(SHAPES, ["float32", "float64", "int32", "int64"]):
        xs = [np.asarray(x, dtype) for x in arrays(shape, dtype)]
        x = nt.constant(xs[RANK])
        for op, combine in COMBINE.items():
            if op == hvd.Average and "int" in dtype:
                continue
            expected = combine(np.stack(xs), axis=0)
            found = hvd.allreduce(x, op).numpy()
            assert found.dtype == dtype
            np.testing.assert_allclose(found, np.asarray(expected).astype(dtype), rtol=1e-6)
        np.testing.assert_array_equal(hvd.broadcast(x, SIZE - 1).numpy(), xs[-1])
        if shape:
            np.testing.assert_array_equal(hvd.allgather(x).numpy(), np.concatenate(xs))
            total = np.array_split(np.add.reduce(np.stack(xs)), SIZE)[RANK]
            np.testing.assert_array_equal(hvd.reducescatter(x, hvd.Sum).numpy(), total)
    large = nt.fill([9000], 40000.0)
    assert (hvd.allreduce(large, compression="float16").numpy() == 40000.0).all()
    z = nt.constant([1.0 + 2.0j, 3.0]) * (RANK + 1.0)
    np.testing.assert_allclose(
        hvd.allreduce(z, hvd.Sum).numpy(), np.array([1 + 2j, 3]) * sum(range(1, SIZE + 1))
    )
    flags = hvd.allgather(nt.constant([RANK > 0])).numpy()
    assert flags.tolist() == [rank > 0 for rank in range(SIZE)]
    rows = hvd.allgather(nt.fill([RANK, 2], float(RANK))).numpy()
    expected = np.concatenate([np.full((rank, 2), float(rank)) for rank in range(SIZE)])
    np.testing.assert_array_equal(rows, expected)
    several = hvd.grouped_allreduce(
        [nt.ones((2,)) * (RANK + 1.0), nt.constant(2, "int64"), nt.ones((3, 3))], hvd.Sum
    )
    assert several[0].numpy().tolist() == [SIZE * (SIZE + 1) / 2] * 2
    assert several[1].numpy() == 2 * SIZE
    assert several[2].numpy().tolist() == [[SIZE] * 3] * 3
    hvd.barrier()


def check_half_precision():
    for size in (5, 70000):
        xs = arrays((size,), "float32", seed=3)
        exact = np.sum(xs, 0)
        for name, kind, digits in (
            ("float16", np.float16, 1e-3),
            ("bfloat16", ml_dtypes.bfloat16, 1e-2),
        ):
            found = hvd.allreduce(nt.constant(xs[RANK]), hvd.Sum, compression=name)
            assert found.dtype is nt.float32
            np.testing.assert_allclose(found.numpy(), exact, rtol=digits, atol=digits)
            half = hvd.allreduce(nt.constant(xs[RANK].astype(kind)), hvd.Sum)
            assert half.dtype.name == name
            np.testing.assert_allclose(
                half.numpy().astype("f"), exact, rtol=digits * SIZE, atol=digits
            )


def check_derivatives():
    xs = arrays((SIZE + 1, 2), "float32", seed=1)
    weights = [float(rank + 1) for rank in range(SIZE)]
    total = sum(weights)

    def gradient(function, x=xs[RANK]):
        x = nt.constant(x)
        with nt.GradientTape() as tape:
            tape.watch(x)
            loss = nt.reduce_sum(function(x * x) * weights[RANK])
        return tape.gradient(loss, x).numpy()

    x = xs[RANK]
    np.testing.assert_allclose(gradient(lambda y: hvd.allreduce(y, hvd.Sum)), 2 * x * total)
    np.testing.assert_allclose(gradient(hvd.allreduce), 2 * x * total / SIZE, rtol=1e-6)
    np.testing.assert_allclose(gradient(hvd.allgather), 2 * x * total)
    rooted = gradient(lambda y: hvd.broadcast(y, 1))
    np.testing.assert_allclose(rooted, 2 * x * total if RANK == 1 else 0 * x)
    share = np.array_split(np.arange(SIZE + 1), SIZE)
    row_weights = np.repeat(weights, [len(rows) for rows in share])[:, None]
    scattered = gradient(lambda y: hvd.reducescatter(y, hvd.Sum))
    np.testing.assert_allclose(scattered, 2 * x * row_weights)
    x = nt.constant(2.0 + RANK)
    with nt.GradientTape() as outer:
        outer.watch(x)
        with nt.GradientTape() as inner:
            inner.watch(x)
            y = hvd.allreduce(x * x * x, hvd.Sum)
        slope = inner.gradient(y, x)  # each rank's y depends on each rank's x
    np.testing.assert_allclose(slope.numpy(), 3.0 * SIZE * x.numpy() ** 2)
    np.testing.assert_allclose(outer.gradient(slope, x).numpy(), 6.0 * SIZE * x.numpy())
    raises(
        nt.errors.UnimplementedError, "no derivative", gradient, lambda y: hvd.allreduce(y, "Max")
    )


def check_replay():
    scale = {"value": 1.0}

    @nt.function
    def step(x):
        a = hvd.allreduce(x * scale["value"], hvd.Sum)
        b, c = hvd.grouped_allreduce([a + x, nt.cast(x, "float64")], hvd.Sum)
        return nt.reduce_sum(b) + nt.reduce_sum(hvd.allgather(x)), c

    def expected(xs, factor):
        a = sum(xs) * factor
        return sum(float((a + x).sum()) for x in xs) + sum(float(x.sum()) for x in xs), sum(xs)

    for k in range(8):
        if k == 4:
            scale["value"] = 3.0
        xs = [np.full(5, rank + 1.0 + k, "f") for rank in range(SIZE)]
        total, c = step(nt.constant(xs[RANK]))
        wanted = expected(xs, scale["value"])
        np.testing.assert_allclose(float(total), wanted[0], rtol=1e-6)
        np.testing.assert_allclose(c.numpy(), wanted[1])
    assert len(step.paths()) == 2, step.paths()
    assert not step.paths().reasons, step.paths()

    @nt.function
    def guarded(x):  # a replay sends nothing before it knows which branch to take
        if x > SIZE / 2:
            x = x * 10.0
        return hvd.allreduce(x, hvd.Sum)

    for shift in (0, 1, 2, 0):
        xs = [float(rank + shift) for rank in range(SIZE)]
        wanted = sum(10 * x if x > SIZE / 2 else x for x in xs)
        assert float(guarded(nt.constant(xs[RANK]))) == wanted
    assert "after it reads a value" in str(guarded.paths())
    assert len(guarded.paths().reasons) == 1

    @nt.function
    def guarded_later(x):  # a rank that takes another branch sends nothing again
        total = hvd.allreduce(x, hvd.Sum)
        return total * 2.0 if x > 1.0 else total

    for k in range(6):
        xs = [float((rank + k) % 3) for rank in range(SIZE)]
        wanted = sum(xs) * (2.0 if xs[RANK] > 1.0 else 1.0)
        assert float(guarded_later(nt.constant(xs[RANK]))) == wanted
    assert not guarded_later.paths().reasons

    @nt.function
    def inner(x):
        return hvd.allreduce(x * x, hvd.Sum)

    @nt.function
    def with_tape(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = nt.reduce_sum(inner(x))
        return tape.gradient(y, x)

    for k in range(4):
        x = np.full(3, 1.0 + k + RANK, "f")
        np.testing.assert_allclose(with_tape(nt.constant(x)).numpy(), 2 * x * SIZE)
        with nt.GradientTape() as tape:
            x = nt.constant(x)
            tape.watch(x)
            y = nt.reduce_sum(inner(x))
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * x.numpy() * SIZE)


def check_tape():
    v = nt.Variable(np.ones((4, 3), "f"), name="v")
    w = nt.Variable([1.0, 2.0], name="w")
    table = nt.Variable(np.zeros((6, 2), "f"), name="table")
    unused = nt.Variable(0.0)

    def gradients(x):
        with nt.GradientTape() as tape:
            rows = nt.gather(table, [RANK, 0]) + 1.0
            loss = nt.reduce_sum(v * x) + nt.reduce_sum(w * x) + nt.reduce_sum(rows * x)
        tape = hvd.DistributedGradientTape(tape, hvd.Sum, bucket_bytes=16)
        return tape.gradient(loss, {"v": v, "w": w, "table": table, "none": unused})

    recorded = nt.function(gradients)
    for run in (gradients, recorded):
        for k in range(4):
            found = run(nt.constant(RANK + 1.0 + k))
            total = sum(rank + 1.0 + k for rank in range(SIZE))
            np.testing.assert_allclose(found["v"].numpy(), np.full((4, 3), total))
            np.testing.assert_allclose(found["w"].numpy(), [total, total])
            dense = np.zeros((6, 2))
            for rank in range(SIZE):
                np.add.at(dense, [rank, 0], rank + 1.0 + k)
            np.testing.assert_allclose(nt.convert_to_tensor(found["table"]).numpy(), dense)
            assert found["none"] is None
    assert not recorded.paths().reasons, recorded.paths()
    with nt.GradientTape() as tape:
        loss = nt.reduce_sum(w * w)
    assert hvd.DistributedGradientTape(tape).gradient(loss, w).numpy().tolist() == [2.0, 4.0]
    w.assign([float(RANK), 2.0])
    hvd.broadcast_variables([v, w], root_rank=1)
    assert w.numpy().tolist() == [1.0, 2.0]


def check_optimizer():
    v = nt.Variable([1.0, 2.0])
    sgd = nt.keras.optimizers.SGD(1.0, global_clipnorm=1e9)
    sgd = hvd.DistributedOptimizer(sgd, backward_passes_per_step=2)
    run = nt.function(lambda g: sgd.apply_gradients([(g, v)]))
    for k in range(8):
        run(nt.constant([RANK + 1.0, float(k)]))
        if k == 0:
            assert v.numpy().tolist() == [1.0, 2.0]
    mean = (SIZE + 1) / 2
    np.testing.assert_allclose(v.numpy(), [1.0 - 4 * mean, 2.0 - (0.5 + 2.5 + 4.5 + 6.5)])
    assert not run.paths().reasons, run.paths()
    raises(ValueError, "gradient_accumulation_steps=2", hvd.DistributedOptimizer, sgd)
    w = nt.Variable([1.0], name="w")
    plain = hvd.DistributedOptimizer(nt.keras.optimizers.SGD(1.0), op=hvd.Sum)
    plain.apply_gradients([(nt.constant([1.0]), w)])
    assert w.numpy() == [1.0 - SIZE]


def check_shards():
    numbers = nt.data.Dataset.range(3 * SIZE + 1)
    rows = [x.numpy().tolist() for x in hvd.shard(numbers.batch(SIZE + 1, drop_remainder=True))]
    assert rows == [[k + RANK] for k in range(0, 2 * SIZE, SIZE + 1)]
    shuffled = hvd.shard(np.arange(4 * SIZE), 2 * SIZE, shuffle=True)
    if RANK == 0:
        next(iter(shuffled))  # a look at a batch is not an epoch
    seen = hvd.allgather(nt.concat(list(shuffled), 0)).numpy()
    assert sorted(seen) == list(range(4 * SIZE))
    short = hvd.shard(numbers.batch(3 * SIZE))
    raises(nt.errors.InvalidArgumentError, "1 rows for", list, short)
    pairs = {"x": np.arange(5 * SIZE), "y": np.arange(5.0 * SIZE)}
    for shuffle in (False, True):
        data = hvd.shard(pairs, 2 * SIZE, shuffle=shuffle, seed=3)
        assert len(data) == 3
        for epoch in range(2):
            mine = np.concatenate([batch["x"].numpy() for batch in data])
            assert len(mine) == 5
            everything = np.sort(hvd.allgather(nt.constant(mine)).numpy())
            assert everything.tolist() == list(range(5 * SIZE))
            again = hvd.shard(pairs, 2 * SIZE, shuffle=shuffle, seed=3, initial_epoch=epoch)
            np.testing.assert_array_equal(mine, np.concatenate([b["x"].numpy() for b in again]))


def check_errors():
    """Errors that the program catches leave the ranks in step."""
    x = nt.constant([1.0])

    @nt.function
    def checked(x, y):
        total = hvd.allreduce(x / y, hvd.Sum)
        return nt.reduce_sum(nt.debugging.check_numerics(total, "bad"))

    for k in range(8):
        zero = k in (3, 4) and RANK == 0
        try:
            found = float(checked(x + float(k), nt.constant(0.0 if zero else 1.0)))
        except nt.errors.InvalidArgumentError:
            assert k in (3, 4)
        else:
            assert found == SIZE * (k + 1.0), (k, found)

    @nt.function
    def asserted(x):  # raises in its first call, on one rank, before the collective is needed
        total = hvd.allreduce(x, hvd.Sum)
        nt.debugging.assert_less(x, SIZE - 0.5)
        return total

    @nt.function
    def raised(x):
        if float(x) < 0.0:
            x = -x
        total = hvd.allreduce(x, hvd.Sum)
        if RANK == 0:
            raise KeyError
        return total

    for function, failing in ((asserted, SIZE - 1), (raised, 0), (raised, 0)):
        try:
            found = float(function(nt.constant(RANK + 1.0)))
        except (KeyError, nt.errors.InvalidArgumentError):
            assert RANK == failing
        else:
            assert found == SIZE * (SIZE + 1) / 2
        found = hvd.allreduce(nt.constant(10.0 * RANK), hvd.Sum).numpy()
        assert found == 5.0 * SIZE * (SIZE - 1), (function, found)

    state = {"calls": 0}

    @nt.function
    def counted(x):  # not replayed, but its first call is not repeated either
        state["calls"] += 1
        total = hvd.allreduce(x * float(state["calls"]), hvd.Sum)
        if total[0] > 0.0:
            x = x * 2.0
        hvd.barrier()
        return hvd.allreduce(x + nt.random.normal(()) * 0.0, hvd.Sum)

    for k in range(3):
        assert counted(x).numpy() == [2.0 * SIZE]
        assert state["calls"] == k + 1
    try:
        hvd.allreduce(nt.gather(x, [7]))
    except nt.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError("no error")
    assert hvd.allreduce(x, hvd.Sum).numpy() == [SIZE]


def check_arguments():
    x = nt.constant([1.0])
    raises(ValueError, "op='Mean' is not one of", hvd.allreduce, x, "Mean")
    raises(TypeError, "use op=Sum", hvd.allreduce, nt.constant([1]))
    raises(TypeError, "bool", hvd.allreduce, nt.constant([True]), hvd.Max)
    raises(ValueError, "is not a rank", hvd.broadcast, x, SIZE)
    raises(ValueError, "compression='int8'", hvd.allreduce, x, compression="int8")
    raises(nt.errors.InvalidArgumentError, "Scalars", hvd.allgather, nt.constant(1.0))
    raises(nt.errors.InvalidArgumentError, "Scalars", hvd.reducescatter, nt.constant(1.0))
    raises(ValueError, "list of variables is empty", hvd.broadcast_variables, [])
    raises(TypeError, "Keras optimizer", hvd.DistributedOptimizer, "adam")
    raises(ValueError, "number of ranks", hvd.shard, np.ones(9), 1)
    raises(nt.errors.InvalidArgumentError, "rows", hvd.shard, (np.ones(9), np.ones(8)), SIZE)
    assert hvd.allreduce(x, hvd.Sum).numpy() == [SIZE]  # all ranks are in step


for check in (
    check_values,
    check_half_precision,
    check_derivatives,
    check_replay,
    check_tape,
    check_optimizer,
    check_shards,
    check_arguments,
    check_errors,
):
    check()
print(f"rank {RANK} of {SIZE} is done")
