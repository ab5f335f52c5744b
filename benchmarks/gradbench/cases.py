"""The evals of GradBench: their inputs, known values, and goals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]
Size = tuple[int, ...]
SEED = 31337
BITS = 14  # per character


@dataclass(frozen=True)
class Goal:
    """An upper limit on a figure of one of numtape's columns.

    Attributes:
      what: "ratio" for the gradient's time relative to its primal, "operation" for ns per
        operation of the primal, "stack" for bytes of stack, or "against" for the ratio to a
        peer's gradient.
      limit: The upper limit.
      form: The numtape column.
      peer: The peer's column.
    """

    what: str
    limit: float
    form: str = "numtape"
    peer: str = ""


@dataclass(frozen=True)
class GradBenchCase:
    """An eval at one size.

    Attributes:
      eval: The name of the eval and of its kernel.
      title: The title in the table.
      inputs: Returns the arguments of a size.
      size: The measured size.
      small: The size for quick runs and correctness checks.
      wanted: Indices of the differentiated arguments.
      operations: The number of additions and multiplications of the primal.
      goals: The goals.
      shorter: The size for slow libraries; the table scales their time by the number of operations.
    """

    eval: str
    title: str
    inputs: Callable[[Size], Arguments]
    size: Size
    small: Size
    wanted: tuple[int, ...]
    operations: Callable[[Size], float]
    goals: tuple[Goal, ...]
    shorter: dict[str, Size] = field(default_factory=dict)


def wave(size: int, start: int = 1) -> Array:
    """Deterministic numbers from a formula instead of a data file."""
    result: Array = np.sin(np.arange(start, size + start) ** 2.0)
    return result


def draw(sizes: list[int], which: int) -> Array:
    """The draw at index ``which`` of consecutive draws, as in GradBench."""
    state = np.random.RandomState(SEED)
    return [state.rand(size) for size in sizes[: which + 1]][which]


def det(size: Size) -> Arguments:
    """A matrix. Size: its number of rows, at least 5."""
    (rows,) = size
    sizes = [k * k for k in range(5, rows + 1)]
    return (draw(sizes, len(sizes) - 1).reshape(rows, rows),)


def text(characters: int) -> Array:
    """The opening of Shakespeare's sonnets, one character per row, highest bit first."""
    letters = Path(__file__).with_name("sonnets.txt").read_text(encoding="utf-8")
    codes = np.array([ord(letter) for letter in letters])
    codes = np.resize(codes, characters)
    return (codes[:, None] >> np.arange(BITS - 1, -1, -1) & 1).astype(float)


def lstm(size: Size) -> Arguments:
    """Parameters, initial state and text. Size: layers and characters."""
    layers, characters = size
    rng = np.random.default_rng(SEED)
    shapes = (2 * layers, 4 * BITS), (3, BITS), (2 * layers, BITS)
    return (*map(rng.random, shapes), text(characters))


def points(n: int) -> Array:
    """The points at which the polynomial is compared with the sign function."""
    return -1.0 + 2.0 * np.arange(n) / (n - 1)


def llsq(size: Size) -> Arguments:
    """Coefficients and points. Size: numbers of points and coefficients, index of the draw."""
    n, m, which = size
    return draw([m] * (which + 1), which), points(n)


def lse(size: Size) -> Arguments:
    """A vector of 2500 · 2^k elements. Size: the number of elements."""
    doublings = int(math.log2(size[0] / 2500))
    return (draw([2500 << k for k in range(doublings + 1)], doublings),)


ODES = [
    (1000, 1),
    (1000, 10),
    (10_000, 1),
    (1000, 100),
    (10_000, 10),
    (100_000, 1),
    (10_000, 100),
    (100_000, 10),
    (100_000, 100),
]


def ode(size: Size) -> Arguments:
    """Parameters, steps and weights of the results. Size: numbers of parameters and steps."""
    n, steps = size
    x = draw([length for length, _ in ODES], ODES.index((n, steps)))
    return x, steps, np.cos(np.arange(n))


def logistic(size: Size) -> Arguments:
    """A parameter with a cycle of period two, the start, and the steps. Size: the steps."""
    return 3.2, 0.3, size[0]


def _minors(rows: int) -> float:
    """The number of multiplications and additions of a determinant by minors."""
    return 2.0 * sum(math.factorial(rows) / math.factorial(k) for k in range(1, rows))


def _cells(size: Size) -> float:
    return 30.0 * size[0] * (size[1] - 1) * BITS


