"""Rearrangement of blocks of pixels: into channels, into the batch, or as patches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor, from_owned_array
from ..log.record import record, require
from ..values import dtypes
from ..values.arguments import truncate_float
from ..values.tensor import Tensor
from . import movement
from .indexing import GATHER
from .padding import PAD
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import IntLike, ShapeLike, TensorLike

FORMATS = ("NHWC", "NCHW")


def _to_channels_last(x: Tensor, data_format: str, op: str) -> Tensor:
    if data_format not in FORMATS:
        raise InvalidArgumentError(
            f"data_format must be one of {FORMATS}, got {data_format!r} [Op:{op}]"
        )
    require(x.ndim == 4, op, f"input must be 4-dimensional, got shape {x.shape}")
    return movement.transpose(x, (0, 2, 3, 1)) if data_format == "NCHW" else x


def _restore_format(x: Tensor, data_format: str) -> Tensor:
    return movement.transpose(x, (0, 3, 1, 2)) if data_format == "NCHW" else x


def _parse_block_size(block_size: IntLike | float, op: str) -> int:
    size = movement.to_ints(truncate_float(block_size, "block_size"))
    if not isinstance(size, int):
        raise TypeError(f"block_size must be an int, got {block_size!r} [Op:{op}]")
    require(size > 1, op, f"Block size should be > 1: {size}")
    return size


def space_to_depth(
    input: TensorLike,
    block_size: IntLike | float,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Move blocks of pixels into the channels.

    Args:
      input: A tensor of shape (batch, height, width, channels), of any dtype.
      block_size: The height and width of a block, at least 2.
      data_format: "NHWC", or "NCHW" for channels before height and width.
      name: Not used.

    Returns:
      A tensor of shape (batch, height / block_size, width / block_size, channels * block_size**2).

    Raises:
      InvalidArgumentError: If the block size does not divide the image, the input does not have
        four axes, or the format is unknown.

    Example:
      >>> x = tf.reshape(tf.range(4), (1, 2, 2, 1))
      >>> tf.nn.space_to_depth(x, 2).numpy()
      array([[[[0, 1, 2, 3]]]], dtype=int32)
    """
    op = "SpaceToDepth"
    x = as_tensor(input)
    b = _parse_block_size(block_size, op)
    x = _to_channels_last(x, data_format, op)
    n, h, w, c = x.shape
    require(
        h % b == 0 and w % b == 0,
        op,
        f"Image width {w} and height {h} should be divisible by block_size: {b}",
    )
    x = movement.transpose(movement.reshape(x, (n, h // b, b, w // b, b, c)), (0, 1, 3, 2, 4, 5))
    return _restore_format(movement.reshape(x, (n, h // b, w // b, b * b * c)), data_format)


def depth_to_space(
    input: TensorLike,
    block_size: IntLike | float,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Move channels into blocks of pixels: the inverse of `space_to_depth`.

    Args:
      input: A tensor of shape (batch, height, width, channels), of any dtype.
      block_size: The height and width of a block, at least 2.
      data_format: "NHWC", or "NCHW" for channels before height and width.
      name: Not used.

    Returns:
      A tensor of shape (batch, height * block_size, width * block_size, channels / block_size**2).

    Raises:
      InvalidArgumentError: If the number of channels is not a multiple of ``block_size**2``, the
        rank is not 4, or the format is unknown.

    Example:
      >>> x = tf.reshape(tf.range(4), (1, 1, 1, 4))
      >>> tf.nn.depth_to_space(x, 2).numpy().tolist()
      [[[[0], [1]], [[2], [3]]]]
    """
    op = "DepthToSpace"
    x = as_tensor(input)
    b = _parse_block_size(block_size, op)
    x = _to_channels_last(x, data_format, op)
    n, h, w, c = x.shape
    require(
        c % (b * b) == 0,
        op,
        f"Input depth dimension {c} should be divisible by the square of block_size: {b * b}",
    )
    rest = c // (b * b)
    x = movement.transpose(movement.reshape(x, (n, h, w, b, b, rest)), (0, 1, 3, 2, 4, 5))
    return _restore_format(movement.reshape(x, (n, h * b, w * b, rest)), data_format)


def _parse_blocks(
    x: Tensor, block_shape: ShapeLike, pairs: TensorLike, op: str, what: str
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the sizes of a block, and the paddings or crops of each axis."""
    sizes = list(movement.to_shape(block_shape))
    result = np.asarray(movement.to_ints(pairs))
    require(
        x.ndim >= 1 + len(sizes),
        op,
        f"input rank should be >= {1 + len(sizes)} instead of {x.ndim}",
    )
    require(
        result.shape == (len(sizes), 2) or (not sizes and not result.size),
        op,
        f"{what} should have shape [{len(sizes)}, 2] instead of {list(result.shape)}",
    )
    require(min(sizes, default=1) > 0, op, f"block_shape must be positive, got {sizes}")
    require(not result.size or result.min() >= 0, op, f"{what} must be non-negative")
    return sizes, [(int(a), int(b)) for a, b in result.reshape(-1, 2)]


def space_to_batch_nd(
    input: TensorLike, block_shape: ShapeLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Move blocks of elements into the batch: each position in a block becomes an example.

    Args:
      input: A tensor of shape (batch, *spatial, *rest), of any dtype.
      block_shape: The sizes of a block, an int for each spatial axis.
      paddings: Two ints for each of them: the numbers of zeros before and after.
      name: Not used.

    Returns:
      A tensor whose batch is larger by the size of a block, and whose spatial axes are divided by
      its sizes.

    Raises:
      InvalidArgumentError: If the block sizes do not divide the padded axes, or shapes do not fit.

    Example:
      >>> x = tf.reshape(tf.range(4), (1, 2, 2, 1))
      >>> tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]).numpy().ravel()
      array([0, 1, 2, 3], dtype=int32)
    """
    op = "SpaceToBatchND"
    x = as_tensor(input)
    sizes, pairs = _parse_blocks(x, block_shape, paddings, op, "paddings")
    count = len(sizes)
    wide = ((0, 0), *pairs, *((0, 0),) * (x.ndim - 1 - count))
    if any(map(any, pairs)):
        x = record(PAD, (x,), paddings=wide, mode="constant")
    batch, *space = x.shape[: 1 + count]
    rest = tuple(x.shape[1 + count :])
    for dim, size in zip(space, sizes, strict=True):
        require(dim % size == 0, op, f"padded_shape={dim} is not divisible by block_shape={size}")
    parts = [d for dim, size in zip(space, sizes, strict=True) for d in (dim // size, size)]
    x = movement.reshape(x, (batch, *parts, math.prod(rest)))
    perm = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2), 2 * count + 1)
    x = movement.transpose(x, perm)
    return movement.reshape(x, (batch * math.prod(sizes), *parts[::2], *rest))


def space_to_batch(
    input: TensorLike, block_shape: ShapeLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Move blocks of elements into the batch: `space_to_batch_nd`.

    Args:
      input: A tensor of shape (batch, *spatial, *rest), of any dtype.
      block_shape: The sizes of a block, an int for each spatial axis.
      paddings: Two ints for each of them: the numbers of zeros before and after.
      name: Not used.

    Returns:
      A tensor whose batch is larger by the size of a block, and whose spatial axes are smaller.

    Raises:
      InvalidArgumentError: If the block sizes do not divide the padded axes, or shapes do not fit.

    Example:
      >>> tf.space_to_batch([[1, 2, 3]], [2], [[0, 1]]).numpy()
      array([[1, 3],
             [2, 0]], dtype=int32)
    """
    return space_to_batch_nd(input, block_shape, paddings)


def batch_to_space(
    input: TensorLike, block_shape: ShapeLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Move examples into blocks of elements: the inverse of `space_to_batch`.

    Args:
      input: A tensor of shape (batch, *spatial, *rest), of any dtype.
      block_shape: The sizes of a block, an int for each spatial axis; one int for two of them.
      crops: Two ints for each of them: the numbers of elements to remove at the beginning and at
        the end.
      name: Not used.

    Returns:
      A tensor whose batch is smaller by the size of a block, and whose spatial axes are larger.

    Raises:
      InvalidArgumentError: If the size of a block does not divide the batch, or shapes do not fit.

    Example:
      >>> tf.batch_to_space([[1, 3], [2, 0]], [2], [[0, 1]]).numpy()
      array([[1, 2, 3]], dtype=int32)
    """
    op = "BatchToSpaceND"
    x = as_tensor(input)
    if isinstance(block_shape, int):
        block_shape = (block_shape, block_shape)
    sizes, pairs = _parse_blocks(x, block_shape, crops, op, "crops")
    count, block = len(sizes), math.prod(sizes)
    batch, *space = x.shape[: 1 + count]
    rest = tuple(x.shape[1 + count :])
    require(
        batch % block == 0,
        op,
        f"Input batch dimension ({batch}) is not divisible by product of block sizes ({block})",
    )
    x = movement.reshape(x, (*sizes, batch // block, *space, math.prod(rest)))
    inside = [axis for k in range(count) for axis in (count + 1 + k, k)]
    x = movement.transpose(x, (count, *inside, 2 * count + 1))
    full = [dim * size for dim, size in zip(space, sizes, strict=True)]
    x = movement.reshape(x, (batch // block, *full, *rest))
    for dim, (before, after) in zip(full, pairs, strict=True):
        require(
            before + after <= dim,
            op,
            f"cropped size must be non-negative: {dim} - {before} - {after}",
        )
    cut = [(0, d, 1) for d in x.shape]
    for k, (dim, (before, after)) in enumerate(zip(full, pairs, strict=True), 1):
        cut[k] = (before, dim - after, 1)
    return strided_slice(x, tuple(cut))


def required_space_to_batch_paddings(
    input_shape: ShapeLike,
    block_shape: ShapeLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return paddings that make a shape divisible by a block, and the crops that undo them.

    Args:
      input_shape: The sizes of the spatial axes.
      block_shape: The sizes of a block.
      base_paddings: The least paddings, two ints for each axis; None for 0.
      name: Not used.

    Returns:
      Two int32 tensors of shape (axes, 2): for `space_to_batch` and for `batch_to_space`.

    Raises:
      ValueError: If the shapes do not fit.

    Example:
      >>> paddings, crops = tf.required_space_to_batch_paddings([10, 11], [4, 4])
      >>> paddings.numpy().tolist(), crops.numpy().tolist()
      ([[0, 2], [0, 1]], [[0, 2], [0, 1]])
    """
    sizes, block = movement.to_shape(input_shape), movement.to_shape(block_shape)
    count = len(block)
    base = np.zeros((count, 2), np.int64)
    if base_paddings is not None:
        base = np.asarray(movement.to_ints(base_paddings))
    if len(sizes) != count or base.shape != (count, 2):
        raise ValueError(
            f"Shapes do not fit: input_shape {sizes}, block_shape {block}, base_paddings "
            f"{base.tolist()}."
        )
    start, end = base[:, 0], base[:, 1]
    extra = -(np.array(sizes, np.int64) + start + end) % np.array(block, np.int64)
    zero = np.zeros(count, np.int64)
    paddings, crops = (start, end + extra), (zero, extra)
    first, second = (
        from_owned_array(np.stack(pair, 1).astype(np.int32)) for pair in (paddings, crops)
    )
    return first, second


def extract_patches(
    images: TensorLike,
    sizes: ShapeLike,
    strides: ShapeLike,
    rates: ShapeLike,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extract patches from images, each as a vector of channels.

    Args:
      images: A tensor of shape (batch, height, width, channels), of any dtype.
      sizes: The size of a patch: [1, height, width, 1].
      strides: The distance of patches: [1, rows, columns, 1].
      rates: The distance of the pixels in a patch: [1, rows, columns, 1].
      padding: "VALID" for patches inside the image only; "SAME" to pad it with zeros.
      name: Not used.

    Returns:
      A tensor of shape (batch, rows, columns, height * width * channels).

    Raises:
      InvalidArgumentError: If the images do not have four axes, ``padding`` is unknown, or sizes
        are not four positive ints.

    Example:
      >>> x, one = tf.reshape(tf.range(9), (1, 3, 3, 1)), [1, 1, 1, 1]
      >>> tf.image.extract_patches(x, [1, 2, 2, 1], one, one, "VALID")[0, 0].numpy()
      array([[0, 1, 3, 4],
             [1, 2, 4, 5]], dtype=int32)
    """
    op = "ExtractImagePatches"
    x = as_tensor(images)
    require(x.ndim == 4, op, f"input must be 4-dimensional, got shape {x.shape}")
    require(padding in ("VALID", "SAME"), op, f"padding must be VALID or SAME, got {padding!r}")
    requested = []
    for what, provided in (("sizes", sizes), ("strides", strides), ("rates", rates)):
        four = movement.to_shape(provided)
        require(len(four) == 4, op, f"{what} must be four ints, got {provided!r}")
        if four[0] != 1 or four[3] != 1:
            raise InvalidArgumentError(
                f"{what} must be [1, rows, columns, 1], got {four} [Op:{op}]"
            )
        require(min(four) > 0, op, f"{what} must be positive, got {four}")
        requested.append(four[1:3])
    pads, takes = [], []
    for dim, size, stride, rate in zip(x.shape[1:3], *requested, strict=True):
        reach = (size - 1) * rate + 1
        if padding == "SAME":
            count = -(-dim // stride)
            missing = max((count - 1) * stride + reach - dim, 0)
            pads.append((missing // 2, missing - missing // 2))
        else:
            count = max((dim - reach) // stride + 1, 0)
            pads.append((0, 0))
        takes.append(np.arange(count)[:, None] * stride + np.arange(size) * rate)
    if any(map(any, pads)):
        x = record(PAD, (x,), paddings=((0, 0), *pads, (0, 0)), mode="constant")
    down, right = (from_owned_array(take.astype(dtypes.int64.numpy_dtype)) for take in takes)
    x = record(GATHER, (x, down), axis=1)  # (batch, rows, height, W, channels)
    x = record(GATHER, (x, right), axis=3)
    x = movement.transpose(x, (0, 1, 3, 2, 4, 5))
    batch, rows, columns, height, width, channels = x.shape
    return movement.reshape(x, (batch, rows, columns, height * width * channels))
