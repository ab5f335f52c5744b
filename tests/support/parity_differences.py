"""Ingredients of random calls, and known differences from TensorFlow, with reasons."""

import numpy as np
from cases_complex import CASES as COMPLEX

SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (2, 1, 3), (0, 3), (2, 0), (1, 2, 2, 2)]
DTYPES = ["float32", "float64", "float32", "float64", "int32", "int64", "uint8", "bool"]
# Relative to the largest element, for values; derivatives take a few more operations.
NEAR = {"float32": 3e-6, "float64": 3e-14, "complex64": 3e-6, "complex128": 3e-14}
NEARER = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4, "complex128": 1e-10}

# Differences from TensorFlow, which are not compared, with reasons.
SKIPPED = {
    "keras.layers.LayerNormalization": "made of other ops there",
    "keras.activations.sparsemax": "does not add up to 1 there where more than one element is left",
    "random.shuffle": "other random numbers",
    "concat": "of one tensor, any axis will do there",
    "cast": "a float beyond the range of an integer is undefined there",
    "nn.moments": "TensorFlow stops a part of the second derivative",
    "image.adjust_contrast": "TensorFlow's is that of float32 images",
    "nn.softmax_cross_entropy_with_logits": "TensorFlow's derivative wants labels of sum 1",
    "parallel_stack": "not of eager tensors there",
}
ONE_ORDER = {
    "nn.softsign": "TensorFlow has no second derivative",
    "reduce_prod": "of one element TensorFlow has a second derivative, which is 0",
    "math.igamma": "TensorFlow has no second derivative",
    "math.igammac": "TensorFlow has no second derivative",
    "nn.max_pool_with_argmax": "TensorFlow has no second derivative",
    "nn.local_response_normalization": "TensorFlow has no second derivative",
    "math.cumulative_logsumexp": "of nothing TensorFlow has a second derivative, which is empty",
    "nn.ctc_loss": "TensorFlow's second derivative is NaN",
}
# TensorFlow computes these in float32 for every dtype.
SINGLE = {
    "histogram_fixed_width_bins",
    "image.adjust_brightness",
    "image.per_image_standardization",
    "image.resize",
    "image.rgb_to_grayscale",
    "math.in_top_k",
    "nn.ctc_loss",
    "nn.gelu",
}
# Tolerances for results of TensorFlow that are themselves this inaccurate.
LOOSE = {
    "nn.leaky_relu": "its slope is a float32",
    "math.digamma": "near its root it loses digits there",
    "nn.elu": "near 0 it is a difference",
    "nn.selu": "near 0 it is a difference",
}


def _repeated(call):
    """If several slices go to one index, TensorFlow gives each of them the derivative."""
    places = np.concatenate(call.options["indices"])
    return len(set(places.tolist())) < places.size


def _first_not_followed(call):
    """In TensorFlow `identity_n` is one op: if one operand is watched, all results are."""
    return not (call.watched[0] and call.arguments[0].followed)


def _complex(call):
    """TensorFlow omits a conjugation."""
    return len(call.arguments) > 2


def _complex_of_one(call):
    """TensorFlow omits a conjugation, here or in the second derivative, as differences show."""
    return len(call.arguments) > 1


def _no_order(call):
    """Eigenvalues of nonsymmetric matrices have no defined order."""
    return True


def _not_single(call):
    """`tf.image` takes floats and keeps float64; TensorFlow returns float32, also for ints."""
    return any(argument.value.dtype != np.float32 for argument in call.arguments)


def _infinite(call):
    """At infinity numtape returns the limit; TensorFlow NaN or the largest finite number."""
    return any(np.isinf(argument.value).any() for argument in call.arguments)


def _both_infinite(call):
    """Without a limit numtape returns NaN; TensorFlow 0, also for the complement."""
    a, x = (np.isposinf(argument.value) for argument in call.arguments)
    return a.any() and x.any()


def _negative(call):
    """numtape refuses a negative index; TensorFlow converts it to invalid indices."""
    return (call.arguments[0].value < 0).any()


def _far(call):
    """NaN and infinity propagate to later sums; in TensorFlow they do not."""
    return any(not (abs(argument.value) < 1e9).all() for argument in call.arguments)


def _followed(call):
    """An index has no derivative in numtape, even with a seed; TensorFlow returns 0."""
    return any(call.watched)


def _equal(call):
    """The first of equal elements gets the derivative; in TensorFlow each of them does."""
    x = call.arguments[0].value
    return np.unique(x).size < x.size


def _zero(call):
    """The unused branch of a `where` has gradient 0; in TensorFlow 0 times infinity is NaN."""
    return (call.arguments[0].value == 0).any()


def _of_pool(call):
    """A float64 array stays float64; in TensorFlow only in a process's first call."""
    return _infinite(call) or call.arguments[0].form == "array"


def _of_pool3d(call):
    """Minus infinity counts; TensorFlow uses the lowest finite number instead."""
    return _equal(call) or _infinite(call)


