"""Boxes in images: selection by scores, drawing, and random boxes.

NumPy computes these functions, which have no gradient: a traced call that uses one runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .arguments import describe, to_array

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, NumberLike, TensorLike

Array = np.ndarray[Any, Any]
_LOWEST = float("-inf")
_ERRORS = "InvalidArgumentError: If a shape or a threshold is invalid."


# --- Selection -----------------------------------------------------------------------------------


def _overlap(boxes: Array) -> Callable[[int, int], float]:
    """Return a function of two indices: the intersection of two boxes over their union."""
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    high = np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = np.prod(high - low, 1)

    def overlap(i: int, j: int) -> float:
        if areas[i] <= 0 or areas[j] <= 0:
            return 0.0
        sides = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
        intersection = np.prod(np.maximum(sides, 0))
        return float(intersection / (areas[i] + areas[j] - intersection))

    return overlap


def _select(
    overlap: Callable[[int, int], float],
    scores: Array,
    count: int,
    threshold: float,
    score_threshold: float,
    sigma: float = 0.0,
) -> tuple[list[int], list[float]]:
    """Select boxes greedily by score; return their indices and scores.

    With a ``sigma``, the score of a box that overlaps selected boxes shrinks, and the box waits
    until it is the best one again.
    """
    queue: list[tuple[float, int, int]] = []
    for i, score in enumerate(scores.tolist()):
        if score > score_threshold:
            heappush(queue, (-score, i, 0))
    indices: list[int] = []
    kept_scores: list[float] = []
    while queue and len(indices) < count:
        negative, i, start = heappop(queue)
        score = previous = -negative
        is_suppressed = False
        for j in range(len(indices) - 1, start - 1, -1):
            similarity = overlap(i, indices[j])
            if similarity > threshold and not sigma:
                is_suppressed = True
                break
            if sigma:
                weight = np.exp(-0.5 / sigma * similarity * similarity)
                score *= float(weight)
                if score <= score_threshold:
                    break
        if is_suppressed:
            continue
        if score == previous:
            indices.append(i)
            kept_scores.append(score)
        elif score > score_threshold:
            heappush(queue, (-score, i, len(indices)))
    return indices, kept_scores


def _parse(boxes: TensorLike, scores: TensorLike, rank: int, function: str) -> tuple[Array, Array]:
    box_array, score_array = to_array(boxes, function), to_array(scores, function)
    if box_array.ndim != rank or box_array.shape[-1] != 4:
        raise InvalidArgumentError(f"boxes must be {rank}-D and of 4 numbers: {box_array.shape}")
    if score_array.shape != box_array.shape[:-1]:
        raise InvalidArgumentError(
            f"scores has incompatible shape {score_array.shape} for boxes {box_array.shape}"
        )
    return box_array.astype(np.float32), score_array


def _parse_thresholds(count: IntLike, threshold: NumberLike) -> tuple[int, float]:
    most, limit = int(count), float(threshold)
    if not 0 <= limit <= 1:
        raise InvalidArgumentError("iou_threshold must be in [0, 1]")
    if most < 0:
        raise InvalidArgumentError("max_output_size must be non-negative")
    return most, limit


@describe("The indices of the selected boxes, int32, best first.", _ERRORS)
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: NumberLike = 0.5,
    score_threshold: NumberLike = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Select the boxes of the best scores that do not overlap much.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
    >>> tf.image.non_max_suppression(boxes, [0.7, 0.9, 0.5], 3).numpy()
    array([1, 2], dtype=int32)
    """
    x, values = _parse(boxes, scores, 2, "non_max_suppression")
    count, limit = _parse_thresholds(max_output_size, iou_threshold)
    indices, _ = _select(_overlap(x), values, count, limit, float(score_threshold))
    return tf.constant(indices, tf.int32, (len(indices),))


