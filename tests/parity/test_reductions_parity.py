"""Reductions, segments, sorting and counts: each call in numtape and an installed TensorFlow.

Values and first derivatives agree within rounding; shapes, dtypes, None and kinds of exceptions are
equal. Intentional differences are not among the calls.
"""

import numpy as np
import pytest
from tensorflow_reference import installed

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]
inf, nan = np.inf, np.nan
A = np.array([[1.5, -2.0, 0.25], [3.0, 0.0, -1.0]])
V = np.array([2.0, -1.0, 2.0, 0.5, 3.0])
SORTED = ["[0, 0, 1, 1, 3]", "[0, 0, 0, 0, 0]", "[0, 2, 1, 1, 1]", "[-1, 0, 0, 1, 1]", "[0, 1]"]
IDS = ["[2, 0, 2, -1, 1]", "[0, 0, 0, 0, 0]", "[0, 1, 2, 3, 4]"]
AXES = ["0", "1", "-1", "(0, 1)", "None", "2"]

# Expressions of tf and x, each for several x.
VECTORS = [
    *(
        f"tf.math.segment_{k}(x, {ids})"
        for k in ("sum", "mean", "max", "min", "prod")
        for ids in SORTED
    ),
    *(
        f"tf.math.unsorted_segment_{k}(x, {ids}, {n})"
        for k in ("sum", "max", "min", "prod")
        for ids in IDS
        for n in (3, 5)
    ),
    *(f"tf.math.unsorted_segment_{k}(x, {ids}, 5)" for k in ("mean", "sqrt_n") for ids in IDS),
    *(
        f"tf.math.{k}(x, exclusive={e}, reverse={r})"
        for k in ("cumsum", "cumprod")
        for e in (False, True)
        for r in (False, True)
    ),
    *(f"tf.math.cumulative_logsumexp(x, reverse={r})" for r in (False, True)),
    *(f"tf.math.top_k(x, {k})[{part}]" for k in (0, 1, 3, 5, 6, -1) for part in (0, 1)),
    *(f"tf.sort(x, direction={d!r})" for d in ("ASCENDING", "DESCENDING", "other")),
    "tf.argsort(x, direction='DESCENDING', stable=True)",
    "tf.sort(x, axis=1)",
    *(f"tf.unique(x)[{part}]" for part in (0, 1)),
    "tf.unique_with_counts(x)[2]",
    "tf.searchsorted([-1, 0, 2, 2, 3], tf.cast(x, tf.int32))",
    "tf.searchsorted([-1, 0, 2, 2, 3], tf.cast(x, tf.int32), side='right', out_type=tf.int64)",
    "tf.math.bincount(tf.cast(x * x, tf.int32))",
    "tf.math.bincount(tf.cast(x, tf.int32))",
    "tf.math.bincount(tf.cast(x * x, tf.int32), minlength=12)",
    "tf.math.bincount(tf.cast(x * x, tf.int32), maxlength=3)",
    "tf.math.bincount([0, 1, 1, 4, 2], weights=x)",
    "tf.math.bincount([0, 1, 1, 4, 2], weights=x, binary_output=True)",
    "tf.math.confusion_matrix([0, 1, 1, 4, 2], [0, 1, 2, 4, 2], weights=x, dtype=x.dtype)",
    "tf.math.confusion_matrix([0, 1, 1, 4, 2], [0, 1, 2, 4, 2], num_classes=3)",
    "tf.math.confusion_matrix([0, 1, 1, 4, 2], [0, 1, 2, 4, -2])",
    "tf.histogram_fixed_width(tf.cast(x, tf.float32), [-1.0, 2.0], nbins=4)",
    "tf.histogram_fixed_width_bins(tf.cast(x, tf.float32), [-1.0, 2.0], nbins=4)",
    "tf.histogram_fixed_width(tf.cast(x, tf.float32), [2.0, 2.0], nbins=4)",
    "tf.add_n([x, x * x, x])",
    "tf.add_n([])",
    "tf.add_n([x, x[:2]])",
    "tf.linalg.global_norm([x, x[:2], None])",
    "tf.linalg.global_norm(x)",
    *(f"tf.clip_by_global_norm([x, x[:2]], {c})[0][0]" for c in (1.0, 100.0)),
    *(f"tf.clip_by_norm(x, {c})" for c in (1.0, 100.0, -1.0)),
]
MATRICES = [
    *(
        f"tf.math.{k}(x, axis={a})"
        for k in (
            "reduce_euclidean_norm",
            "count_nonzero",
            "reduce_std",
            "reduce_variance",
            "reduce_sum",
            "reduce_prod",
            "reduce_max",
            "reduce_mean",
            "reduce_logsumexp",
        )
        for a in AXES
    ),
    *(f"tf.math.l2_normalize(x, axis={a})" for a in AXES[:5]),
    *(
        f"tf.math.{k}(x, axis={a})"
        for k in ("cumsum", "cumprod", "argmax", "argmin")
        for a in ("0", "1", "-1", "2")
    ),
    *(f"tf.clip_by_norm(x, 1.0, axes={a})" for a in AXES),
    *(
        f"tf.nn.weighted_moments(x, {a}, [[1.0], [3.0]])[{k}]"
        for a in ("[0]", "[0, 1]")
        for k in (0, 1)
    ),
    *(f"tf.nn.sufficient_statistics(x, {a})[{k}]" for a in ("[0]", "[0, 1]") for k in (0, 1, 2)),
    "tf.math.zero_fraction(x)",
    "tf.sort(x, axis=0)",
    "tf.math.top_k(x, 2)[0]",
    "tf.math.in_top_k([0, 1], tf.cast(x, tf.float32), 2)",
    "tf.math.segment_sum(x, [0, 1])",
    "tf.math.unsorted_segment_mean(x, [1, 1], 3)",
    "tf.math.unsorted_segment_sum(x, [[0, 1, 0], [2, -1, 1]], 3)",
]
RANDOM = [
    *(
        f"tf.random.stateless_{k}([7], {seed}, dtype=tf.{dtype})"
        for k in ("normal", "uniform", "truncated_normal")
        for seed in ([1, 2], [-5, 2**40])
        for dtype in ("float32", "float64")
    ),
    *(
        f"tf.random.stateless_uniform([5], [3, 4], {low}, {high}, dtype=tf.{dtype})"
        for low, high in ((0, 10), (-7, 2**31 - 1), (None, None), (5, 5))
        for dtype in ("int32", "int64", "uint32")
    ),
    *(
        f"tf.random.stateless_gamma([6, 1], [1, {k}], {alpha}, {beta}, dtype=tf.float64)"
        for k in (2, 3)
        for alpha in (0.2, 1.0, 7.5, [3.0])
        for beta in (None, 2.0)
    ),
    *(
        f"tf.random.stateless_poisson([6], [1, {k}], {rate})"
        for k in (2, 3)
        for rate in (0.0, 0.5, 9.9, 10.0, 55.0, -1.0)
    ),
    *(
        f"tf.random.stateless_categorical([[0.1, 2.0, -1.0], [0.0, 0.0, 5.0]], {n}, [4, 5])"
        for n in (0, 5, 20, -1)
    ),
    *(
        f"tf.random.Generator.from_seed({seed}).{call}"
        for seed in (0, 1234, -3, 2**70)
        for call in (
            "normal([5])",
            "uniform([5], 2.0, 3.0)",
            "truncated_normal([5], dtype=tf.float64)",
            "uniform_full_int([3])",
            "make_seeds(2)",
            "skip(3)",
            "key",
        )
    ),
]


