"""Rows for convolutions, pooling, losses and normalization."""

import itertools
from functools import partial

import numpy as np
from op_case import Case, F, over

TWO = ((-2.0, 2.0),) * 2


# Elementwise references of convolution and pooling, independent of the ops.


def spread(value, rank):
    return (
        (value,) * rank
        if isinstance(value, int)
        else tuple(value)[-rank - 1 : -1]
        if len(value) == rank + 2
        else tuple(value)
    )


def around(x, kernel, strides, dilations, padding, fill=0):
    """The padded input, and the number of windows."""
    pads, counts = [], []
    for n, k, s, d in zip(x.shape[1:-1], kernel, strides, dilations, strict=True):
        width = (k - 1) * d + 1
        if padding == "SAME":
            count = -(-n // s)
            total = max((count - 1) * s + width - n, 0)
            pads.append((total // 2, total - total // 2))
        else:
            pads.append((0, 0) if padding == "VALID" else tuple(padding[len(pads) + 1]))
            count = (n + sum(pads[-1]) - width) // s + 1
        counts.append(count)
    return np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill), counts


def meeting(x, kernel, strides, dilations, padding, fill=0):
    """Yields each window's position and its elements: (batch, *kernel, channels)."""
    x, counts = around(x, kernel, strides, dilations, padding, fill)
    for at in itertools.product(*map(range, counts)):
        cut = tuple(
            slice(a * s, a * s + (k - 1) * d + 1, d)
            for a, s, k, d in zip(at, strides, kernel, dilations, strict=True)
        )
        yield at, counts, x[:, *cut]


def convolved(x, w, strides=1, padding="VALID", dilations=1):
    rank, groups = w.ndim - 2, x.shape[-1] // w.shape[-2]
    strides, dilations = spread(strides, rank), spread(dilations, rank)
    found = None
    for at, counts, window in meeting(x, w.shape[:-2], strides, dilations, padding):
        if found is None:
            found = np.zeros((len(x), *counts, w.shape[-1]), x.dtype)
        few, each = w.shape[-2], w.shape[-1] // groups
        for g in range(groups):
            part, taps = window[..., g * few : (g + 1) * few], w[..., g * each : (g + 1) * each]
            found[:, *at, g * each : (g + 1) * each] = np.tensordot(part, taps, rank + 1)
    return found


def depthwise(x, w, strides, padding, dilations=1):
    return convolved(x, w.reshape(*w.shape[:2], 1, -1), strides, padding, dilations)


def transposed(g, w, output_shape, strides, padding="SAME", dilations=1):
    """A transposed convolution, as the transposed matrix of the convolution."""
    size = int(np.prod(output_shape[1:]))
    basis = np.eye(size).reshape(size, *output_shape[1:])
    matrix = convolved(basis, w, strides, padding, dilations).reshape(size, -1)
    return (g.reshape(len(g), -1) @ matrix.T).reshape(output_shape)


def turned(function, x, *rest, data_format, **options):
    moved = np.moveaxis(x, 1, -1)
    return np.moveaxis(function(moved, *rest, **options), -1, 1)


def pooled(kind, x, ksize, strides, padding, dilations=1):
    rank = x.ndim - 2
    ksize, strides, dilations = (spread(v, rank) for v in (ksize, strides, dilations))
    found = None
    fill = -np.inf if kind == "max" else np.nan
    for at, counts, window in meeting(x, ksize, strides, dilations, padding, fill):
        if found is None:
            found = np.zeros((len(x), *counts, x.shape[-1]), x.dtype)
        axes = tuple(range(1, rank + 1))
        found[:, *at] = window.max(axes) if kind == "max" else np.nanmean(window, axes)
    return found


def pooled_of(x, window_shape, pooling_type, strides=None, padding="VALID", dilations=None):
    return pooled(pooling_type.lower(), x, window_shape, strides or 1, padding, dilations or 1)


def with_places(x, ksize, strides, padding):
    found = pooled("max", x, ksize, strides, padding)
    numbers = np.arange(x[0].size).reshape(x[0].shape)
    where = np.zeros(found.shape, np.int64)
    for n, c in itertools.product(range(len(x)), range(x.shape[-1])):
        image = {
            x[n, i, j, c]: numbers[i, j, c] for i in range(x.shape[1]) for j in range(x.shape[2])
        }
        where[n, ..., c] = np.vectorize(image.get, otypes=[np.int64])(found[n, ..., c])
    return [found, where]


conv = partial(Case, ranges=TWO, ulp=32)
LINES, SHEETS = ((1, 7, 2), (3, 2, 3)), ((2, 4, 5, 2), (3, 2, 2, 3))
EXPLICIT = [[0, 0], [1, 0], [2, 1], [0, 0]]

CONVOLUTIONS = [
    conv(
        "nn.conv1d",
        convolved,
        call=lambda f, x, w, strides, **o: f(x, w, strides, **o),
        variants=[
            *over(LINES, strides=[1, 2], padding=["SAME", "VALID"]),
            *over(LINES, strides=[1], padding=["SAME"], dilations=[2]),
        ],
    ),
    conv(
        "nn.conv2d",
        convolved,
        variants=[
            *over(SHEETS, strides=[1, (1, 2, 2, 1)], padding=["SAME", "VALID"]),
            *over(SHEETS, strides=[(2, 1)], padding=[EXPLICIT], dilations=[(1, 2)]),
            *over(((1, 3, 3, 4), (2, 2, 2, 6)), strides=[1], padding=["SAME"]),
            *over(((1, 2, 3, 3), (1, 1, 3, 2)), strides=[1, 2], padding=["VALID"]),
            *over(((2, 9, 9, 40), (3, 3, 40, 35)), strides=[1, 3], padding=["SAME"]),
        ],
    ),
    conv(
        "nn.conv2d",
        partial(turned, convolved),
        variants=over(
            ((1, 2, 4, 5), (2, 3, 2, 3)), strides=[1], padding=["SAME"], data_format=["NCHW"]
        ),
    ),
    conv(
        "nn.conv3d",
        convolved,
        variants=over(
            ((1, 3, 2, 3, 2), (2, 2, 2, 2, 1)), strides=[(1, 1, 2, 1, 1)], padding=["SAME", "VALID"]
        ),
    ),
    conv(
        "nn.convolution",
        convolved,
        variants=over(SHEETS, padding=["VALID"]) + over(SHEETS, padding=["SAME"], dilations=[2]),
    ),
    conv(
        "nn.atrous_conv2d",
        lambda x, w, rate, padding: convolved(x, w, 1, padding, rate),
        variants=over(SHEETS, rate=[2], padding=["SAME"]),
    ),
    conv(
        "nn.depthwise_conv2d",
        depthwise,
        variants=[
            *over(
                ((1, 4, 5, 3), (2, 3, 3, 2)), strides=[(1, 1, 1, 1), (1, 2, 2, 1)], padding=["SAME"]
            ),
            *over(
                ((1, 4, 5, 3), (2, 2, 3, 1)),
                strides=[(1, 1, 1, 1)],
                padding=["VALID"],
                dilations=[(2, 1)],
            ),
        ],
    ),
    conv(
        "nn.separable_conv2d",
        lambda x, w, p, strides, padding: convolved(depthwise(x, w, strides, padding), p),
        ranges=((-2.0, 2.0),) * 3,
        variants=over(
            ((1, 3, 4, 2), (2, 2, 2, 2), (1, 1, 4, 3)), strides=[(1, 2, 2, 1)], padding=["SAME"]
        ),
    ),
    conv(
        "nn.conv1d_transpose",
        transposed,
        variants=over(
            ((1, 4, 3), (3, 2, 3)), output_shape=[(1, 7, 2)], strides=[2], padding=["SAME"]
        ),
    ),
    conv(
        "nn.conv2d_transpose",
        transposed,
        variants=[
            *over(
                ((1, 2, 3, 2), (3, 2, 3, 2)),
                output_shape=[(1, 3, 6, 3)],
                strides=[2],
                padding=["SAME"],
            ),
            *over(
                ((1, 2, 3, 2), (2, 3, 1, 2)),
                output_shape=[(1, 3, 9, 1)],
                strides=[(1, 3)],
                padding=["VALID"],
            ),
        ],
    ),
    conv(
        "nn.conv3d_transpose",
        transposed,
        variants=over(
            ((1, 1, 2, 2, 2), (2, 2, 1, 1, 2)),
            output_shape=[(1, 2, 4, 2, 1)],
            strides=[(1, 2, 2, 1, 1)],
        ),
    ),
    conv(
        "nn.conv_transpose",
        transposed,
        variants=over(((1, 2, 2), (3, 2, 2)), output_shape=[(1, 4, 2)], strides=[2]),
    ),
    conv(
        "nn.atrous_conv2d_transpose",
        lambda g, w, output_shape, rate, padding: transposed(g, w, output_shape, 1, padding, rate),
        variants=over(
            ((1, 2, 2, 2), (2, 2, 1, 2)), output_shape=[(1, 4, 4, 1)], rate=[2], padding=["VALID"]
        ),
    ),
]

SQUARES = [*over((2, 4, 5, 3), ksize=[2, (1, 3, 2, 1)], strides=[1, 2], padding=["SAME", "VALID"])]
pools = [("max", 0), ("avg", 4)]

POOLS = [
    *(
        Case(f"nn.{kind}_pool{name}", partial(pooled, kind), ulp=ulp, variants=variants)
        for kind, ulp in pools
        for name, variants in (
            ("", SQUARES),
            ("1d", over((2, 7, 2), ksize=[3], strides=[2], padding=["SAME"])),
            ("2d", over((1, 3, 4, 2), ksize=[(2, 1)], strides=[1], padding=["VALID"])),
            ("3d", over((1, 3, 2, 3, 2), ksize=[2], strides=[(1, 2, 1)], padding=["SAME"])),
        )
    ),
    *(
        Case(
            f"nn.{kind}_pool",
            partial(turned, partial(pooled, kind)),
            ulp=ulp,
            variants=over(
                (1, 2, 3, 4), ksize=[2], strides=[1], padding=["SAME"], data_format=["NCHW"]
            ),
        )
        for kind, ulp in pools
    ),
    Case(
        "nn.max_pool",
        partial(pooled, "max"),
        ulp=0,
        variants=over(
            (1, 3, 4, 2), ksize=[2], strides=[1], padding=[[[0, 0], [1, 0], [1, 1], [0, 0]]]
        ),
    ),
    Case(
        "nn.pool",
        pooled_of,
        ulp=4,
        variants=[
            *over(
                (2, 4, 5, 3),
                window_shape=[[2, 2]],
                pooling_type=["MAX", "AVG"],
                strides=[[2, 1]],
                padding=["SAME"],
            ),
            *over((1, 5, 2), window_shape=[[2]], pooling_type=["MAX", "AVG"], dilations=[[2]]),
        ],
    ),
    Case(
        "nn.max_pool_with_argmax",
        with_places,
        ulp=0,
        order=1,
        call=lambda f, x, **o: list(f(x, **o)),
        variants=over((2, 3, 4, 2), ksize=[2], strides=[2], padding=["SAME"]),
    ),
]


# Losses and normalization.


def softplus(x):
    return np.logaddexp(0, x)


def poisson(z, x, compute_full_loss=False):
    found = np.exp(x) - x * z
    if compute_full_loss:
        stirling = z * np.log(z) - z + 0.5 * np.log(2 * np.pi * z)
        found = found + np.where(z <= 1, 0, stirling)
    return found


def normalized_near(x, depth_radius=5, bias=1, alpha=1, beta=0.5):
    padded = np.pad(x * x, [(0, 0)] * 3 + [(depth_radius, depth_radius)])
    sums = sum(padded[..., k : k + x.shape[-1]] for k in range(2 * depth_radius + 1))
    return x / (bias + alpha * sums) ** beta


def paths(logits, labels, lengths, times, blank):
    """The CTC loss as a sum over all paths."""
    x = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = []
    for k, (row, length, time) in enumerate(zip(labels, lengths, times, strict=True)):
        total = 0.0
        for path in itertools.product(range(x.shape[-1]), repeat=time):
            said = [c for t, c in enumerate(path) if c != blank and (not t or path[t - 1] != c)]
            if said == list(row[:length]):
                total += np.exp(sum(x[t, k, c] for t, c in enumerate(path)))
        losses.append(-np.log(total))
    return np.array(losses)


CTC = {"labels": [[1, 2], [2, 2]], "lengths": [2, 1], "times": [4, 3]}
# One sequence that needs three steps, and one without labels.
REPEATED = {"labels": [[1, 1], [0, 7]], "lengths": [2, 0], "times": [3, 2]}
ROWS = (3, 4)

LOSSES = [
    Case("nn.l2_loss", lambda t: 0.5 * np.sum(t * t), ulp=8, variants=over((3, 4), ())),
    Case(
        "nn.weighted_cross_entropy_with_logits",
        lambda z, x, q: q * z * softplus(-x) + (1 - z) * softplus(x),
        ((0.0, 1.0), *TWO),
        ulp=16,
        variants=over((ROWS, ROWS, ()), (ROWS, ROWS, (4,))),
    ),
    Case(
        "nn.log_poisson_loss",
        poisson,
        ((0.2, 4.0), (-2.0, 2.0)),
        ulp=16,
        variants=over((ROWS, ROWS), compute_full_loss=[False, True]),
    ),
    Case(
        "nn.bias_add",
        np.add,
        TWO,
        ints=((-9, 9),) * 2,
        dtypes=("float32", "float64", "int32"),
        variants=over(((2, 3, 4), (4,))),
    ),
    Case(
        "nn.bias_add",
        lambda x, b, data_format: x + b[:, None],
        TWO,
        variants=over(((2, 3, 4), (3,)), data_format=["NCW"]),
    ),
    Case(
        "nn.batch_normalization",
        lambda x, m, v, o, s, variance_epsilon: s * (x - m) / np.sqrt(v + variance_epsilon) + o,
        (*TWO, (0.5, 2.0), *TWO),
        ulp=16,
        variants=over((ROWS, (4,), (4,), (4,), (4,)), variance_epsilon=[0.1]),
    ),
    Case(
        "nn.local_response_normalization",
        normalized_near,
        ulp=16,
        variants=over((1, 1, 2, 4), depth_radius=[1, 5], bias=[1.5], alpha=[0.5], beta=[0.7]),
    ),
    *(
        Case(
            "nn.ctc_loss",
            partial(paths, blank=blank),
            ulp=16,
            call=lambda f, x, labels, lengths, times, blank=blank: f(
                labels, x, lengths, times, blank_index=blank
            ),
            variants=[([(4, 2, 3)], options)],
        )
        for blank, options in ((0, CTC), (0, REPEATED))
    ),
]


# Morphology.


def dilated(x, f, strides, padding, dilations):
    """Computed pixel by pixel."""
    (n, height, width, channels), (rows, columns, _) = x.shape, f.shape
    ends = []
    for dim, k, s, d in zip((height, width), (rows, columns), strides, dilations, strict=True):
        reach = (k - 1) * d + 1
        count = -(-dim // s) if padding == "SAME" else (dim - reach) // s + 1
        ends.append((count, max((count - 1) * s + reach - dim, 0) // 2))
    (down, top), (right, left) = ends
    out = np.full((n, down, right, channels), -np.inf)
    for i, j, a, b in itertools.product(*map(range, (down, right, rows, columns))):
        y, z = i * strides[0] - top + a * dilations[0], j * strides[1] - left + b * dilations[1]
        if 0 <= y < height and 0 <= z < width:
            out[:, i, j] = np.maximum(out[:, i, j], x[:, y, z] + f[a, b])
    return out.astype(x.dtype)


def eroded(x, f, strides, padding, dilations):
    return -dilated(-x, f[::-1, ::-1], strides, padding, dilations)


def slid(f, x, filters, strides, padding, dilations):
    return f(x, filters, (1, *strides, 1), padding, "NHWC", (1, *dilations, 1))


MORPHOLOGY = [
    Case(
        f"nn.{name}",
        reference,
        ((-2.0, 2.0),) * 2,
        ulp=1,
        call=slid,
        dtypes=(*F, "int32"),
        variants=over(
            ((2, 4, 3, 2), (2, 2, 2)),
            padding=["SAME", "VALID"],
            strides=[(1, 1)],
            dilations=[(1, 1), (2, 1)],
        )
        + over(
            ((1, 5, 4, 1), (3, 2, 1)),
            padding=["SAME", "VALID"],
            strides=[(2, 3)],
            dilations=[(1, 1)],
        ),
    )
    for name, reference in (("dilation2d", dilated), ("erosion2d", eroded))
]
CASES = [*CONVOLUTIONS, *POOLS, *LOSSES, *MORPHOLOGY]