@describe("The indices of the selected boxes, int32, and their scores.", _ERRORS)
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: NumberLike = 0.5,
    score_threshold: NumberLike = _LOWEST,
    soft_nms_sigma: NumberLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Select boxes as `non_max_suppression` does, or reduce the scores of overlapping boxes.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 1.0, 1.5]]
    >>> indices, scores = tf.image.non_max_suppression_with_scores(
    ...     boxes, [0.9, 0.8], 2, soft_nms_sigma=0.5
    ... )
    >>> indices.numpy(), scores.numpy().round(3)
    (array([0, 1], dtype=int32), array([0.9  , 0.716], dtype=float32))
    """
    x, values = _parse(boxes, scores, 2, "non_max_suppression_with_scores")
    count, limit = _parse_thresholds(max_output_size, iou_threshold)
    if float(soft_nms_sigma) < 0:
        raise InvalidArgumentError("soft_nms_sigma must be non-negative")
    indices, selected_scores = _select(
        _overlap(x), values, count, limit, float(score_threshold), float(soft_nms_sigma)
    )
    result = np.asarray(selected_scores, values.dtype)
    return tf.constant(indices, tf.int32, (len(indices),)), tf.convert_to_tensor(result)


@describe("The indices of the selected boxes, int32, best first.", _ERRORS)
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    overlap_threshold: NumberLike = 0.5,
    score_threshold: NumberLike = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Select the boxes of the best scores by their given overlaps.

    >>> overlaps = [[1.0, 0.8], [0.8, 1.0]]
    >>> tf.image.non_max_suppression_overlaps(overlaps, [0.5, 0.6], 2).numpy()
    array([1], dtype=int32)
    """
    function = "non_max_suppression_overlaps"
    table, values = to_array(overlaps, function), to_array(scores, function)
    if table.shape != (len(values), len(values)):
        raise InvalidArgumentError(
            f"overlaps must be square, of the size of the scores: {table.shape}"
        )
    indices, _ = _select(
        lambda i, j: float(table[i, j]),
        values,
        int(max_output_size),
        float(overlap_threshold),
        float(score_threshold),
    )
    return tf.constant(indices, tf.int32, (len(indices),))


@describe(
    "The indices of the selected boxes, padded with zeros if asked for, and their number.",
    _ERRORS + "\nValueError: If batches are not padded.",
    boxes="Boxes (boxes, 4), or (..., boxes, 4) if the result is padded.",
)
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: NumberLike = 0.5,
    score_threshold: NumberLike = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """Select boxes as `non_max_suppression` does, and pad the result.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]]
    >>> indices, count = tf.image.non_max_suppression_padded(
    ...     boxes, [0.7, 0.9], 3, pad_to_max_output_size=True
    ... )
    >>> indices.numpy(), count.numpy()
    (array([1, 0, 0], dtype=int32), np.int32(2))
    """
    function = "non_max_suppression_padded"
    rank = as_tensor(boxes).ndim
    x, values = _parse(boxes, scores, rank, function)
    count, limit = _parse_thresholds(max_output_size, iou_threshold)
    if rank > 2 and not pad_to_max_output_size:
        raise ValueError("'pad_to_max_output_size' must be true for batches of boxes.")
    batch = x.shape[:-2]
    rows: list[list[int]] = []
    for row, row_scores in zip(
        x.reshape(-1, *x.shape[-2:]), values.reshape(-1, x.shape[-2]), strict=True
    ):
        rows.append(_select(_overlap(row), row_scores, count, limit, float(score_threshold))[0])
    counts = np.array([len(row) for row in rows], np.int32).reshape(batch)
    if pad_to_max_output_size:
        rows = [row + [0] * (count - len(row)) for row in rows]
        indices = np.array(rows, np.int32).reshape(*batch, count)
    else:
        indices = np.array(rows[0], np.int32)
    return tf.convert_to_tensor(indices), tf.convert_to_tensor(counts)


class CombinedNonMaxSuppression(NamedTuple):
    """The result of `combined_non_max_suppression`."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


@describe(
    "A named tuple: boxes (batch, boxes, 4), scores and classes (batch, boxes), and the number of "
    "boxes in each image.",
    _ERRORS,
    boxes="Boxes (batch, boxes, classes, 4); one class for boxes that classes share.",
    scores="The scores (batch, boxes, classes).",
)
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: IntLike,
    max_total_size: IntLike,
    iou_threshold: NumberLike = 0.5,
    score_threshold: NumberLike = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Select boxes of each class, and the best ones of them in each image.

    >>> boxes = [[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 0.5, 0.5]]]]
    >>> result = tf.image.combined_non_max_suppression(boxes, [[[0.9], [0.8]]], 2, 2)
    >>> result.nmsed_scores.numpy(), result.valid_detections.numpy()
    (array([[0.9, 0.8]], dtype=float32), array([2], dtype=int32))
    """
    function = "combined_non_max_suppression"
    x = to_array(boxes, function, np.float32)
    values = to_array(scores, function, np.float32)
    if x.ndim != 4 or values.ndim != 3 or x.shape[:2] != values.shape[:2] or x.shape[3] != 4:
        raise InvalidArgumentError(
            f"boxes must be 4-D and scores 3-D, of the same batch: {x.shape}, {values.shape}"
        )
    classes = values.shape[2]
    if x.shape[2] not in (1, classes):
        raise InvalidArgumentError(
            f"third dimension of boxes must be either 1 or equal to the {classes} classes"
        )
    each, limit = _parse_thresholds(max_output_size_per_class, iou_threshold)
    total = int(max_total_size)
    if each <= 0 or total <= 0:
        raise InvalidArgumentError("max_size_per_class and max_total_size should be > 0")
    size = min(total, each * classes) if pad_per_class else total
    out_boxes = np.zeros((len(x), size, 4), np.float32)
    out_scores, out_classes = np.zeros((2, len(x), size), np.float32)
    counts = np.zeros(len(x), np.int32)
    for image in range(len(x)):
        selected = []
        for k in range(classes):
            of_class = x[image, :, min(k, x.shape[2] - 1)]
            indices, scores_of_class = _select(
                _overlap(of_class), values[image, :, k], each, limit, float(score_threshold)
            )
            selected += [
                (-s, k, of_class[i]) for s, i in zip(scores_of_class, indices, strict=True)
            ]
        selected = sorted(selected, key=lambda row: row[:1])[:size]
        counts[image] = len(selected)
        for row, (negative, k, box) in enumerate(selected):
            out_boxes[image, row] = np.clip(box, 0, 1) if clip_boxes else box
            out_scores[image, row], out_classes[image, row] = -negative, k
    results = (tf.convert_to_tensor(a) for a in (out_boxes, out_scores, out_classes, counts))
    return CombinedNonMaxSuppression(*results)