def happens(tf, expression, x):
    """The value of an expression and the gradient of its sum, or the exception."""
    found = {}
    try:
        tensor = None if x is None else tf.constant(x)
        with tf.GradientTape() as tape:
            if tensor is not None:
                tape.watch(tensor)
            y = eval(expression, {"tf": tf, "x": tensor, "inf": inf, "nan": nan})
        found["value"] = y
        if tensor is not None and y.dtype.is_floating and tensor.dtype.is_floating:
            found["slope"] = tape.gradient(y, tensor)
    except Exception as error:
        found["raises"] = {kind.__name__ for kind in type(error).__mro__} - {
            "Exception",
            "BaseException",
            "object",
            "OpError",
        }
    return found


def compare(expression, x):
    import numtape

    theirs, ours = (happens(tf, expression, x) for tf in (installed(), numtape))
    assert theirs.keys() == ours.keys(), (expression, theirs, ours)
    for key, expected in theirs.items():
        if key == "raises":
            assert expected & ours[key], (expression, expected, ours[key])
        elif expected is None or ours[key] is None:
            assert expected is ours[key], (expression, key, expected, ours[key])
        else:
            assert expected.dtype.name == ours[key].dtype.name, (expression, key)
            expected, found = np.asarray(expected), np.asarray(ours[key])
            near = {"float32": 3e-5, "float64": 1e-11}.get(found.dtype.name, 0)
            np.testing.assert_allclose(found, expected, near, near, err_msg=f"{expression}, {key}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("expression", VECTORS)
def test_vectors(expression, dtype):
    compare(expression, V.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("expression", MATRICES)
def test_matrices(expression, dtype):
    compare(expression, A.astype(dtype))


@pytest.mark.parametrize("expression", RANDOM)
def test_random_numbers(expression):
    compare(expression, None)
