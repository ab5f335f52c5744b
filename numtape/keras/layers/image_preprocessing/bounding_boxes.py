"""``tf.keras.utils.bounding_boxes``: formats and transformations of boxes.

A format is a name such as ``xyxy`` (left, top, right, bottom) or ``center_xywh`` (the center, then
width and height); with the prefix ``rel_`` numbers are fractions of the image.
"""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ....compat.names import getter as _getter
from ....core.log.as_tensor import as_tensor
from ....core.values.tensor import Tensor
from ...registry import Decorated, describe

if TYPE_CHECKING:
    from ....core.values.annotations import DTypeLike, NumberLike, TensorLike

__all__ = [
    "affine_transform",
    "clip_to_image_size",
    "compute_ciou",
    "compute_iou",
    "convert_format",
    "crop",
    "decode_deltas_to_boxes",
    "encode_box_to_deltas",
    "pad",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("keras.utils.bounding_boxes")

Boxes = dict[str, Any]

FORMATS = (
    "xyxy",
    "yxyx",
    "xywh",
    "center_xywh",
    "center_yxhw",
    "rel_xyxy",
    "rel_yxyx",
    "rel_xywh",
    "rel_center_xywh",
)
_EPSILON = 1e-7

_ARGUMENTS = {
    "anchor_format": "The format of the anchors.",
    "anchors": "Reference boxes, or a dict of them.",
    "angle": "The angle of each image, in degrees.",
    "bounding_box_format": "The format of the boxes.",
    "bounding_boxes": "A dict with ``boxes`` and maybe ``labels``.",
    "box_format": "The format of the boxes.",
    "boxes": "Boxes (..., boxes, 4).",
    "boxes1": "Boxes (boxes, 4) or (batch, boxes, 4).",
    "boxes2": "Boxes (boxes, 4) or (batch, boxes, 4).",
    "boxes_delta": "Deltas, or a dict of them.",
    "center_x": "The horizontal center as a fraction; None for the middle.",
    "center_y": "The vertical center as a fraction; None for the middle.",
    "dtype": "The dtype of the result.",
    "encoded_format": "``center_xywh`` or ``center_yxhw``.",
    "encoding_format": "``center_xywh`` or ``center_yxhw``.",
    "height": "The height of the image.",
    "image_shape": "The (height, width, channels) of the image, for relative formats.",
    "left": "The columns to the left.",
    "mask_val": "The value for masked boxes.",
    "scale": "The scale of each image.",
    "shear_x": "The horizontal shear of each image, in degrees.",
    "shear_y": "The vertical shear of each image, in degrees.",
    "source": "The format of the boxes.",
    "target": "The format of the result.",
    "top": "The rows above.",
    "translate_x": "The horizontal translation of each image, as a fraction.",
    "translate_y": "The vertical translation of each image, as a fraction.",
    "use_masking": "Whether to mask boxes without a positive number.",
    "variance": "Four numbers by which deltas are divided; None for ones.",
    "width": "The width of the image.",
}


def _document(
    returns: str = "Boxes.", raises: str = "ValueError: If a format is unknown."
) -> Callable[[Decorated], Decorated]:
    return describe(_ARGUMENTS, returns, raises)


def _columns(boxes: Tensor) -> list[Tensor]:
    """Split boxes into four tensors (..., 1)."""
    return [boxes[..., k : k + 1] for k in range(4)]


def _join(*columns: Tensor) -> Tensor:
    return tf.concat(columns, -1)


# From each format to xyxy, and back.
_TO_XYXY: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "xyxy": lambda a, b, c, d: (a, b, c, d),
    "yxyx": lambda a, b, c, d: (b, a, d, c),
    "xywh": lambda a, b, c, d: (a, b, a + c, b + d),
    "center_xywh": lambda a, b, c, d: (a - c / 2, b - d / 2, a + c / 2, b + d / 2),
    "center_yxhw": lambda a, b, c, d: (b - d / 2, a - c / 2, b + d / 2, a + c / 2),
}
_FROM_XYXY: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "xyxy": lambda a, b, c, d: (a, b, c, d),
    "yxyx": lambda a, b, c, d: (b, a, d, c),
    "xywh": lambda a, b, c, d: (a, b, c - a, d - b),
    "center_xywh": lambda a, b, c, d: (a + (c - a) / 2, b + (d - b) / 2, c - a, d - b),
    "center_yxhw": lambda a, b, c, d: (b + (d - b) / 2, a + (c - a) / 2, d - b, c - a),
}