# --- Drawing -------------------------------------------------------------------------------------

_COLOURS = [
    [1, 1, 0, 1],
    [0, 0, 1, 1],
    [1, 0, 0, 1],
    [0, 1, 0, 1],
    [0.5, 0, 0.5, 1],
    [0.5, 0.5, 0, 1],
    [0.5, 0, 0, 1],
    [0, 0, 0.5, 1],
    [0, 1, 1, 1],
    [1, 0, 1, 1],
]


@describe(
    "A tensor of the same shape and dtype.",
    "InvalidArgumentError: If a shape does not match.",
    images="A tensor of shape (batch, height, width, channels), of one, three or four channels.",
    boxes="Boxes (batch, boxes, 4) of (top, left, bottom, right), from 0 to 1.",
)
def draw_bounding_boxes(
    images: TensorLike,
    boxes: TensorLike,
    colors: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw the edges of boxes, one pixel wide.

    >>> x = tf.zeros((1, 3, 3, 1))
    >>> box = [[[0.0, 0.0, 1.0, 1.0]]]
    >>> tf.image.draw_bounding_boxes(x, box, [[1.0]]).numpy()[0, :, :, 0]
    array([[1., 1., 1.],
           [1., 0., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    function = "draw_bounding_boxes"
    picture = np.array(to_array(images, function))
    rows = to_array(boxes, function, np.float32)
    if picture.ndim != 4 or picture.shape[-1] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"images must be 4-D with 1, 3 or 4 channels, got shape {picture.shape}"
        )
    if rows.ndim != 3 or rows.shape[0] != len(picture) or rows.shape[2] != 4:
        raise InvalidArgumentError(f"boxes must have shape (batch, boxes, 4), got {rows.shape}")
    table = np.asarray(_COLOURS, np.float32)
    if colors is not None and np.size(to_array(colors, function)):
        table = to_array(colors, function, np.float32)
        if table.ndim != 2 or table.shape[1] < picture.shape[-1]:
            raise InvalidArgumentError(f"colors must have shape (colors, channels): {table.shape}")
    elif picture.shape[-1] == 1:
        table = np.ones_like(table)
    height, width, channels = picture.shape[1:]
    scale = np.array([height - 1, width - 1] * 2, np.float32)
    for image, image_rows in zip(picture, rows, strict=True):
        for number, box in enumerate(image_rows):
            top, left, bottom, right = np.trunc(box * scale).astype(int).tolist()
            if top > bottom or left > right:
                continue
            if top >= height or bottom < 0 or left >= width or right < 0:
                continue
            colour = table[number % len(table), :channels].astype(picture.dtype)
            inside_rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            inside_columns = slice(max(left, 0), min(right, width - 1) + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    image[row, inside_columns] = colour
            for column in (left, right):
                if 0 <= column < width:
                    image[inside_rows, column] = colour
    return tf.convert_to_tensor(picture)


# --- Random boxes --------------------------------------------------------------------------------


class DistortedBox(NamedTuple):
    """The result of `sample_distorted_bounding_box`: arguments of `tf.slice`, and the box."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


_SAMPLE = (
    "A named tuple: ``begin`` and ``size`` for `tf.slice`, and the box (1, 1, 4) for "
    "`draw_bounding_boxes`.",
    "InvalidArgumentError: If an argument is out of range, or there are no boxes.",
)


@describe(*_SAMPLE)
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = 0,
    min_object_covered: NumberLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBox:
    """Draw a random box that contains a part of one of the given boxes.

    >>> result = tf.image.sample_distorted_bounding_box([8, 8, 3], [[[0.0, 0.0, 1.0, 1.0]]])
    >>> result.bboxes.shape
    TensorShape([1, 1, 4])
    """
    state = tf.random.uniform([2], 0, 2**31 - 1, tf.int32, seed=seed or None)
    return _sample(
        image_size,
        bounding_boxes,
        state,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


@describe(*_SAMPLE)
def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: NumberLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBox:
    """Draw a random box that contains a part of one of the given boxes, determined by a seed.

    The numbers are not TensorFlow's.

    >>> boxes = [[[0.0, 0.0, 1.0, 1.0]]]
    >>> result = tf.image.stateless_sample_distorted_bounding_box([8, 8, 3], boxes, (1, 2))
    >>> result.size.numpy()[-1]
    np.int32(-1)
    """
    return _sample(
        image_size,
        bounding_boxes,
        seed,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


def _sample(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: NumberLike,
    aspect_ratio_range: Sequence[float] | None,
    area_range: Sequence[float] | None,
    max_attempts: int | None,
    use_image: bool | None,
) -> DistortedBox:
    function = "sample_distorted_bounding_box"
    sizes = to_array(image_size, function)
    boxes = to_array(bounding_boxes, function, np.float64)
    if sizes.shape != (3,) or boxes.ndim != 3 or boxes.shape[-1] != 4:
        raise InvalidArgumentError(
            f"image_size must have 3 elements and boxes 3 axes: {sizes.shape}, {boxes.shape}"
        )
    ratios = (0.75, 1.33) if aspect_ratio_range is None else tuple(aspect_ratio_range)
    areas = (0.05, 1.0) if area_range is None else tuple(area_range)
    if len(ratios) != 2 or not 0 < ratios[0] <= ratios[1]:
        raise InvalidArgumentError(f"aspect_ratio_range must be positive and increasing: {ratios}")
    if len(areas) != 2 or not 0 < areas[0] <= areas[1] <= 1:
        raise InvalidArgumentError(f"area_range must be in (0, 1] and increasing: {areas}")
    boxes = boxes.reshape(-1, 4)
    if not len(boxes):
        if not use_image:
            raise InvalidArgumentError(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        boxes = np.array([[0.0, 0.0, 1.0, 1.0]])
    height, width = int(sizes[0]), int(sizes[1])
    rng = np.random.default_rng([int(n) % 2**64 for n in to_array(seed, function).ravel()])
    scaled = boxes * np.array([height, width] * 2)
    top, left, rows, columns = 0, 0, height, width
    for _ in range(100 if max_attempts is None else max_attempts):
        crop = _draw_crop(rng, (height, width), areas, float(rng.uniform(*ratios)))
        if crop is not None and _covers(crop, scaled, float(min_object_covered)):
            top, left, rows, columns = crop
            break
    edges = [top / height, left / width, (top + rows) / height, (left + columns) / width]
    kind = tf.as_dtype(sizes.dtype)
    return DistortedBox(
        tf.constant([top, left, 0], kind),
        tf.constant([rows, columns, -1], kind),
        tf.constant([[edges]], tf.float32),
    )


def _draw_crop(
    rng: np.random.Generator, size: tuple[int, int], areas: Sequence[float], ratio: float
) -> tuple[int, int, int, int] | None:
    """Draw (top, left, height, width) of a ratio of width to height; None if that fails."""
    height, width = size
    smallest, largest = (fraction * height * width for fraction in areas)
    rows, most = (round(float(np.sqrt(area / ratio))) for area in (smallest, largest))
    if round(most * ratio) > width:
        most = int((width + 0.5 - 1e-7) / ratio)
        most -= round(most * ratio) > width
    most = min(most, height)
    rows = min(rows, most)
    if rows < most:
        rows += int(rng.integers(0, most - rows + 1))
    columns = round(rows * ratio)
    if columns * rows < smallest:
        rows += 1
        columns = round(rows * ratio)
    if columns * rows > largest:
        rows -= 1
        columns = round(rows * ratio)
    is_valid = smallest <= columns * rows <= largest and 0 < columns <= width and 0 < rows <= height
    if not is_valid:
        return None
    top = int(rng.integers(0, height - rows + 1))
    left = int(rng.integers(0, width - columns + 1))
    return top, left, rows, columns


def _covers(crop: tuple[int, int, int, int], boxes: Array, fraction: float) -> bool:
    """Return whether a crop contains a fraction of the area of one of the boxes."""
    low, high = np.array(crop[:2]), np.array(crop[:2]) + np.array(crop[2:])
    sides = np.minimum(high, boxes[:, 2:]) - np.maximum(low, boxes[:, :2])
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], 1)
    covered = np.prod(np.maximum(sides, 0), 1)
    return bool(np.any((areas > 0) & (covered >= fraction * areas)))