def _no_number(call):
    """NaN is both maximum and minimum; TensorFlow skips it."""
    return np.isnan(call.arguments[0].value.astype("float64")).any()


def _tridiagonal(call):
    """TensorFlow's derivative of these eigenvalues is wrong, as differences show."""
    return any(call.watched)


def _near_singular(call):
    """In float32 half of these solutions' digits are rounding errors; derivatives have none."""
    return call.arguments[0].value.dtype == np.float32


def _integers(call):
    """Defined for floats only; in TensorFlow also for integers."""
    return call.arguments[0].value.dtype.kind in "iu"


def _cancelling(call):
    """Large terms of both signs cancel, so the result depends on the order of summation."""
    return any((abs(argument.value) > 1e9).any() for argument in call.arguments)


def _bytes(call):
    """In TensorFlow squares of uint8 wrap around."""
    return any(argument.value.dtype == np.uint8 for argument in call.arguments)


# Calls that are not compared.
DIFFERS = {
    **dict.fromkeys(SINGLE, _not_single),
    "argsort": _followed,
    "linalg.eigh_tridiagonal": _tridiagonal,
    "linalg.tridiagonal_solve": _near_singular,
    "math.reduce_euclidean_norm": _bytes,
    "math.cumulative_logsumexp": _far,
    "math.lbeta": _cancelling,
    "nn.max_pool3d": _of_pool3d,
    "nn.log_poisson_loss": _zero,
    **dict.fromkeys(
        ("linalg.lu_reconstruct", "nn.atrous_conv2d", "nn.conv1d", "nn.conv2d", "nn.convolution"),
        _integers,
    ),
    **dict.fromkeys(
        (
            "math.segment_max",
            "math.segment_min",
            "math.unsorted_segment_max",
            "math.unsorted_segment_min",
        ),
        _no_number,
    ),
    "nn.top_k": _followed,
    **dict.fromkeys(
        ("keras.activations.hard_silu", "nn.weighted_cross_entropy_with_logits"), _infinite
    ),
    "nn.max_pool": _of_pool,
    "unravel_index": _negative,
    **dict.fromkeys(("math.igamma", "math.igammac"), _both_infinite),
    "dynamic_stitch": _repeated,
    "identity_n": _first_not_followed,
    **dict.fromkeys(("math.multiply_no_nan", "math.squared_difference", "math.xlogy"), _complex),
    **dict.fromkeys(
        (
            "linalg.det",
            "linalg.slogdet",
            "linalg.sqrtm",
            "linalg.svd",
            "math.cumprod",
            "math.segment_prod",
        ),
        _complex_of_one,
    ),
    **dict.fromkeys(("linalg.eig", "linalg.eigvals"), _no_order),
}

# TensorFlow computes with fewer dtypes and formats; and clip_by_value broadcasts here.
NOT_THERE = (
    "not in the list of allowed values",
    "Could not find device",
    "are incompatible",
    "to EagerTensor of dtype",
    "Expected float for argument 'alpha'",
    "must equal `rank(perm) + 1`",
    "only supports NHWC",
    "only supports the NHWC",
    "has no attribute 'decode'",
    "Incompatible type conversion requested",
    "grouped convolutions are not supported",
    "do not yet support dilation rates",
)
# Incompatible dtypes are one kind of error in numtape, and several in TensorFlow.
OF_DTYPES = ("InvalidArgumentError", "TypeError", "ValueError", "NotFoundError")
LOGICAL = ("logical_not", "logical_and", "logical_or", "math.logical_xor")

# Extreme elements, for elementwise functions.
EDGES = {
    "f": lambda dtype: np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 2.0, 1e30, -1e30, 1e-30, 0.5], dtype
    ),
    "i": lambda dtype: np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, -1], dtype),
    "u": lambda dtype: np.array([0, 1, np.iinfo(dtype).max], dtype),
}
_FAR = (
    "linalg",
    "signal",
    "image",
    "nn.conv",
    "nn.atrous",
    "nn.depthwise",
    "nn.separable",
    "nn.ctc",
    "nn.local",
    "math.bessel",
    "broadcast_dynamic_shape",
    "math.reduce_euclidean_norm",
)


def refused_there(call, error):
    """Whether an error of TensorFlow does not count as a difference."""
    said = str(error)
    if call.case.name.startswith("signal."):  # derivatives with another `fft_length`
        return any(
            text in said
            for text in ("Incompatible shapes", "size-incompatible", "Cannot convert 0.0")
        )
    if call.case.name in ("random.split", "random.fold_in"):  # errors depend on the dtype
        return "invalid value" in said or "unsupported type" in said
    if call.case.name == "nn.sufficient_statistics":  # its shift is a float32
        return "but is a float tensor" in said
    return any(text in said for text in NOT_THERE)


def at_edges(case):
    """Whether the function is elementwise or a sum, without matrices and windows."""
    return not case.name.startswith(_FAR) and not any(case is row for row in COMPLEX)
