"""Rows of ops that index, scatter and rearrange."""

from functools import partial

import numpy as np
from op_case import ALL, FI, INTEGERS, MISSING, STOP, Case, F, listed, over

TWO = ((-2.0, 2.0),) * 2
move = partial(Case, dtypes=ALL, ulp=0)


def nd(x, indices, batch_dims=0):
    if batch_dims:
        return np.stack([nd(a, b, batch_dims - 1) for a, b in zip(x, indices, strict=True)])
    return x[tuple(np.moveaxis(np.asarray(indices), -1, 0))]


def at_tuples(ufunc):
    def reference(x, updates, indices):
        found, where = x.copy(), tuple(np.moveaxis(np.asarray(indices), -1, 0))
        if ufunc is None:
            found[where] = updates
        else:
            ufunc.at(found, where, updates)
        return found

    return reference


def scattered(updates, indices, shape):
    found = np.zeros(shape, updates.dtype)
    np.add.at(found, tuple(np.moveaxis(np.asarray(indices), -1, 0)), updates)
    return found


def to_depth(x, block_size):
    n, h, w, c = x.shape
    b = block_size
    found = np.empty((n, h // b, w // b, b * b * c), x.dtype)
    for i in range(b):
        for j in range(b):
            found[..., (i * b + j) * c : (i * b + j + 1) * c] = x[:, i::b, j::b]
    return found


def to_space(x, block_size):
    n, h, w, c = x.shape
    b = block_size
    c //= b * b
    found = np.empty((n, h * b, w * b, c), x.dtype)
    for i in range(b):
        for j in range(b):
            found[:, i::b, j::b] = x[..., (i * b + j) * c : (i * b + j + 1) * c]
    return found


def to_batch(x, block_shape, paddings):
    x = np.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - 1 - len(paddings))])
    return np.concatenate(
        [
            x[(slice(None), *(slice(k, None, b) for k, b in zip(at, block_shape, strict=True)))]
            for at in np.ndindex(*block_shape)
        ]
    )


def from_batch(x, block_shape, crops):
    count = int(np.prod(block_shape))
    n = len(x) // count
    whole = [d * b for d, b in zip(x.shape[1:], block_shape, strict=False)]
    found = np.empty((n, *whole, *x.shape[1 + len(whole) :]), x.dtype)
    for k, at in enumerate(np.ndindex(*block_shape)):
        key = (slice(None), *(slice(j, None, b) for j, b in zip(at, block_shape, strict=True)))
        found[key] = x[k * n : (k + 1) * n]
    return found[(slice(None), *(slice(a, d - b) for d, (a, b) in zip(whole, crops, strict=True)))]


