"""One row for each layer of `keras.layers`: arguments, input shapes and a NumPy formula."""

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """A layer, its arguments, and the shapes of its inputs."""

    name: str
    args: tuple = ()
    shape: Any = (2, 3)
    kwargs: dict = dataclasses.field(default_factory=dict)
    formula: Callable | None = None  # (weights, *inputs) -> output, in float64
    training: bool = False  # whether training differs other than by draws
    ints: int = 0  # inputs are ints below this bound
    call: dict = dataclasses.field(default_factory=dict)  # keyword arguments of the call
    apart: bool = False  # several inputs as arguments, not as a list
    batchless: bool = True  # whether an empty batch has an output
    is_in_keras: bool = True  # False for a layer that Keras does not have

    @property
    def shapes(self):
        return self.shape if isinstance(self.shape, list) else [self.shape]

    def __str__(self):
        said = [*map(str, self.args), *(f"{k}={v}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(said)}){self.shape}"

    def make(self, layers, **more):
        """The layer of numtape or of Keras."""
        found = getattr(layers, self.name)(*self.args, **self.kwargs, **more)
        return found

    def inputs(self, dtype="float32", batch=None):
        """Arrays for a call."""
        random = np.random.default_rng(len(self.name))
        found = []
        for shape in self.shapes:
            whole = shape if batch is None else (batch, *shape[1:])
            if self.ints:
                found.append(random.integers(0, self.ints, whole).astype("int32"))
            else:
                found.append(random.normal(size=whole).astype(dtype))
        return found

    def called(self, layer, inputs, **more):
        """The output of a layer for tensors."""
        several = isinstance(self.shape, list)
        given = inputs if self.apart else [list(inputs) if several else inputs[0]]
        return layer(*given, **self.call, **more)


def row(
    name,
    *args,
    shape=(2, 3),
    formula=None,
    training=False,
    ints=0,
    call=None,
    apart=False,
    batchless=True,
    is_in_keras=True,
    **kwargs,
):
    call = call or {}
    return Row(
        name, args, shape, kwargs, formula, training, ints, call, apart, batchless, is_in_keras
    )


# --- Formulas in NumPy ----------------------------------------------------------------------------


def conv(x, w, stride=1, rate=1, same=False):
    """A channels-last convolution by definition, as a sum over kernel positions."""
    rank = x.ndim - 2
    strides, rates = np.broadcast_to(stride, rank), np.broadcast_to(rate, rank)
    reach = [(k - 1) * r + 1 for k, r in zip(w.shape, rates, strict=False)]
    if same:
        totals = [
            max((-(-n // s) - 1) * s + e - n, 0)
            for n, s, e in zip(x.shape[1:-1], strides, reach, strict=True)
        ]
        x = np.pad(x, [(0, 0), *((t // 2, t - t // 2) for t in totals), (0, 0)])
    sizes = [(n - e) // s + 1 for n, e, s in zip(x.shape[1:-1], reach, strides, strict=True)]
    found = np.zeros((len(x), *sizes, w.shape[-1]))
    for place in np.ndindex(*w.shape[:rank]):
        cut = tuple(
            slice(p * r, p * r + (n - 1) * s + 1, s)
            for p, r, n, s in zip(place, rates, sizes, strides, strict=True)
        )
        found += x[(slice(None), *cut)] @ w[place]
    return found


def depthwise(x, w, **options):
    """A depthwise convolution, channel by channel."""
    parts = [conv(x[..., c : c + 1], w[..., c : c + 1, :], **options) for c in range(x.shape[-1])]
    return np.concatenate(parts, -1)


def pooled(x, size, function):
    """Pooling of windows that do not overlap, channels last."""
    rank = x.ndim - 2
    sizes = [n // size for n in x.shape[1:-1]]
    cut = x[(slice(None), *(slice(n * size) for n in sizes))]
    shape = [len(x)]
    for n in sizes:
        shape += [n, size]
    return function(cut.reshape(*shape, -1), axis=tuple(range(2, 2 + 2 * rank, 2)))


def normal(x, axis, epsilon=1e-3):
    mean, variance = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def heads(w, query, value):
    """Multi-head attention as in Vaswani et al. (2017), section 3.2."""
    q, k, v = (
        np.einsum("btd,dhk->bhtk", x, m) + b[:, None]
        for x, m, b in zip((query, value, value), w[0:6:2], w[1:6:2], strict=True)
    )
    weights = soft(q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1]))
    return np.einsum("bhtk,hkd->btd", weights @ v, w[6]) + w[7]


def grouped(w, x):
    parts = np.split(x, 2, -1)
    axes = tuple(range(1, x.ndim))
    return np.concatenate([normal(p, axes) for p in parts], -1) * w[0] + w[1]


def crop(x, *pairs):
    return x[(slice(None), *(slice(a, n - b) for (a, b), n in zip(pairs, x.shape[1:])))]  # noqa: B905


SEQUENCE, PICTURE, VOLUME = (2, 6, 4), (2, 6, 5, 4), (2, 3, 4, 5, 2)
PAIR = [(2, 3, 4), (2, 3, 4)]
STEPS = np.arange(12).reshape(2, 6) % 3 > 0

ROWS = [
    row("Dense", 3, formula=lambda w, x: x @ w[0] + w[1], activation="linear"),
    row(
        "Dense",
        3,
        shape=(2, 4, 3),
        activation="tanh",
        formula=lambda w, x: np.tanh(x @ w[0] + w[1]),
    ),
    row(
        "Dense",
        2,
        use_bias=False,
        kernel_regularizer="l2",
        bias_constraint="non_neg",
        formula=lambda w, x: x @ w[0],
    ),
    row(
        "EinsumDense",
        "abc,cd->abd",
        output_shape=(None, 5),
        bias_axes="d",
        shape=(2, 3, 4),
        formula=lambda w, x: x @ w[0] + w[1],
    ),
    row(
        "EinsumDense",
        "...x,xy->...y",
        output_shape=5,
        bias_axes="y",
        shape=(2, 3, 4),
        activation="relu",
        formula=lambda w, x: np.maximum(x @ w[0] + w[1], 0),
    ),
    row(
        "EinsumDense",
        "ab...,bc->ac...",
        output_shape=5,
        bias_axes="c",
        shape=(2, 4, 3),
        formula=lambda w, x: np.einsum("abz,bc->acz", x, w[0]) + w[1],
    ),
    row(
        "EinsumDense",
        "abc,cde->abde",
        output_shape=(None, 2, 5),
        bias_axes="e",
        shape=(2, 3, 4),
        formula=lambda w, x: np.einsum("abc,cde->abde", x, w[0]) + w[1],
    ),
    # Convolutions
    row("Conv1D", 3, 2, shape=SEQUENCE, formula=lambda w, x: conv(x, w[0]) + w[1]),
    row(
        "Conv1D",
        3,
        3,
        shape=SEQUENCE,
        padding="causal",
        dilation_rate=2,
        formula=lambda w, x: conv(np.pad(x, [(0, 0), (4, 0), (0, 0)]), w[0], rate=2) + w[1],
    ),
    row("Conv1D", 4, 3, shape=SEQUENCE, padding="same", groups=2, strides=2),
    row("Conv2D", 3, 3, shape=PICTURE, formula=lambda w, x: conv(x, w[0]) + w[1]),
    row(
        "Conv2D",
        3,
        (2, 3),
        shape=PICTURE,
        strides=2,
        padding="same",
        activation="relu",
        formula=lambda w, x: np.maximum(conv(x, w[0], 2, same=True) + w[1], 0),
    ),
    row(
        "Conv2D",
        2,
        2,
        shape=PICTURE,
        dilation_rate=(2, 1),
        use_bias=False,
        formula=lambda w, x: conv(x, w[0], rate=(2, 1)),
    ),
    row(
        "Conv3D",
        2,
        2,
        shape=VOLUME,
        padding="same",
        formula=lambda w, x: conv(x, w[0], same=True) + w[1],
    ),
    row("Conv1DTranspose", 3, 3, shape=SEQUENCE, strides=2),
    row("Conv1DTranspose", 3, 4, shape=SEQUENCE, strides=2, padding="same", output_padding=1),
    row("Conv2DTranspose", 3, 3, shape=PICTURE, strides=2, padding="same"),
    row(
        "Conv2DTranspose",
        3,
        2,
        shape=PICTURE,
        activation="relu",
        formula=lambda w, x: np.maximum(
            conv(np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)]), w[0][::-1, ::-1].swapaxes(-1, -2))
            + w[1],
            0,
        ),
    ),
    row("Conv2DTranspose", 2, 3, shape=PICTURE, strides=(2, 3), output_padding=(1, 0)),
    row("Conv3DTranspose", 2, 2, shape=VOLUME, strides=(1, 2, 1)),
    row(
        "DepthwiseConv1D",
        3,
        shape=SEQUENCE,
        depth_multiplier=2,
        formula=lambda w, x: depthwise(x, w[0]) + w[1],
    ),
    row(
        "DepthwiseConv1D",
        2,
        shape=SEQUENCE,
        strides=2,
        padding="same",
        formula=lambda w, x: depthwise(x, w[0], stride=2, same=True) + w[1],
    ),
    row(
        "DepthwiseConv2D",
        3,
        shape=PICTURE,
        depth_multiplier=2,
        activation="tanh",
        formula=lambda w, x: np.tanh(depthwise(x, w[0]) + w[1]),
    ),
    row(
        "DepthwiseConv2D",
        2,
        shape=PICTURE,
        padding="same",
        dilation_rate=2,
        formula=lambda w, x: depthwise(x, w[0], rate=2, same=True) + w[1],
    ),
    row(
        "SeparableConv1D",
        5,
        3,
        shape=SEQUENCE,
        depth_multiplier=2,
        formula=lambda w, x: depthwise(x, w[0]) @ w[1][0] + w[2],
    ),
    row(
        "SeparableConv2D",
        5,
        3,
        shape=PICTURE,
        strides=2,
        padding="same",
        activation="relu",
        formula=lambda w, x: np.maximum(
            depthwise(x, w[0], stride=2, same=True) @ w[1][0, 0] + w[2], 0
        ),
    ),
    # Pooling
    *(
        row(
            f"{kind}Pooling{rank}D",
            2,
            shape=shape,
            formula=lambda w, x, f=function: pooled(x, 2, f),
        )
        for kind, function in (("Max", np.max), ("Average", np.mean))
        for rank, shape in ((1, SEQUENCE), (2, PICTURE), (3, VOLUME))
    ),
    row("MaxPooling2D", (2, 3), shape=PICTURE, strides=1, padding="same"),
    row("AveragePooling1D", 3, shape=SEQUENCE, strides=2, padding="same"),
    row("AveragePooling2D", (3, 2), shape=PICTURE, strides=(1, 2), padding="same"),
    *(
        row(
            f"Global{kind}Pooling{rank}D",
            shape=shape,
            keepdims=rank == 2,
            formula=lambda w, x, f=function, k=rank: f(
                x, axis=tuple(range(1, k + 1)), keepdims=k == 2
            ),
        )
        for kind, function in (("Max", np.max), ("Average", np.mean))
        for rank, shape in ((1, SEQUENCE), (2, PICTURE), (3, VOLUME))
    ),
    row(
        "GlobalMaxPooling2D",
        shape=PICTURE,
        data_format="channels_first",
        formula=lambda w, x: x.max((2, 3)),
    ),
    row(
        "GlobalAveragePooling1D",
        shape=SEQUENCE,
        call={"mask": STEPS},
        batchless=False,
        formula=lambda w, x: np.stack(
            [part[there].mean(0) for part, there in zip(x, STEPS, strict=True)]
        ),
    ),
    # Shapes
    row("Flatten", shape=PICTURE, formula=lambda w, x: x.reshape(2, -1)),
    row(
        "Flatten",
        shape=PICTURE,
        data_format="channels_first",
        formula=lambda w, x: x.transpose(0, 2, 3, 1).reshape(2, -1),
    ),
    row("Flatten", shape=(3,), formula=lambda w, x: x[:, None]),
    row("Reshape", (2, -1), shape=(2, 3, 4), formula=lambda w, x: x.reshape(2, 2, 6)),
    row("Permute", (3, 1, 2), shape=PICTURE, formula=lambda w, x: x.transpose(0, 3, 1, 2)),
    row("RepeatVector", 3, formula=lambda w, x: np.repeat(x[:, None], 3, 1)),
    row("Cropping1D", (1, 2), shape=SEQUENCE, formula=lambda w, x: crop(x, (1, 2))),
    row(
        "Cropping2D", ((1, 0), (2, 1)), shape=PICTURE, formula=lambda w, x: crop(x, (1, 0), (2, 1))
    ),
    row(
        "Cropping2D",
        1,
        shape=PICTURE,
        data_format="channels_first",
        formula=lambda w, x: x[:, :, 1:-1, 1:-1],
    ),
    row(
        "Cropping3D", (1, 1, 2), shape=VOLUME, formula=lambda w, x: crop(x, (1, 1), (1, 1), (2, 2))
    ),
    row(
        "ZeroPadding1D",
        (1, 2),
        shape=SEQUENCE,
        formula=lambda w, x: np.pad(x, [(0, 0), (1, 2), (0, 0)]),
    ),
    row(
        "ZeroPadding2D",
        (1, 2),
        shape=PICTURE,
        formula=lambda w, x: np.pad(x, [(0, 0), (1, 1), (2, 2), (0, 0)]),
    ),
    row(
        "ZeroPadding3D",
        shape=VOLUME,
        formula=lambda w, x: np.pad(x, [(0, 0), (1, 1), (1, 1), (1, 1), (0, 0)]),
    ),
    row(
        "AdaptiveAveragePooling1D",
        2,
        shape=SEQUENCE,
        formula=lambda w, x: pooled(x, 3, np.mean),
    ),
    row(
        "AdaptiveAveragePooling2D",
        (2, 1),
        shape=PICTURE,
        formula=lambda w, x: np.stack([x[:, :3].mean((1, 2)), x[:, 3:].mean((1, 2))], 1)[
            :, :, None
        ],
    ),
    row("AdaptiveAveragePooling3D", (1, 2, 5), shape=VOLUME),
    row("AdaptiveMaxPooling1D", 3, shape=SEQUENCE, formula=lambda w, x: pooled(x, 2, np.max)),
    row("AdaptiveMaxPooling2D", 2, shape=PICTURE, data_format="channels_first"),
    row("AdaptiveMaxPooling3D", (3, 2, 1), shape=VOLUME),
    row("UpSampling1D", 3, shape=SEQUENCE, formula=lambda w, x: x.repeat(3, 1)),
    row("UpSampling2D", (2, 3), shape=PICTURE, formula=lambda w, x: x.repeat(2, 1).repeat(3, 2)),
    row("UpSampling2D", 2, shape=PICTURE, interpolation="bilinear"),
    row(
        "UpSampling3D", shape=VOLUME, formula=lambda w, x: x.repeat(2, 1).repeat(2, 2).repeat(2, 3)
    ),
    # Layers that are the identity outside of training.
    *(
        row(name, 0.3, shape=shape, formula=lambda w, x: x)
        for name, shape in (
            ("Dropout", (2, 3)),
            ("SpatialDropout1D", SEQUENCE),
            ("SpatialDropout2D", PICTURE),
            ("SpatialDropout3D", VOLUME),
            ("GaussianNoise", (2, 3)),
            ("GaussianDropout", (2, 3)),
            ("AlphaDropout", (2, 3)),
        )
    ),
    # Normalization
    row(
        "BatchNormalization",
        shape=PICTURE,
        training=True,
        formula=lambda w, x: (x - w[2]) / np.sqrt(w[3] + 1e-3) * w[0] + w[1],
    ),
    row(
        "BatchNormalization",
        shape=(5, 3),
        training=True,
        momentum=0.9,
        epsilon=0.1,
        scale=False,
        formula=lambda w, x: (x - w[1]) / np.sqrt(w[2] + 0.1) + w[0],
    ),
    row("BatchNormalization", shape=PICTURE, training=True, axis=1, center=False),
    row("LayerNormalization", shape=(2, 3, 4), formula=lambda w, x: normal(x, -1) * w[0] + w[1]),
    row(
        "LayerNormalization",
        shape=PICTURE,
        axis=[1, 2],
        epsilon=0.1,
        formula=lambda w, x: normal(x, (1, 2), 0.1) * w[0][..., None] + w[1][..., None],
    ),
    row("LayerNormalization", shape=PICTURE, axis=(-1, -2), scale=False),
    row("LayerNormalization", shape=PICTURE, axis=1, center=False),
    row("GroupNormalization", 2, shape=PICTURE, formula=grouped),
    row("GroupNormalization", 3, shape=PICTURE, axis=1),
    row("GroupNormalization", -1, shape=PICTURE, scale=False),
    row("UnitNormalization", formula=lambda w, x: x / np.linalg.norm(x, axis=-1, keepdims=True)),
    row("UnitNormalization", axis=[1, 2], shape=(2, 3, 4)),
    row(
        "RMSNormalization",
        formula=lambda w, x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * w[0],
    ),
    row("RMSNormalization", axis=[1, 2], shape=(2, 3, 4)),
    row(
        "Normalization",
        mean=[1.0, 2.0, 3.0],
        variance=[4.0, 1.0, 0.25],
        formula=lambda w, x: (x - [1, 2, 3]) / [2, 1, 0.5],
    ),
    row(
        "Normalization",
        axis=None,
        mean=1.0,
        variance=4.0,
        invert=True,
        formula=lambda w, x: x * 2 + 1,
    ),
    row("Rescaling", 0.5, offset=-1.0, formula=lambda w, x: x / 2 - 1),
    # Activations
    row("Activation", "tanh", formula=lambda w, x: np.tanh(x)),
    row("ReLU", formula=lambda w, x: np.maximum(x, 0)),
    row(
        "ReLU",
        0.5,
        0.25,
        0.125,
        shape=(4, 5),
        formula=lambda w, x: np.where(x >= 0.125, np.minimum(x, 0.5), 0.25 * (x - 0.125)),
    ),
    row("LeakyReLU", formula=lambda w, x: np.where(x > 0, x, 0.3 * x)),
    row("ELU", 2.0, formula=lambda w, x: np.where(x > 0, x, 2 * np.expm1(x))),
    row("PReLU", shape=(2, 3, 4), formula=lambda w, x: np.where(x > 0, x, w[0] * x)),
    row(
        "PReLU",
        shape=PICTURE,
        shared_axes=[1, 2],
        formula=lambda w, x: np.where(x > 0, x, w[0] * x),
    ),
    row("Softmax", formula=lambda w, x: soft(x)),
    row("Softmax", axis=[1, 2], shape=(2, 3, 4), formula=lambda w, x: soft(x, (1, 2))),
    row(
        "Softmax",
        call={"mask": np.array([[True, False, True]])},
        formula=lambda w, x: np.insert(soft(x[:, ::2]), 1, 0, -1),
    ),
    # Several inputs
    row("Add", shape=[(2, 3), (2, 3), (2, 3)], formula=lambda w, x, y, z: x + y + z),
    row("Add", shape=[(2, 3), (2, 4, 3)], formula=lambda w, x, y: x[:, None] + y),
    row("Subtract", shape=PAIR, formula=lambda w, x, y: x - y),
    row("Multiply", shape=PAIR, formula=lambda w, x, y: x * y),
    row("Average", shape=PAIR, formula=lambda w, x, y: (x + y) / 2),
    row("Maximum", shape=PAIR, formula=lambda w, x, y: np.maximum(x, y)),
    row("Minimum", shape=PAIR, formula=lambda w, x, y: np.minimum(x, y)),
    row(
        "Concatenate",
        1,
        shape=[(2, 3, 4), (2, 1, 4)],
        formula=lambda w, x, y: np.concatenate([x, y], 1),
    ),
    row("Dot", (2, 1), shape=[(2, 3, 4), (2, 4, 5)], formula=lambda w, x, y: x @ y),
    row(
        "Dot",
        1,
        shape=[(2, 3), (2, 3)],
        normalize=True,
        formula=lambda w, x, y: (
            (x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)
        )[:, None],
    ),
    row(
        "Attention",
        shape=PAIR,
        use_scale=True,
        formula=lambda w, x, y: soft(x @ y.swapaxes(1, 2) * w[0]) @ y,
    ),
    row(
        "Attention",
        shape=[(2, 3, 4), (2, 5, 4), (2, 5, 4)],
        score_mode="concat",
        formula=lambda w, q, v, k: soft(w[0] * np.tanh(q[:, :, None] + k[:, None]).sum(-1)) @ v,
    ),
    row("Attention", shape=PAIR, call={"use_causal_mask": True}),
    row(
        "AdditiveAttention",
        shape=PAIR,
        formula=lambda w, x, y: soft((w[0] * np.tanh(x[:, :, None] + y[:, None])).sum(-1)) @ y,
    ),
    row("MultiHeadAttention", 2, 3, shape=[(2, 3, 4), (2, 5, 4)], apart=True, formula=heads),
    row(
        "MultiHeadAttention",
        2,
        3,
        shape=PAIR,
        apart=True,
        value_dim=2,
        use_bias=False,
        output_shape=5,
        call={"use_causal_mask": True},
        use_gate=True,
    ),
    row(
        "MultiHeadAttention", 2, 2, shape=[(2, 3, 2, 4), (2, 3, 5, 4)], apart=True, attention_axes=2
    ),
    row("MultiHeadAttention", 2, 2, shape=PAIR, apart=True, sliding_window=2),
    # Others
    row("Embedding", 7, 3, shape=(2, 4), ints=7, formula=lambda w, x: w[0][x]),
    row("Identity", formula=lambda w, x: x),
    row("Masking", 0.0, shape=(2, 3, 4), formula=lambda w, x: x),
    row("ActivityRegularization", l1=0.1, l2=0.2, formula=lambda w, x: x),
    row("Lambda", operator.neg, formula=lambda w, x: -x),
]
