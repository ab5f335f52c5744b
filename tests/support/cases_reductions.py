"""Rows of cumulative sums, segments, sorting, counts, and clipping by norm."""

import sys

import numpy as np
from op_case import ALL, FI, INTEGERS, MISSING, STOP, Case, F, listed, over

AWAY = ((0.4, 2.0),)


def running(accumulate, start):
    def reference(x, axis=0, exclusive=False, reverse=False):
        x = np.flip(x, axis) if reverse else x
        found = accumulate(x, axis).astype(x.dtype)
        if exclusive and x.shape[axis]:
            first = np.full_like(np.take(found, [0], axis), start)
            found = np.concatenate([first, np.delete(found, -1, axis)], axis)
        return np.flip(found, axis) if reverse else found

    return reference


SCANNED = [
    *over((3, 4), axis=[0, -1], exclusive=[False, True], reverse=[False, True]),
    *over((0, 2), axis=[0]),
    *over((1,)),
]

SCANS = [
    Case(
        "math.cumprod",
        running(np.multiply.accumulate, 1),
        AWAY,
        ints=((1, 3),),
        dtypes=FI,
        ulp=16,
        variants=SCANNED,
    ),
    # The first of the exclusive ones is minus infinity, without a derivative.
    Case(
        "math.cumulative_logsumexp",
        running(np.logaddexp.accumulate, -np.inf),
        ulp=8,
        variants=[v for v in SCANNED if not v[1].get("exclusive")],
        special=[
            ([[1.0, 2.0, 1000.0, 2.0]], {"exclusive": True, "reverse": reverse})
            for reverse in (False, True)
        ],
    ),
]


def segments(ufunc, missing):
    """Results for sorted ids; `missing` for empty segments."""

    def reference(x, segment_ids):
        ids = np.asarray(segment_ids)
        rows = [
            ufunc(x[ids == k]) if (ids == k).any() else np.full(x.shape[1:], missing, x.dtype)
            for k in range(max(ids, default=-1) + 1)
        ]
        return np.array(rows, x.dtype).reshape(len(rows), *x.shape[1:])

    return reference


def average(x):
    return x.mean(0) if x.dtype.kind == "f" else np.trunc(x.mean(0)).astype(x.dtype)


def scattered(ufunc, missing):
    def reference(x, segment_ids, num_segments):
        ids = np.asarray(segment_ids)
        x, ids = x.reshape(ids.size, *x.shape[ids.ndim :]), ids.ravel()
        start = missing(x.dtype) if callable(missing) else missing
        kind = "float64" if ufunc in (average_of, over_root) and x.dtype.kind != "f" else x.dtype
        rows = [
            ufunc(x[ids == k]) if (ids == k).any() else np.full(x.shape[1:], start, kind)
            for k in range(num_segments)
        ]
        return np.array(rows, kind).reshape(num_segments, *x.shape[1:])

    return reference


def average_of(x):
    return x.mean(0)


def over_root(x):
    return x.sum(0) / np.sqrt(len(x))


def lowest(dtype):
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def highest(dtype):
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


def total(x):
    return x.sum(0, dtype=x.dtype)


def product(x):
    return x.prod(0, dtype=x.dtype)


SORTED = [
    *over((5, 2), segment_ids=[[0, 0, 1, 3, 3], [0, 1, 2, 3, 4]]),
    *over((0, 2), segment_ids=[[]]),
    *over((3,), segment_ids=[np.array([1, 1, 1])]),
]
SORTED = [(s, {"segment_ids": np.array(o["segment_ids"], "int32")}) for s, o in SORTED]
# The square of the lowest number is infinite in derivatives, so every id occurs.
IDS = [np.array([2, 0, 2, -1, 1], "int64")]
FULL = [
    *over((5, 2), segment_ids=IDS, num_segments=[3]),
    *over((2, 3), segment_ids=[np.array([[0, 1, 0], [-1, 1, 0]], "int32")], num_segments=[2]),
]
MORE = [
    *over((5, 2), segment_ids=IDS, num_segments=[4]),
    *over((0, 2), segment_ids=[np.zeros(0, "int32")], num_segments=[2]),
    *FULL,
]