def patches(x, sizes, strides, rates, padding):
    _, kh, kw, _ = sizes
    (sh, sw), (rh, rw) = strides[1:3], rates[1:3]
    n, h, w, _ = x.shape
    reach = (kh - 1) * rh + 1, (kw - 1) * rw + 1
    if padding == "SAME":
        rows, columns = -(-h // sh), -(-w // sw)
        more = [
            max((o - 1) * s + r - d, 0)
            for o, s, r, d in zip((rows, columns), (sh, sw), reach, (h, w), strict=True)
        ]
        x = np.pad(x, [(0, 0), *((m // 2, m - m // 2) for m in more), (0, 0)])
    else:
        rows, columns = (h - reach[0]) // sh + 1, (w - reach[1]) // sw + 1
    found = [
        [
            x[:, i * sh : i * sh + reach[0] : rh, j * sw : j * sw + reach[1] : rw].reshape(n, -1)
            for j in range(columns)
        ]
        for i in range(rows)
    ]
    return np.moveaxis(np.array(found), 2, 0)


def stitched(*xs, indices):
    found = np.zeros((max(np.max(i) for i in indices) + 1, *xs[0].shape[1:]), xs[0].dtype)
    for i, x in zip(indices, xs, strict=True):
        found[np.asarray(i)] = x
    return found


def reversed_parts(x, seq_lengths, seq_axis, batch_axis=0):
    found = np.moveaxis(x, (batch_axis, seq_axis), (0, 1)).copy()
    for row, length in zip(found, seq_lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(found, (0, 1), (batch_axis, seq_axis))


def bits(x, type):
    size = np.dtype(type).itemsize
    if size > x.itemsize:
        return np.ascontiguousarray(x).view(type)[..., 0]
    found = np.ascontiguousarray(x)[..., None].view(type)
    return found[..., 0] if size == x.itemsize else found


AT = [[0, 2], [1, 1], [0, 2]]  # of (2, 3)
ONCE = [[0, 2], [1, 1]]

CASES = [
    move(
        "gather_nd",
        nd,
        variants=[
            *over(
                (2, 3), indices=[AT, [[1], [0]], [[[1, 0]], [[0, 1]]], np.zeros((0, 2), "int64")]
            ),
            *over((2, 3, 2), indices=[[[2], [0]]], batch_dims=[1]),
        ],
    ),
    move(
        "scatter_nd",
        scattered,
        dtypes=FI,
        call=lambda f, x, indices, shape: f(indices, x, shape),
        variants=[
            *over((3,), indices=[AT], shape=[(2, 3)]),
            *over((2, 3), indices=[[[1], [1]]], shape=[(4, 3)]),
        ],
    ),
    move(
        "tensor_scatter_nd_add",
        at_tuples(np.add),
        TWO,
        dtypes=FI,
        call=lambda f, x, u, indices: f(x, indices, u),
        variants=over(((2, 3), (3,)), indices=[AT]) + over(((2, 3), (2, 3)), indices=[[[1], [0]]]),
    ),
    move(
        "tensor_scatter_nd_sub",
        at_tuples(np.subtract),
        TWO,
        dtypes=FI,
        call=lambda f, x, u, indices: f(x, indices, u),
        variants=over(((2, 3), (3,)), indices=[AT]),
    ),
    *(
        move(
            f"tensor_scatter_nd_{name}",
            at_tuples(f),
            TWO,
            dtypes=FI,
            call=lambda f, x, u, indices: f(x, indices, u),
            variants=over(((2, 3), (2,)), indices=[ONCE]),
        )
        for name, f in (("max", np.maximum), ("min", np.minimum), ("update", None))
    ),
    move(
        "nn.embedding_lookup",
        lambda x, ids: x[np.asarray(ids)],
        dtypes=F,
        variants=over((4, 2), ids=[[[0, 3], [3, 1]]]) + over((3,), ids=[1]),
    ),
    move(
        "roll",
        np.roll,
        variants=over((4, 6), shift=[1, -9], axis=[0, -1])
        + over((4, 6), shift=[(1, 2, 3)], axis=[(0, 1, 0)])
        + over((0, 2), shift=[1], axis=[0]),
    ),
    move(
        "reverse_sequence",
        reversed_parts,
        variants=over((2, 4), seq_lengths=[[3, 0]], seq_axis=[1])
        + over((4, 3, 2), seq_lengths=[[1, 4]], seq_axis=[0], batch_axis=[2]),
    ),
    move(
        "meshgrid",
        lambda *xs, indexing="xy": list(np.meshgrid(*xs, indexing=indexing)),
        TWO,
        variants=over(((3,), (2,)), indexing=["xy", "ij"]) + over(((2,), (), (3,)), ((0,), (2,))),
    ),
    Case(
        "sequence_mask",
        lambda x, maxlen=None: (
            np.arange(x.max(initial=0) if maxlen is None else maxlen) < x[..., None]
        ),
        ints=((0, 5),),
        dtypes=INTEGERS,
        ulp=0,
        order=STOP,
        variants=over((3,), (2, 2), maxlen=[4, 6]),
    ),
    move("nn.space_to_depth", to_depth, variants=over((2, 4, 2, 3), block_size=[2])),
    move("nn.depth_to_space", to_space, variants=over((2, 2, 1, 8), block_size=[2])),
    *(
        move(
            name,
            to_batch,
            variants=over((1, 3, 4, 2), block_shape=[(2, 2)], paddings=[[(1, 0), (0, 0)]])
            + over((2, 3), block_shape=[(3,)], paddings=[[(0, 0)]]),
        )
        for name in ("space_to_batch", "space_to_batch_nd")
    ),
    move(
        "batch_to_space",
        from_batch,
        variants=over(
            (4, 2, 2, 1), block_shape=[(2, 2)], crops=[[(1, 0), (0, 2)], [(0, 0), (0, 0)]]
        ),
    ),
    move(
        "image.extract_patches",
        patches,
        variants=over(
            (1, 5, 4, 2),
            sizes=[(1, 2, 3, 1)],
            strides=[(1, 2, 1, 1)],
            rates=[(1, 1, 1, 1)],
            padding=["VALID", "SAME"],
        )
        + over(
            (2, 5, 5, 1),
            sizes=[(1, 2, 2, 1)],
            strides=[(1, 1, 2, 1)],
            rates=[(1, 2, 2, 1)],
            padding=["SAME"],
        ),
    ),
    move(
        "dynamic_partition",
        lambda x, partitions, num_partitions: [
            x[np.asarray(partitions) == k] for k in range(num_partitions)
        ],
        variants=over((4, 2), partitions=[[1, 0, 1, 1]], num_partitions=[3]),
    ),
    move(
        "dynamic_stitch",
        stitched,
        TWO,
        call=lambda f, *xs, indices: f(indices, list(xs)),
        variants=over(((2, 3), (2, 3)), indices=[[[0, 3], [1, 2]], [[0, 4], [2, 0]]]),
    ),
    move(
        "identity_n",
        lambda *xs: list(map(np.copy, xs)),
        TWO,
        call=listed,
        variants=over(((2,), (3, 2))),
    ),
    move("parallel_stack", lambda *xs: np.stack(xs), TWO, call=listed, variants=over(((2,), (2,)))),
    move("guarantee_const", np.copy, variants=over((2, 3), ()), order=MISSING),
    move("ensure_shape", lambda x, shape: x, variants=over((2, 3), shape=[(2, None)])),
    move(
        "strided_slice",
        lambda x, begin, end, strides: x[tuple(map(slice, begin, end, strides))],
        variants=over((4, 6), begin=[(1, -1)], end=[(4, 0)], strides=[(2, -2)]),
    ),
    move(
        "bitcast",
        bits,
        dtypes=F,
        order=MISSING,
        variants=over((2, 2), (3,), type=["int32", "uint8"]) + over((3, 2), type=["int64"]),
    ),
    Case(
        "unravel_index",
        lambda x, dims: np.array(np.unravel_index(x, dims)).astype(x.dtype),
        ints=((0, 5),),
        dtypes=("int32",),
        ulp=0,
        order=STOP,
        variants=over((4,), dims=[(2, 3)]),
    ),
    Case(
        "math.invert_permutation",
        lambda x: np.argsort(x).astype(x.dtype),
        ints=((0, 0),),
        dtypes=("int32", "int64"),
        ulp=0,
        order=STOP,
        variants=over((1,), (0,)),
    ),
    move(
        "shape_n",
        lambda *xs: [np.array(x.shape, "int32") for x in xs],
        TWO,
        call=listed,
        order=STOP,
        variants=over(((2, 3), ())),
    ),
    Case(
        "broadcast_dynamic_shape",
        lambda x, y: np.maximum(x, y),
        ints=((2, 2), (1, 1)),
        dtypes=("int32", "int64"),
        ulp=0,
        order=STOP,
        variants=over(((2,), (2,))),
    ),
]

# Functions of shapes: covered by tests/parity/test_arrays_parity.py and docstring examples.
MAKERS = {
    "broadcast_static_shape",
    "embedding_lookup_sparse",
    "required_space_to_batch_paddings",
    "safe_embedding_lookup_sparse",
}
