"""Ops on arrays: sorting, sums, slices, gathers, transforms, convolutions and products."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Gradient, Values, workload
from benchmarks.everyday.modules import F, jax, jnp, lax, nt, torch


@workload(tiny=(50,), sort_1m=(1_000_000,))
class Sort(Gradient):
    """Sort, and the gradient of a weighted sum."""

    def inputs(self, rng, n):
        return [rng.normal(size=n).astype(np.float32), np.linspace(0, 1, n, dtype=np.float32)]

    def numtape(self, x, w):
        return nt.reduce_sum(nt.sort(x) * w)

    def torch(self, x, w):
        return (torch.sort(x).values * w).sum()

    def jax(self, x, w):
        return jnp.sum(jnp.sort(x) * w)


@workload(tiny=(50,), argsort_1m=(1_000_000,))
class Argsort(Values):
    """The permutation that sorts a vector."""

    def inputs(self, rng, n):
        return [rng.normal(size=n)]

    def numtape(self, x):
        return nt.argsort(x)

    def torch(self, x):
        return torch.argsort(x)

    def jax(self, x):
        return jnp.argsort(x)


@workload(tiny=(5, 20, 3), top_k_1000x1000=(1000, 1000, 10))
class TopK(Gradient):
    """The largest values of each row, and the gradient of their squares."""

    def inputs(self, rng, rows, columns, k):
        self.k = k
        return [rng.normal(size=(rows, columns)).astype(np.float32)]

    def numtape(self, x):
        return nt.reduce_sum(nt.math.top_k(x, self.k).values ** 2)

    def torch(self, x):
        return (torch.topk(x, self.k).values ** 2).sum()

    def jax(self, x):
        return jnp.sum(lax.top_k(x, self.k)[0] ** 2)


@workload(tiny=((50,), 0), cumsum_1m=((1_000_000,), 0), cumsum_axis1=((1000, 1000), 1))
class Cumsum(Gradient):
    """A cumulative sum."""

    def inputs(self, rng, shape, axis):
        self.axis = axis
        return [rng.normal(size=shape)]

    def numtape(self, x):
        return nt.reduce_sum(nt.sin(nt.cumsum(x, self.axis)))

    def torch(self, x):
        return torch.sin(torch.cumsum(x, self.axis)).sum()

    def jax(self, x):
        return jnp.sum(jnp.sin(jnp.cumsum(x, self.axis)))


@workload(tiny=(2, 16), fft_64x4096=(64, 4096))
class Fft(Gradient):
    """A filter between a transform and its inverse."""

    def inputs(self, rng, rows, n):
        w = rng.normal(size=n) + 1j * rng.normal(size=n)
        return [rng.normal(size=(rows, n)).astype(np.float32), w.astype(np.complex64)]

    def numtape(self, x, w):
        y = nt.signal.ifft(nt.signal.fft(nt.cast(x, nt.complex64)) * w)
        return nt.reduce_sum(nt.math.real(y) ** 2)

    def torch(self, x, w):
        return (torch.fft.ifft(torch.fft.fft(x) * w).real ** 2).sum()

    def jax(self, x, w):
        return jnp.sum(jnp.fft.ifft(jnp.fft.fft(x) * w).real ** 2)


@workload(tiny=(2, 16), rfft_64x4096=(64, 4096))
class Rfft(Gradient):
    """The power spectrum of real signals."""

    def inputs(self, rng, rows, n):
        w = rng.random(n // 2 + 1).astype(np.float32)
        return [rng.normal(size=(rows, n)).astype(np.float32), w]

    def numtape(self, x, w):
        return nt.reduce_mean(w * nt.abs(nt.signal.rfft(x)) ** 2)

    def torch(self, x, w):
        return (w * torch.fft.rfft(x).abs() ** 2).mean()

    def jax(self, x, w):
        return jnp.mean(w * jnp.abs(jnp.fft.rfft(x)) ** 2)


class Einsum(Gradient):
    """A sum of products, and the gradients with respect to each factor."""

    equation = ""

    def numtape(self, *factors):
        return nt.reduce_sum(nt.tanh(nt.einsum(self.equation, *factors)))

    def torch(self, *factors):
        return torch.tanh(torch.einsum(self.equation, *factors)).sum()

    def jax(self, *factors):
        return jnp.sum(jnp.tanh(jnp.einsum(self.equation, *factors)))


@workload(tiny=(2, 3, 2, 4), einsum_attention=(8, 128, 8, 64))
class EinsumAttention(Einsum):
    """The scores of attention with several heads."""

    equation, wrt = "bqhd,bkhd->bhqk", 2

    def inputs(self, rng, batch, length, heads, depth):
        shape = batch, length, heads, depth
        return [(rng.normal(size=shape) / depth**0.5).astype(np.float32) for _ in range(2)]


@workload(tiny=(4, 3), einsum_chain3=(256, 128))
class EinsumChain(Einsum):
    """A chain of three matrices."""

    equation, wrt = "ij,jk,kl->il", 3

    def inputs(self, rng, n, m):
        return [rng.normal(size=shape) / m for shape in ((n, m), (m, n), (n, m))]


@workload(tiny=(4, 3), einsum_batched=(512, 32))
class EinsumBatched(Einsum):
    """A batch of small matrix products."""

    equation, wrt = "bij,bjk->bik", 2

    def inputs(self, rng, batch, n):
        return [rng.normal(size=(batch, n, n)).astype(np.float32) / n for _ in range(2)]


@workload(tiny=(2, 10, 3, 4), conv1d=(16, 1000, 32, 5))
class Conv1d(Gradient):
    """Filters along time."""

    wrt = 2
    torch_axes = (0, 2, 1), (2, 1, 0)

    def inputs(self, rng, batch, length, channels, width):
        x = rng.normal(size=(batch, length, channels))
        w = rng.normal(size=(width, channels, channels)) / (width * channels) ** 0.5
        return [x.astype(np.float32), w.astype(np.float32)]

    def numtape(self, x, w):
        return nt.reduce_mean(nt.nn.conv1d(x, w, 1, "VALID") ** 2)

    def torch(self, x, w):
        return (F.conv1d(x, w) ** 2).mean()

    def jax(self, x, w):
        y = lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))
        return jnp.mean(y**2)


@workload(tiny=(2, 6, 2, 3), conv2d=(16, 32, 16, 32))
class Conv2d(Gradient):
    """3 x 3 filters on images."""

    wrt = 2
    torch_axes = (0, 3, 1, 2), (3, 2, 0, 1)

    def inputs(self, rng, batch, size, channels, filters):
        w = rng.normal(size=(3, 3, channels, filters)) / (9 * channels) ** 0.5
        return [
            rng.normal(size=(batch, size, size, channels)).astype(np.float32),
            w.astype(np.float32),
        ]

    def numtape(self, x, w):
        return nt.reduce_mean(nt.nn.conv2d(x, w, 1, "SAME") ** 2)

    def torch(self, x, w):
        return (F.conv2d(x, w, padding=1) ** 2).mean()

    def jax(self, x, w):
        layout = "NHWC", "HWIO", "NHWC"
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)
        return jnp.mean(y**2)


@workload(tiny=(2, 6, 2), depthwise=(16, 32, 64))
class Depthwise(Gradient):
    """A 3 x 3 filter for each channel."""

    wrt = 2
    torch_axes = (0, 3, 1, 2), (2, 3, 0, 1)

    def inputs(self, rng, batch, size, channels):
        return [
            rng.normal(size=(batch, size, size, channels)).astype(np.float32),
            rng.normal(size=(3, 3, channels, 1)).astype(np.float32),
        ]

    def numtape(self, x, w):
        return nt.reduce_mean(nt.nn.depthwise_conv2d(x, w, (1, 1, 1, 1), "SAME") ** 2)

    def torch(self, x, w):
        return (F.conv2d(x, w, padding=1, groups=x.shape[1]) ** 2).mean()

    def jax(self, x, w):
        y = lax.conv_general_dilated(
            x,
            w.reshape(3, 3, 1, -1),
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=x.shape[3],
        )
        return jnp.mean(y**2)


@workload(tiny=(40,), concat_slice_1m=(1_000_000,))
class ConcatSlice(Gradient):
    """Differences of shifted halves that are joined again."""

    def inputs(self, rng, n):
        return [rng.normal(size=n).astype(np.float32)]

    def numtape(self, x):
        half = x.shape[0] // 2
        y = nt.concat([x[half:], x[:half]], 0)
        return nt.reduce_mean((y[1:] - y[:-1]) ** 2 * x[1:])

    def torch(self, x):
        half = x.shape[0] // 2
        y = torch.cat([x[half:], x[:half]], 0)
        return ((y[1:] - y[:-1]) ** 2 * x[1:]).mean()

    def jax(self, x):
        half = x.shape[0] // 2
        y = jnp.concatenate([x[half:], x[:half]], 0)
        return jnp.mean((y[1:] - y[:-1]) ** 2 * x[1:])


@workload(tiny=(40, 7), gather_scatter_1m=(1_000_000, 100_000))
class GatherScatter(Gradient):
    """Gathers entries, and adds them at other places."""

    def inputs(self, rng, n, size):
        x = rng.normal(size=size).astype(np.float32)
        return [x, rng.integers(size, size=n), rng.integers(size, size=n)]

    def numtape(self, x, source, target):
        y = nt.math.sin(nt.gather(x, source))
        y = nt.tensor_scatter_nd_add(nt.zeros_like(x), target[:, None], y)
        return nt.reduce_mean(y**2)

    def torch(self, x, source, target):
        y = torch.sin(x[source])
        return (torch.zeros_like(x).index_add(0, target, y) ** 2).mean()

    def jax(self, x, source, target):
        return jnp.mean(jnp.zeros_like(x).at[target].add(jnp.sin(x[source])) ** 2)


@workload(tiny=(40, 7), segment_sum_1m=(1_000_000, 10_000))
class SegmentSum(Gradient):
    """Sums over unsorted groups."""

    def inputs(self, rng, n, groups):
        self.groups = groups
        return [rng.normal(size=n).astype(np.float32), rng.integers(groups, size=n)]

    def numtape(self, x, group):
        return nt.reduce_mean(nt.math.unsorted_segment_sum(x, group, self.groups) ** 2)

    def torch(self, x, group):
        return (torch.zeros(self.groups).index_add(0, group, x) ** 2).mean()

    def jax(self, x, group):
        return jnp.mean(jax.ops.segment_sum(x, group, self.groups) ** 2)


@workload(
    tiny=(6, 4, 0), reduce_axis0_4000x1000=(4000, 1000, 0), reduce_axis1_4000x1000=(4000, 1000, 1)
)
class Reduce(Gradient):
    """A sum and a maximum over an axis."""

    def inputs(self, rng, rows, columns, axis):
        self.axis = axis
        return [rng.normal(size=(rows, columns)).astype(np.float32)]

    def numtape(self, x):
        return nt.reduce_mean(nt.reduce_sum(x, self.axis) * nt.reduce_max(x, self.axis))

    def torch(self, x):
        return (x.sum(self.axis) * x.amax(self.axis)).mean()

    def jax(self, x):
        return jnp.mean(jnp.sum(x, self.axis) * jnp.max(x, self.axis))


@workload(tiny=(50, 3), reduce_short_axis=(300_000, 3))
class ReduceShortAxis(Gradient):
    """The lengths of many short vectors."""

    def inputs(self, rng, rows, columns):
        return [rng.normal(size=(rows, columns))]

    def numtape(self, x):
        return nt.reduce_mean(nt.sqrt(nt.reduce_sum(x**2, 1)))

    def torch(self, x):
        return (x**2).sum(1).sqrt().mean()

    def jax(self, x):
        return jnp.mean(jnp.sqrt(jnp.sum(x**2, 1)))


@workload(tiny=(6,), transpose_2000=(2000,))
class Transpose(Gradient):
    """A matrix plus its transpose."""

    def inputs(self, rng, n):
        return [rng.normal(size=(n, n)).astype(np.float32)]

    def numtape(self, x):
        return nt.reduce_mean((x + nt.transpose(x)) ** 2 * x)

    def torch(self, x):
        return ((x + x.T) ** 2 * x).mean()

    def jax(self, x):
        return jnp.mean((x + x.T) ** 2 * x)


@workload(tiny=(50,), where_mask_1m=(1_000_000,))
class WhereMask(Gradient):
    """A choice between two formulas."""

    def inputs(self, rng, n):
        return [rng.normal(size=n).astype(np.float32)]

    def numtape(self, x):
        return nt.reduce_mean(nt.where(x > 0, x, nt.exp(x) - 1))

    def torch(self, x):
        return torch.where(x > 0, x, torch.exp(x) - 1).mean()

    def jax(self, x):
        return jnp.mean(jnp.where(x > 0, x, jnp.exp(x) - 1))