CASES = {
    "det": GradBenchCase(
        "det",
        "det, 11 rows by minors",
        det,
        (11,),
        (5,),
        (0,),
        lambda s: _minors(s[0]),
        (Goal("operation", 8.0), Goal("stack", 1 << 30)),
    ),
    "det_recursive": GradBenchCase(
        "det_recursive",
        "det, as one recursive kernel",
        det,
        (11,),
        (5,),
        (0,),
        lambda s: _minors(s[0]),
        (Goal("operation", 15.0),),
    ),
    "det_recomputed": GradBenchCase(
        "det_recomputed",
        "det, minors of 8 and of 5 done again",
        det,
        (11,),
        (9,),
        (0,),
        lambda s: _minors(s[0]),
        (Goal("stack", 1 << 20),),
    ),
    "lstm": GradBenchCase(
        "lstm",
        "lstm, 6 layers, 8192 characters",
        lstm,
        (6, 8192),
        (2, 32),
        (0, 1),
        _cells,
        (Goal("ratio", 1.6),),
        {"torch": (6, 256), "autograd": (6, 64)},
    ),
    "llsq": GradBenchCase(
        "llsq",
        "llsq, 16392 points, degree 127",
        llsq,
        (16_392, 128, 10),
        (64, 8, 2),
        (0,),
        lambda s: 3.0 * s[0] * s[1],
        (
            Goal("ratio", 1.6),
            Goal("against", 1.0, peer="PyTorch"),
            Goal("against", 1.0, peer="JAX"),
        ),
    ),
    "lse": GradBenchCase(
        "lse",
        "lse, 1.28 M",
        lse,
        (1_280_000,),
        (5000,),
        (0,),
        lambda s: 4.0 * s[0],
        (
            Goal("ratio", 1.6),
            Goal("against", 1.0, "array ops", "PyTorch"),
            Goal("against", 1.0, "array ops", "JAX"),
        ),
    ),
    "ode": GradBenchCase(
        "ode",
        "ode, 10⁵ parameters, 100 steps",
        ode,
        (100_000, 100),
        (1000, 10),
        (0,),
        lambda s: 16.0 * s[0] * s[1],
        (Goal("ratio", 3.2), Goal("against", 0.7, peer="JAX")),
    ),
    "ode_small": GradBenchCase(
        "ode",
        "ode, 10⁴ parameters, 100 steps",
        ode,
        (10_000, 100),
        (1000, 1),
        (0,),
        lambda s: 16.0 * s[0] * s[1],
        (Goal("against", 1.0, peer="JAX"),),
    ),
    "logistic": GradBenchCase(
        "logistic",
        "10⁶ steps of y = r·y·(1 - y)",
        logistic,
        (1_000_000,),
        (1000,),
        (0, 1),
        lambda s: 3.0 * s[0],
        (Goal("operation", 3.0),),
        {"torch": (10_000,), "autograd": (10_000,)},
    ),
}


@dataclass(frozen=True)
class Known:
    """A reference value and parts of its gradient from an independent computation.

    The keys of ``gradient`` are indices into the flat gradient, or "sum", "l2" (the Euclidean
    norm) and "dot" (the dot product with the cosines of the indices).
    """

    eval: str
    arguments: Arguments
    wanted: tuple[int, ...]
    value: float
    gradient: dict[int | str, float]


def _one_of(n: int) -> Array:
    weights = np.zeros(n)
    weights[-1] = 1.0
    return weights


_PARAMETERS = np.array([0.5, 1.5, 2.0, 0.25])

KNOWN = [
    Known(
        "det",
        (wave(16).reshape(4, 4),),
        (0,),
        3.1883805023224907,
        {0: 1.935255667186372, 1: -1.603093728706799, 15: -2.0244857200769384},
    ),
    Known(
        "det",
        det((5,)),
        (0,),
        0.004911350094511796,
        {
            0: 0.01764620641315337,
            1: 0.004053669904135025,
            2: 0.008596482175427978,
            24: 0.07963666418758746,
        },
    ),
    *(
        Known(
            name,
            det((5,)),
            (0,),
            0.004911350094511796,
            {
                0: 0.01764620641315337,
                1: 0.004053669904135025,
                2: 0.008596482175427978,
                24: 0.07963666418758746,
            },
        )
        for name in ("det_recursive", "det_recomputed")
    ),
    Known(
        "lstm",
        (
            wave(48).reshape(4, 12),
            wave(9, 2).reshape(3, 3),
            wave(12, 3).reshape(4, 3),
            (wave(15).reshape(5, 3) > 0).astype(float),
        ),
        (0, 1),
        0.5571809096613585,
        {0: 1.3612270743900109e-07, 28: 0.00374321460287985, 56: 0.02659165121497143},
    ),
    Known("ode", (_PARAMETERS, 1, _one_of(4)), (0,), 0.25, {0: 1 / 2, 1: 1 / 6, 2: 1 / 8, 3: 1.0}),
    Known(
        "ode",
        (_PARAMETERS, 1, np.cos(np.arange(4))),
        (0,),
        float(np.cos(np.arange(4)) @ [1.0, 1.5, 2.0, 0.25]),
        {
            0: 1.4613233231156266,
            1: -0.17955889229479105,
            2: -0.539895898622198,
            3: -0.9899924966004454,
        },
    ),
    Known(
        "ode",
        (1.0 + wave(8) / 2, 2, _one_of(8)),
        (0,),
        0.0005691409191037018,
        {0: 0.0004005959745122506, 1: 0.0009156082069914912},
    ),
    Known("ode", (ode((1000, 10))[0], 10, np.ones(1000)), (0,), 3.416025743136253, {}),
    Known(
        "ode", ode((1000, 10)), (0,), math.nan, {"sum": 2.1593910274477186, "l2": 2.509538013504239}
    ),
    Known(
        "lse",
        lse((2500,)),
        (0,),
        8.367846526577088,
        {0: 0.0004779547863593654, "l2": 0.020802438229665446, "dot": 0.004437663190402232},
    ),
    Known(
        "llsq",
        llsq((16, 128, 0)),
        (0,),
        1970.5168637678773,
        {
            0: 75.42893129363712,
            1: 64.46502277451748,
            "sum": 8045.989044528462,
            "l2": 711.4628545731052,
        },
    ),
    Known(
        "llsq",
        (wave(5), points(7)),
        (0,),
        11.695938023214026,
        {
            0: 6.852184736393043,
            1: -7.051151591159885,
            2: 3.326829385947194,
            3: -5.125089257321412,
            4: 2.6588084562646115,
        },
    ),
]


def figure(gradient: Array, key: int | str) -> float:
    """The part of a flat gradient with a key of `Known.gradient`."""
    if isinstance(key, int):
        return float(gradient[key])
    if key == "dot":
        return float(gradient @ np.cos(np.arange(len(gradient))))
    return float(gradient.sum() if key == "sum" else np.sqrt(gradient @ gradient))