@_document("The boxes, or the dict with them.")
def convert_format(
    boxes: Any,
    source: str,
    target: str,
    height: Any = None,
    width: Any = None,
    dtype: DTypeLike = "float32",
) -> Any:
    """Convert boxes from a format to another one.

    >>> convert = tf.keras.utils.bounding_boxes.convert_format
    >>> convert([[1.0, 2.0, 4.0, 6.0]], "xyxy", "xywh").numpy()
    array([[1., 2., 3., 4.]], dtype=float32)
    """
    if isinstance(boxes, dict):
        converted = convert_format(boxes["boxes"], source, target, height, width, dtype)
        return {**boxes, "boxes": converted}
    x = as_tensor(boxes)
    if x.shape[-1] != 4:
        raise ValueError(
            f"`boxes` must be a tensor with the last dimension of 4. Received: "
            f"boxes.shape={x.shape}"
        )
    source, target = source.lower(), target.lower()
    if source not in FORMATS or target not in FORMATS:
        raise ValueError(f"Invalid source or target format. Supported formats: {FORMATS}")
    is_relative = [name.startswith("rel_") for name in (source, target)]
    if any(is_relative) and (width is None or height is None):
        raise ValueError(
            f"convert_format() must receive `height` and `width` transforming between relative and "
            f"absolute formats. convert_format() received source=`{source}`, target=`{target}`, "
            f"but height={height} and width={width}."
        )
    x = tf.cast(x, dtype)
    if source == target:
        return x
    parts = _TO_XYXY[source.removeprefix("rel_")](*_columns(x))
    if is_relative[0] != is_relative[1]:
        sizes = [tf.cast(n, x.dtype) for n in (width, height)] * 2
        divide = is_relative[1]
        parts = tuple(p / n if divide else p * n for p, n in zip(parts, sizes, strict=True))
    return _join(*_FROM_XYXY[target.removeprefix("rel_")](*parts))


@_document("A dict with the boxes, and with the labels -1 of boxes without an area.")
def clip_to_image_size(
    bounding_boxes: Boxes,
    height: Any = None,
    width: Any = None,
    bounding_box_format: str = "xyxy",
) -> Boxes:
    """Clip boxes to the image.

    >>> clip = tf.keras.utils.bounding_boxes.clip_to_image_size
    >>> clip({"boxes": [[-1.0, 0.0, 2.0, 9.0]]}, 4, 4)["boxes"].numpy()
    array([[0., 0., 2., 4.]], dtype=float32)
    """
    if bounding_box_format not in ("xyxy", "rel_xyxy"):
        raise NotImplementedError(f"bounding_box_format={bounding_box_format!r}: use 'xyxy'.")
    boxes = as_tensor(bounding_boxes["boxes"])
    if bounding_box_format == "rel_xyxy":
        height = width = 1.0
    elif height is None or width is None:
        raise ValueError("`height` and `width` must be set if `format='xyxy'`.")
    limits = [tf.cast(n, boxes.dtype) for n in (width, height)] * 2
    a, b, c, d = (
        tf.minimum(tf.maximum(x, 0), n) for x, n in zip(_columns(boxes), limits, strict=True)
    )
    result = {**bounding_boxes, "boxes": _join(a, b, c, d)}
    labels = bounding_boxes.get("labels")
    if labels is not None:
        areas = tf.squeeze((c - a) * (d - b), -1)
        values = as_tensor(labels)
        result["labels"] = tf.where(areas > 0, values, tf.cast(-1, values.dtype))
    return result


def _check_xyxy(bounding_box_format: str) -> None:
    if bounding_box_format != "xyxy":
        raise NotImplementedError(f"bounding_box_format={bounding_box_format!r}: use 'xyxy'.")


