"""Rows of image functions."""

import numpy as np
from op_case import ALL, Case, over

PICTURE = (4, 6, 2)


def resized(x, size, method="bilinear"):
    """Computed pixel by pixel."""
    found = np.zeros((*x.shape[:-3], *size, x.shape[-1]), x.dtype)
    for i in range(size[0]):
        for j in range(size[1]):
            at = [(k + 0.5) * n / m for k, n, m in zip((i, j), x.shape[-3:-1], size, strict=True)]
            if method == "nearest":
                found[..., i, j, :] = x[..., int(at[0]), int(at[1]), :]
                continue
            for a in (0, 1):
                for b in (0, 1):
                    low = [int(np.floor(u - 0.5)) for u in at]
                    part = [u - 0.5 - v for u, v in zip(at, low, strict=True)]
                    weight = [p if w else 1 - p for p, w in zip(part, (a, b), strict=True)]
                    u, v = (
                        min(max(k + w, 0), n - 1)
                        for k, w, n in zip(low, (a, b), x.shape[-3:-1], strict=True)
                    )
                    found[..., i, j, :] += x[..., u, v, :] * weight[0] * weight[1]
    return found


def standard(x):
    centred = x - x.mean((-3, -2, -1), keepdims=True)
    return centred / np.maximum(x.std((-3, -2, -1), keepdims=True), np.prod(x.shape[-3:]) ** -0.5)


CASES = [
    Case(
        "image.flip_left_right",
        lambda x: np.flip(x, -2),
        dtypes=ALL,
        ulp=0,
        variants=over(PICTURE, (2, *PICTURE)),
    ),
    Case(
        "image.flip_up_down",
        lambda x: np.flip(x, -3),
        dtypes=ALL,
        ulp=0,
        variants=over(PICTURE, (2, *PICTURE)),
    ),
    Case(
        "image.rgb_to_grayscale",
        lambda x: x @ np.array([[0.2989], [0.587], [0.114]], x.dtype),
        ulp=8,
        variants=over((2, 3, 3)),
    ),
    Case(
        "image.grayscale_to_rgb",
        lambda x: np.repeat(x, 3, -1),
        dtypes=ALL,
        ulp=0,
        variants=over((2, 3, 1)),
    ),
    Case(
        "image.adjust_brightness",
        lambda x, delta: x + delta,
        ulp=2,
        variants=over((2, 3, 1), delta=[0.25]),
    ),
    Case("image.per_image_standardization", standard, ulp=32, variants=over(PICTURE, (2, 3, 4, 1))),
    Case(
        "image.crop_to_bounding_box",
        lambda x, box: x[..., 1:3, 2:5, :],
        dtypes=ALL,
        ulp=0,
        call=lambda f, x, box: f(x, *box),
        variants=over(PICTURE, box=[(1, 2, 2, 3)]),
    ),
    Case(
        "image.pad_to_bounding_box",
        lambda x, box: np.pad(x, ((1, 1), (2, 1), (0, 0))),
        call=lambda f, x, box: f(x, *box),
        ulp=0,
        variants=over(PICTURE, box=[(1, 2, 6, 9)]),
    ),
    Case(
        "image.central_crop",
        lambda x, central_fraction: x[1:3, 1:5],
        dtypes=ALL,
        ulp=0,
        variants=over(PICTURE, central_fraction=[0.5]),
    ),
    Case(
        "image.resize", resized, ulp=64, variants=over(PICTURE, (2, 3, 4, 1), size=[(3, 5), (7, 2)])
    ),
    Case(
        "image.resize",
        resized,
        dtypes=ALL,
        ulp=0,
        variants=over(PICTURE, size=[(3, 5), (7, 2)], method=["nearest"]),
    ),
]