SEGMENTS = [
    Case("math.segment_sum", segments(total, 0), dtypes=FI, ulp=4, variants=SORTED),
    Case("math.segment_mean", segments(average, 0), dtypes=FI, ulp=4, variants=SORTED),
    Case("math.segment_max", segments(lambda x: x.max(0), 0), dtypes=FI, ulp=0, variants=SORTED),
    Case("math.segment_min", segments(lambda x: x.min(0), 0), dtypes=FI, ulp=0, variants=SORTED),
    Case("math.segment_prod", segments(product, 1), AWAY, dtypes=FI, ulp=8, variants=SORTED),
    Case("math.unsorted_segment_sum", scattered(total, 0), dtypes=FI, ulp=4, variants=MORE),
    Case("math.unsorted_segment_mean", scattered(average_of, 0), dtypes=F, ulp=4, variants=MORE),
    Case("math.unsorted_segment_sqrt_n", scattered(over_root, 0), ulp=4, variants=MORE),
    Case(
        "math.unsorted_segment_max",
        scattered(lambda x: x.max(0), lowest),
        dtypes=FI,
        ulp=0,
        variants=FULL,
    ),
    Case(
        "math.unsorted_segment_min",
        scattered(lambda x: x.min(0), highest),
        dtypes=FI,
        ulp=0,
        variants=FULL,
    ),
    Case(
        "math.unsorted_segment_prod", scattered(product, 1), AWAY, dtypes=FI, ulp=8, variants=MORE
    ),
]


PLACES = [[0, 1], [0, 3], [2, 0], [2, 3]]


def sparse_product(function, values, dense, **options):
    tf = sys.modules[function.__module__.partition(".")[0]]
    return function(tf.SparseTensor(PLACES, values, [3, 4]), dense, **options)


def product_of_matrices(values, dense, adjoint_a=False):
    matrix = np.zeros((3, 4), values.dtype)
    matrix[tuple(np.transpose(PLACES))] = values
    return (matrix.T if adjoint_a else matrix) @ dense


SEGMENTS.append(
    Case(
        "sparse.sparse_dense_matmul",
        product_of_matrices,
        ((-2.0, 2.0), (-2.0, 2.0)),
        variants=[(((4,), (4, 2)), {}), (((4,), (3, 2)), {"adjoint_a": True})],
        call=sparse_product,
        ulp=4,
    )
)