@_document()
def affine_transform(
    boxes: TensorLike,
    angle: TensorLike,
    translate_x: TensorLike,
    translate_y: TensorLike,
    scale: TensorLike,
    shear_x: TensorLike,
    shear_y: TensorLike,
    height: Any,
    width: Any,
    center_x: NumberLike | None = None,
    center_y: NumberLike | None = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the boxes around transformed boxes (batch, boxes, 4).

    >>> boxes, zero = [[[0.0, 0.0, 2.0, 1.0]]], tf.zeros(1)
    >>> affine_transform = tf.keras.utils.bounding_boxes.affine_transform
    >>> affine_transform(boxes, zero, zero, zero, tf.ones(1), zero, zero, 4, 4).numpy()
    array([[[0., 0., 2., 1.]]], dtype=float32)
    """
    _check_xyxy(bounding_box_format)
    turn = -as_tensor(angle)
    degree = math.pi / 180.0
    middle_x = (0.5 if center_x is None else center_x) * (width - 1)
    middle_y = (0.5 if center_y is None else center_y) * (height - 1)
    rotation, sx, sy = turn * degree, -as_tensor(shear_x) * degree, -as_tensor(shear_y) * degree
    x = middle_x - as_tensor(translate_x) * (width - 1)
    y = middle_y - as_tensor(translate_y) * (height - 1)
    a, c = tf.cos(rotation - sy) / tf.cos(sy), -tf.sin(rotation - sy) / tf.cos(sy)
    b = a * tf.tan(sx) + tf.sin(rotation)
    d = tf.cos(rotation) - c * tf.tan(sx)
    a0, a1, b0, b1 = d * scale, -b * scale, -c * scale, a * scale
    a2, b2 = middle_x - a0 * x - a1 * y, middle_y - b0 * x - b1 * y
    numbers = [n[:, None, None] for n in (a0, a1, a2, b0, b1, b2)]
    left, top, right, bottom = _columns(tf.cast(boxes, turn.dtype))
    xs = _join(left, right, right, left)
    ys = _join(top, top, bottom, bottom)
    new_xs = numbers[0] * xs + numbers[1] * ys + numbers[2]
    new_ys = numbers[3] * xs + numbers[4] * ys + numbers[5]
    return tf.stack(
        [
            tf.reduce_min(new_xs, -1),
            tf.reduce_min(new_ys, -1),
            tf.reduce_max(new_xs, -1),
            tf.reduce_max(new_ys, -1),
        ],
        -1,
    )


def clip_columns(boxes: Tensor, left: Any, top: Any, right: Any, bottom: Any) -> Tensor:
    """Clip boxes (..., 4) to a window, and count from its corner."""
    low, high = [left, top] * 2, [right, bottom] * 2
    return _join(
        *(
            tf.minimum(tf.maximum(x, tf.cast(a, x.dtype)), tf.cast(b, x.dtype)) - a
            for x, a, b in zip(_columns(boxes), low, high, strict=True)
        )
    )


@_document()
def crop(
    boxes: TensorLike,
    top: Any,
    left: Any,
    height: Any,
    width: Any,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the boxes in a crop of the image.

    >>> tf.keras.utils.bounding_boxes.crop([[1.0, 1.0, 9.0, 3.0]], 1, 2, 4, 4).numpy()
    array([[0., 0., 4., 2.]], dtype=float32)
    """
    _check_xyxy(bounding_box_format)
    moved = tf.cast(boxes, tf.float32) - tf.cast(tf.stack([left, top, left, top]), tf.float32)
    return clip_columns(moved, 0.0, 0.0, float(width), float(height))


@_document()
def pad(
    boxes: TensorLike,
    top: Any,
    left: Any,
    height: Any = None,
    width: Any = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the boxes in a padded image.

    >>> tf.keras.utils.bounding_boxes.pad([[1.0, 1.0, 9.0, 3.0]], 1, 2).numpy()
    array([[ 3.,  2., 11.,  4.]], dtype=float32)
    """
    _check_xyxy(bounding_box_format)
    return tf.cast(boxes, tf.float32) + tf.cast(tf.stack([left, top, left, top]), tf.float32)


def _sizes(image_shape: Any) -> tuple[Any, Any]:
    return (None, None) if image_shape is None else (image_shape[0], image_shape[1])


def _check_deltas(name: str, value: str, variance: Any) -> Any:
    if value not in ("center_xywh", "center_yxhw"):
        raise ValueError(f"`{name}` should be one of 'center_xywh' or 'center_yxhw', got {value}")
    if variance is None:
        return None
    numbers = tf.cast(tf.convert_to_tensor(variance), tf.float32)
    if numbers.shape[-1] != 4:
        raise ValueError(f"`variance` must be length 4, got {variance}")
    return numbers


@_document("The deltas.")
def encode_box_to_deltas(
    anchors: TensorLike,
    boxes: TensorLike,
    anchor_format: str,
    box_format: str,
    encoding_format: str = "center_yxhw",
    variance: Any = None,
    image_shape: Any = None,
) -> Tensor:
    """Encode boxes relative to anchors: the distances of centers, and logarithms of sizes.

    >>> encode = tf.keras.utils.bounding_boxes.encode_box_to_deltas
    >>> encode([[0.0, 0.0, 2.0, 2.0]], [[1.0, 0.0, 3.0, 2.0]], "xyxy", "xyxy").numpy()
    array([[0. , 0.5, 0. , 0. ]], dtype=float32)
    """
    numbers = _check_deltas("encoding_format", encoding_format, variance)
    height, width = _sizes(image_shape)
    start = convert_format(anchors, anchor_format, encoding_format, height, width)
    end = convert_format(boxes, box_format, encoding_format, height, width)
    start_size, end_size = (tf.maximum(x[..., 2:], _EPSILON) for x in (start, end))
    moves = (end[..., :2] - start[..., :2]) / start_size
    deltas = tf.concat([moves, tf.math.log(end_size / start_size)], -1)
    return deltas if numbers is None else deltas / numbers


@_document("Boxes, or a dict of them.")
def decode_deltas_to_boxes(
    anchors: Any,
    boxes_delta: Any,
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Any = None,
    image_shape: Any = None,
) -> Any:
    """Decode boxes that are relative to anchors: the inverse of `encode_box_to_deltas`.

    >>> decode = tf.keras.utils.bounding_boxes.decode_deltas_to_boxes
    >>> decode([[0.0, 0.0, 2.0, 2.0]], [[0.0, 0.5, 0.0, 0.0]], "xyxy", "xyxy").numpy()
    array([[1., 0., 3., 2.]], dtype=float32)
    """
    numbers = _check_deltas("encoded_format", encoded_format, variance)
    height, width = _sizes(image_shape)

    def decode(anchor: TensorLike, delta: TensorLike) -> Any:
        start = convert_format(anchor, anchor_format, encoded_format, height, width)
        change = tf.cast(delta, tf.float32)
        change = change if numbers is None else change * numbers
        size = start[..., 2:]
        box = tf.concat(
            [change[..., :2] * size + start[..., :2], tf.exp(change[..., 2:]) * size], -1
        )
        return convert_format(box, encoded_format, box_format, height, width)

    if isinstance(anchors, dict) and isinstance(boxes_delta, dict):
        return {level: decode(anchor, boxes_delta[level]) for level, anchor in anchors.items()}
    return decode(anchors, boxes_delta)


def _check_ranks(boxes1: Tensor, boxes2: Tensor) -> None:
    for x in (boxes1, boxes2):
        if x.ndim not in (2, 3):
            raise ValueError(
                f"Expected boxes of rank 2 or 3. Received boxes1.shape={boxes1.shape}, "
                f"boxes2.shape={boxes2.shape}."
            )


def _check_image_shape(bounding_box_format: str, image_shape: Any) -> None:
    if "rel" in bounding_box_format and image_shape is None:
        raise ValueError(
            f"When using relative bounding box formats (e.g. `rel_yxyx`) the `image_shape` "
            f"argument must be provided. Received `image_shape`: {image_shape}"
        )


@_document("A tensor (..., boxes of ``boxes1``, boxes of ``boxes2``).")
def compute_iou(
    boxes1: TensorLike,
    boxes2: TensorLike,
    bounding_box_format: str,
    use_masking: bool = False,
    mask_val: NumberLike = -1,
    image_shape: Any = None,
) -> Tensor:
    """Return the intersection over the union of each pair of boxes.

    >>> boxes = [[0.0, 0.0, 2.0, 2.0]]
    >>> tf.keras.utils.bounding_boxes.compute_iou(boxes, boxes, "xyxy").numpy()
    array([[1.]], dtype=float32)
    """
    _check_image_shape(bounding_box_format, image_shape)
    height, width = _sizes(image_shape)
    first, second = (
        convert_format(x, bounding_box_format, "yxyx", height, width) for x in (boxes1, boxes2)
    )
    _check_ranks(first, second)
    one, other = first[..., :, None, :], second[..., None, :, :]
    low, high = tf.maximum(one[..., :2], other[..., :2]), tf.minimum(one[..., 2:], other[..., 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0), -1)
    areas = [tf.reduce_prod(x[..., 2:] - x[..., :2], -1) for x in (one, other)]
    result = shared / (areas[0] + areas[1] - shared + _EPSILON)
    if not use_masking:
        return result
    is_masked = [tf.reduce_max(x, -1) < 0 for x in (one, other)]
    return tf.where(
        tf.logical_or(is_masked[0], is_masked[1]), tf.cast(mask_val, result.dtype), result
    )


@_document("A tensor (..., boxes).")
def compute_ciou(
    boxes1: TensorLike,
    boxes2: TensorLike,
    bounding_box_format: str,
    image_shape: Any = None,
) -> Tensor:
    """Return the complete intersection over union: less for distant centers and other shapes.

    >>> boxes = [[0.0, 0.0, 2.0, 2.0]]
    >>> tf.keras.utils.bounding_boxes.compute_ciou(boxes, boxes, "xyxy").numpy().round(3)
    array([1.], dtype=float32)
    """
    _check_image_shape(bounding_box_format, image_shape)
    height, width = _sizes(image_shape)
    first, second = (
        convert_format(x, bounding_box_format, "xyxy", height, width) for x in (boxes1, boxes2)
    )
    size1, size2 = (x[..., 2:] - x[..., :2] + np.array([0, _EPSILON]) for x in (first, second))
    low = tf.maximum(first[..., :2], second[..., :2])
    high = tf.minimum(first[..., 2:], second[..., 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0), -1)
    union = tf.reduce_prod(size1, -1) + tf.reduce_prod(size2, -1) - shared + _EPSILON
    overlap = shared / (union + _EPSILON)
    hull = tf.maximum(first[..., 2:], second[..., 2:]) - tf.minimum(first[..., :2], second[..., :2])
    diagonal = tf.reduce_sum(tf.square(hull), -1) + _EPSILON
    centers = [(x[..., :2] + x[..., 2:]) / 2 for x in (first, second)]
    distance = tf.reduce_sum(tf.math.squared_difference(centers[0], centers[1]), -1)
    angles = [tf.atan(size[..., 0] / size[..., 1]) for size in (size2, size1)]
    shape = 4 / math.pi**2 * tf.square(angles[0] - angles[1])
    weight = shape / (shape - overlap + (1 + _EPSILON))
    result: Tensor = overlap - (distance / diagonal + shape * weight)
    return result


def densify(bounding_boxes: Any) -> Boxes:
    """Return tensors of boxes (float32) and labels; lists of different lengths are padded.

    Args:
      bounding_boxes: A dict with ``boxes`` and ``labels``.

    Raises:
      ValueError: If it is not such a dict, or the shapes do not match.
    """
    if not isinstance(bounding_boxes, dict) or not {"boxes", "labels"} <= bounding_boxes.keys():
        raise ValueError(
            f"Expected `bounding_boxes` argument to be a dict with keys 'boxes' and 'labels'. "
            f"Received: bounding_boxes={bounding_boxes}"
        )
    boxes, labels = bounding_boxes["boxes"], bounding_boxes["labels"]
    if isinstance(boxes, list) and boxes and isinstance(boxes[0], list) and boxes[0]:
        if not isinstance(labels, list) or len(labels) != len(boxes):
            raise ValueError(
                f"If `bounding_boxes['boxes']` is a list, then `bounding_boxes['labels']` must "
                f"also be a list, of the same length. Received: bounding_boxes['labels']={labels}"
            )
        if isinstance(boxes[0][0], list):
            longest = max(map(len, boxes))
            boxes = [rows + [[0, 0, 0, 0]] * (longest - len(rows)) for rows in boxes]
            labels = [[*row, *[-1] * (longest - len(row))] for row in labels]
    x, y = tf.cast(tf.convert_to_tensor(boxes), tf.float32), tf.convert_to_tensor(labels)
    if x.ndim not in (2, 3) or y.ndim not in (x.ndim - 1, x.ndim):
        raise ValueError(
            f"Expected `bounding_boxes['boxes']` to have rank 2 or 3, with shape (num_boxes, 4) or "
            f"(batch_size, num_boxes, 4), and labels without the last axis. Received: "
            f"boxes.shape={x.shape}, labels.shape={y.shape}"
        )
    return {**bounding_boxes, "boxes": x, "labels": y}
