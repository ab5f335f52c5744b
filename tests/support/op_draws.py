"""Operands for the rows of the op table: random and special values, dtypes and strides."""

import math

import numpy as np
from devices import SIMULATED

# Sizes around the block widths of lane groups.
BORDERS = [1, 7, 301] if SIMULATED else [1, 7, 63, 64, 65, 1023, 1024, 1025, 5000]


LARGEST = 1000 if SIMULATED else 10**6


SHAPES = {
    1: [((),), ((0,),), ((2, 0, 3),), ((3, 4),)],
    2: [
        ((3, 1), (1, 4)),
        ((), (5,)),
        ((2, 3), ()),
        ((1,), ()),
        ((2, 3, 4), (4,)),
        ((0, 3), (3,)),
        ((3, 4), (2, 1, 4)),
        ((5, 1, 1, 2), (3, 1, 2)),
        ((1, 0), (2, 1)),
        ((3, 1030), (3, 1)),
    ],
    3: [
        ((3, 1), (1, 4), ()),
        ((), (2, 3), (3,)),
        ((1,), (), (1, 1)),
        ((0,), (1,), ()),
        ((2, 1, 1), (3, 1), (4,)),
        ((2, 1030), (1030,), (2, 1)),
    ],
}


def draw(case, shapes, dtype, seed=0):
    """Random operands of these shapes, from the row's ranges."""
    random, kind = np.random.default_rng(seed), np.dtype(dtype)
    ranges = case.ints if kind.kind in "iu" else case.ranges
    ranges = [*ranges, *[ranges[-1]] * len(shapes)]
    operands = []
    for shape, span in zip(shapes, ranges, strict=False):
        if span is bool or kind.kind == "b":
            operands.append(random.random(shape) < 0.5)
        elif kind.kind == "f":
            operands.append(random.uniform(*span, shape).astype(kind))
        else:
            low, high = max(span[0], np.iinfo(kind).min), span[1]
            operands.append(random.integers(low, high + 1, shape).astype(kind))
    return [np.asarray(x) for x in operands]


def arity(case):
    return len(case.ranges)


def widened(case, shapes):
    """The shapes; the first is replaced by the result's if the row requires it."""
    return (np.broadcast_shapes(*shapes), *shapes[1:]) if case.widest else shapes


def variants(case):
    """Shapes and options with which the row is tested."""
    if not case.elementwise:
        return [variant for variant in case.variants if largest(variant[0]) <= LARGEST]
    shapes = [*SHAPES[arity(case)], *(((n,),) * arity(case) for n in BORDERS)]
    shapes = [widened(case, found) for found in shapes]
    shapes = [found for found in shapes if largest(found) <= LARGEST]
    return [(shape, options) for shape in shapes for options in case.options]


def largest(shapes):
    """The number of elements of the largest shape."""
    return max((math.prod(shape) for shape in shapes), default=0)


def special(case, dtype):
    """Special operands, and options."""
    kind = np.dtype(dtype)
    if case.special is not None:
        return [
            ([np.array(x, kind) for x in operands], options)
            for operands, options in case.special
            if kind.kind == "f"
        ]
    if not case.elementwise:
        return []
    if kind.kind == "f":
        limits = np.finfo(kind)
        numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            -3.0,
            7.25,
            np.inf,
            -np.inf,
            np.nan,
            limits.max,
            limits.min,
            limits.tiny,
            limits.eps,
            -limits.eps,
        ]
    elif kind.kind == "b":
        numbers = [False, True]
    else:
        numbers = [0, 1, 2, 3, np.iinfo(kind).max, np.iinfo(kind).min, -1, -7]
        numbers = [x for x in numbers if x >= np.iinfo(kind).min]
    operands = []
    for j, span in enumerate(case.ranges):
        low = case.ints[j][0] if kind.kind in "iu" and case.ints[j] is not bool else None
        # An integer divisor is not 0, an integer exponent not negative.
        fit = [x for x in numbers if low is None or (x if low == 1 else low < 0 or x >= 0)]
        values = np.array([False, True] if span is bool else fit, bool if span is bool else kind)
        operands.append(values.reshape((-1,) + (1,) * (arity(case) - 1 - j)))
    operands[0] = np.broadcast_to(operands[0], widened(case, [x.shape for x in operands])[0])
    return [(operands, options) for options in case.options]


SMALL = 12 if SIMULATED else 100  # elements for central differences


def smooth(case):
    """Shapes and options for derivatives."""
    if not case.elementwise:
        least = min(filter(None, (largest(shapes) for shapes, _ in case.variants)), default=0)
        return [(s, o) for s, o in case.variants if largest(s) <= max(SMALL, least)]
    shapes = {1: [(3,), ()], 2: [(3, 1), (1, 2)], 3: [(2, 1), (2,), (2, 2)]}[arity(case)]
    sets = [(x,) for x in shapes] if arity(case) == 1 else [tuple(shapes), tuple(shapes[::-1])]
    return [(widened(case, shape), options) for shape in sets for options in case.options]


def ops_of(tf, case):
    """The ops in the rows that a case records: forward, first and second derivative."""
    from numtape.core.log.log import local
    from numtape.core.log.op import CODES

    found = set()
    for dtype in case.dtypes:
        for shapes, options in smooth(case):
            tensors = [tf.constant(x) for x in draw(case, shapes, dtype)]
            watched = [x for x in tensors if x.dtype.is_floating]
            with tf.GradientTape() as second:
                second.watch(watched)
                with tf.GradientTape() as first:
                    first.watch(watched)
                    results = tf.nest.flatten(case.function(tf)(*tensors, **options))
                weights = [tf.ones_like(y) for y in results]
                second.watch([w for w in weights if w.dtype.is_floating])
                if case.order > 0:
                    gradients = first.gradient(results, watched, weights, "zero")
                    gradients = list(map(tf.convert_to_tensor, gradients))
            if case.order > 0:
                second.gradient(gradients, [*watched, *weights])
            found.update(CODES.entries[code][0] for code in local.log.code[: local.log.n])
    return found