def falling(x, axis=-1):
    """Indices in descending order, stable for equal elements."""
    n = x.shape[axis] - 1
    return np.flip(n - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def largest(x, k=1):
    at = falling(x)[..., :k]
    return [np.take_along_axis(x, at, -1), at.astype("int32")]


def ordered(x, axis=-1, direction="ASCENDING"):
    found = np.sort(x, axis)
    return found if direction == "ASCENDING" else np.flip(found, axis)


def places(x, axis=-1, direction="ASCENDING"):
    at = np.argsort(x, axis, kind="stable") if direction == "ASCENDING" else falling(x, axis)
    return at.astype("int32")


def among(x, targets, k):
    mine = x[np.arange(len(x)), targets][:, None]
    return (x > mine).sum(1) < k


def bounds(x, values, side="left"):
    return np.array([np.searchsorted(a, b, side) for a, b in zip(x, values, strict=True)], "int32")


def decreasing_fit(x):
    """The nearest decreasing sequences by their minimax formula: the least maximum of means."""
    if x.ndim > 1:
        return np.reshape([decreasing_fit(row) for row in x], x.shape).astype(x.dtype)
    n = len(x)
    means = {(j, k): x[j : k + 1].mean() for j in range(n) for k in range(j, n)}
    return np.array(
        [min(max(means[j, k] for k in range(i, n)) for j in range(i + 1)) for i in range(n)],
        x.dtype,
    )


DIRECTIONS = {"direction": ["ASCENDING", "DESCENDING"]}
SORTS = [
    Case(
        "math.top_k",
        lambda x, k: largest(x, k)[0],
        dtypes=FI,
        ulp=0,
        call=lambda f, x, k: f(x, k).values,
        variants=over((2, 5), (7,), k=[1, 3]) + over((0, 3), k=[0, 2]),
    ),
    Case(
        "nn.top_k",
        lambda x, k: largest(x, k)[1],
        dtypes=FI,
        ulp=0,
        order=STOP,
        call=lambda f, x, k: f(x, k).indices,
        variants=over((2, 5), k=[3]),
    ),
    Case(
        "sort",
        ordered,
        dtypes=FI,
        ulp=0,
        variants=over((2, 3, 4), axis=[0, 1, -1], **DIRECTIONS) + over((5,), (0, 3)),
    ),
    Case(
        "argsort",
        places,
        dtypes=FI,
        order=STOP,
        variants=over((2, 3, 4), axis=[0, 1, -1], **DIRECTIONS) + over((5,), (0, 3)),
    ),
    Case(
        "math.in_top_k",
        among,
        dtypes=("float32",),
        order=MISSING,
        call=lambda f, x, targets, k: f(targets, x, k),
        variants=over((3, 4), targets=[np.array([0, 3, 1])], k=[1, 2]),
    ),
    Case(
        "nn.isotonic_regression",
        decreasing_fit,
        ulp=4,
        call=lambda f, x: f(x).output,
        variants=over((2, 5), (7,), (0, 3)),
    ),
    Case(
        "searchsorted",
        lambda x, values, **o: bounds(np.sort(x), values, **o),
        ((-2.0, 2.0),) * 2,
        dtypes=FI,
        order=STOP,
        call=lambda f, x, values, **o: f(np.sort(np.asarray(x)), values, **o),
        variants=over(((2, 5), (2, 3)), ((1, 4), (1, 1)), side=["left", "right"]),
    ),
]


def counted(x, size=21):
    return np.bincount(x.ravel().astype("int64"), minlength=size).astype("int32")


def bins(x, value_range, nbins):
    low, high = value_range
    place = np.floor((x.astype("float64") - low) / (high - low) * nbins)
    return np.clip(place, 0, nbins - 1).astype("int32")


def confused(weights, labels, predictions):
    found = np.zeros((3, 3), weights.dtype)
    np.add.at(found, (labels, predictions), weights)
    return found


def different(x):
    seen = list(dict.fromkeys(x.tolist()))
    place = np.array([seen.index(v) for v in x.tolist()], "int32")
    return [np.array(seen, x.dtype), place]


NATURAL = ((0, 20),)
COUNTS = [
    Case(
        "math.bincount",
        counted,
        ints=NATURAL,
        dtypes=INTEGERS,
        order=STOP,
        call=lambda f, x: f(x, minlength=21, maxlength=21),
        variants=over((5,), (2, 3)),
    ),
    Case(
        "math.bincount",
        lambda w: np.bincount([1, 0, 1], w, 3).astype(w.dtype),
        order=MISSING,
        call=lambda f, w: f([1, 0, 1], weights=w, minlength=3),
        ulp=2,
        dtypes=(*F, "int32", "int64"),
        variants=over((3,)),
    ),
    Case(
        "histogram_fixed_width",
        lambda x, value_range, nbins: counted(bins(x, value_range, nbins), nbins),
        order=MISSING,
        variants=over((9,), (2, 3), value_range=[[-1.0, 1.5]], nbins=[5]),
    ),
    Case(
        "histogram_fixed_width_bins",
        bins,
        order=STOP,
        variants=over((9,), (2, 3), value_range=[[-1.0, 1.5]], nbins=[5]),
    ),
    Case(
        "math.confusion_matrix",
        confused,
        ulp=4,
        call=lambda f, w, labels, predictions: f(
            labels, predictions, weights=w, dtype=w.dtype, num_classes=3
        ),
        variants=over((4,), labels=[[0, 2, 2, 1]], predictions=[[0, 1, 1, 2]]),
    ),
    Case(
        "unique",
        different,
        dtypes=ALL,
        ulp=0,
        order=MISSING,
        call=lambda f, x: list(f(x)),
        variants=over((6,)),
    ),
    Case(
        "unique_with_counts",
        lambda x: [*different(x), np.bincount(different(x)[1]).astype("int32")],
        dtypes=ALL,
        ulp=0,
        order=MISSING,
        call=lambda f, x: list(f(x)),
        variants=over((6,)),
    ),
    Case(
        "math.count_nonzero",
        lambda x, axis=None, keepdims=False: np.sum(x != 0, axis, "int64", keepdims=keepdims),
        ints=((0, 2),),
        dtypes=ALL,
        order=STOP,
        variants=over((3, 4), axis=[None, 0, (0, 1)], keepdims=[False, True]),
    ),
    Case(
        "math.zero_fraction",
        lambda x: np.float32(np.mean(x == 0)),
        ints=((0, 2),),
        dtypes=ALL,
        ulp=0,
        order=STOP,
        variants=over((3, 4), ()),
    ),
]


def normalized(x, axis=None, epsilon=1e-12):
    return x / np.sqrt(np.maximum(np.square(x).sum(axis, keepdims=True), epsilon))


def shortened(x, clip_norm, axes=None):
    length = np.sqrt(np.square(x).sum(axes, keepdims=True))
    return x * clip_norm / np.maximum(length, clip_norm)


def together(*xs):
    return np.sqrt(sum(np.square(x).sum() for x in xs))


def shortened_together(*xs, clip_norm):
    length = together(*xs)
    scale = clip_norm * min(1 / length, 1 / clip_norm)
    return [*(x * scale for x in xs), length]


def weighted(x, w, axes, keepdims=False):
    w = w + 0 * x
    mean = (w * x).sum(axes, keepdims=True) / w.sum(axes, keepdims=True)
    variance = (w * np.square(x - mean)).sum(axes, keepdims=True) / w.sum(axes, keepdims=True)
    if keepdims:
        return [mean, variance]
    return [mean.squeeze(axes), variance.squeeze(axes)]


def sums(x, axes, shift=0.0):
    return [
        np.array(np.size(x) / np.size(x.sum(axes)), x.dtype),
        (x - shift).sum(axes),
        np.square(x - shift).sum(axes),
    ]


def clipped(function, *xs, **options):
    found, length = function(list(xs), **options)
    return [*found, length]


PAIR = ((-2.0, 2.0), (-2.0, 2.0))
TAKEN = [*over((3, 4), axis=[None, 0, 1, (0, 1)], keepdims=[False, True]), *over((2,))]
NORMS = [
    Case(
        "math.reduce_euclidean_norm",
        lambda x, axis=None, keepdims=False: np.sqrt(
            np.sum(
                x * x if x.dtype.kind == "f" else np.square(x, dtype="float64"),
                axis,
                keepdims=keepdims,
            )
        ).astype(x.dtype),
        ulp=4,
        dtypes=FI,
        variants=TAKEN,
    ),
    Case(
        "math.l2_normalize",
        normalized,
        ulp=8,
        variants=over((3, 4), axis=[None, 0, (0, 1)], epsilon=[1e-12, 4.0]),
    ),
    Case(
        "clip_by_norm",
        shortened,
        ulp=8,
        variants=over((3, 4), clip_norm=[2.0, 100.0], axes=[None, 1]),
    ),
    Case(
        "linalg.global_norm",
        together,
        PAIR,
        ulp=8,
        call=listed,
        variants=over(((3,), (2, 2)), ((2,),)),
    ),
    Case(
        "clip_by_global_norm",
        shortened_together,
        PAIR,
        ulp=8,
        call=clipped,
        variants=over(((3,), (2, 2)), clip_norm=[1.0, 100.0]),
    ),
    Case(
        "add_n",
        lambda *xs: sum(xs[1:], xs[0]).astype(xs[0].dtype),
        PAIR,
        dtypes=FI,
        call=listed,
        ulp=4,
        variants=over(((2, 3),), ((2, 3), (2, 3), (2, 3))),
    ),
    Case(
        "math.accumulate_n",
        lambda *xs: sum(xs[1:], xs[0]).astype(xs[0].dtype),
        PAIR,
        dtypes=FI,
        call=listed,
        ulp=4,
        variants=over(((2, 3), (2, 3))),
    ),
    Case(
        "nn.weighted_moments",
        weighted,
        ((-2.0, 2.0), (0.5, 2.0)),
        ulp=32,
        call=lambda f, x, w, axes, **o: list(f(x, axes, w, **o)),
        variants=over(((3, 4), (3, 1)), axes=[(0,), (0, 1)], keepdims=[False, True]),
    ),
    Case(
        "nn.sufficient_statistics",
        sums,
        ulp=16,
        call=lambda f, x, **o: list(f(x, **o))[:3],
        variants=over((3, 4), axes=[(0,), (0, 1)]) + over((3, 4), axes=[(1,)], shift=[0.5]),
    ),
    Case(
        "nn.normalize_moments",
        lambda m, v: [m / 4, v / 4 - np.square(m / 4)],
        PAIR,
        ulp=16,
        call=lambda f, m, v: list(f(np.ones_like(m) * 4, m, v, None)),
        variants=over(((3,), (3,))),
    ),
]

CASES = [*SCANS, *SEGMENTS, *SORTS, *COUNTS, *NORMS]
