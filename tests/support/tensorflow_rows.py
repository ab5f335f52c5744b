"""Rows of `op_cases.py` that TensorFlow itself fails, with reasons.

Keys are function names, or pairs of a function name and a dtype.
"""

UNSIGNED = "TensorFlow has no such kernel for uint8"
FLOAT32 = "TensorFlow computes it in float32"
ROWS = {
    ("abs", "uint8"): UNSIGNED,
    ("negative", "uint8"): UNSIGNED,
    ("sign", "uint8"): UNSIGNED,
    ("pow", "uint8"): UNSIGNED,
    ("math.squared_difference", "uint8"): UNSIGNED,
    ("linalg.tensor_diag", "uint8"): UNSIGNED,
    ("linalg.tensor_diag", "bool"): "TensorFlow has no such kernel for bool",
    ("space_to_batch_nd", "bool"): "TensorFlow has no such kernel for bool",
    ("pad", "bool"): "TensorFlow does not convert a number to bool",
    ("stack", "int64"): "of arrays and lists TensorFlow takes the dtype of the lists",
    ("stack", "uint8"): "of arrays and lists TensorFlow takes the dtype of the lists",
    ("math.invert_permutation", "int64"): "TensorFlow takes arrays as int32",
    ("image.adjust_contrast", "float64"): FLOAT32,
    ("image.resize", "float64"): FLOAT32,
    "nn.leaky_relu": "its slope is a float32",
    "nn.elu": "near 0 it is a difference",
    "nn.selu": "near 0 it is a difference",
    "nn.sufficient_statistics": "TensorFlow counts in float32",
    "keras.activations.sparsemax": "does not add up to 1 where more than one element is left",
    "parallel_stack": "not of eager tensors",
    "image.grayscale_to_rgb": "not of NumPy arrays",
    "linalg.lu_reconstruct": "not of NumPy arrays",
    "nn.ctc_loss": FLOAT32,
    "nn.conv1d": "its CPU kernel has no dilated derivative",
    "signal.irfft": "TensorFlow's derivative wants the length that is the default",
    "where": "of a condition alone TensorFlow has no gradient registered",
}


def reason(case, dtype):
    """The reason why TensorFlow fails a row; "" if it passes."""
    if case.name == "nn.max_pool" and any("data_format" in said for _, said in case.variants):
        return "its CPU kernel has no channels first"
    return ROWS.get((case.name, dtype), "") or ROWS.get(case.name, "")
