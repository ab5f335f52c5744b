"""Names of TensorFlow that numtape has on purpose not, or in part: what to use instead.

Keys are full names without ``tf.``; one that ends in ``*`` stands for all names that begin so. The
first that fits counts. `numtape.names` makes errors and the table of ``python -m numtape parity``
of them.
"""

from __future__ import annotations

_STRINGS = "numtape has no string tensors: use Python's strings, outside of tensors"
_RAGGED = "numtape has no ragged tensors: pad, and mask with `tf.sequence_mask`, or keep a list"
_SPARSE = "numtape has no sparse tensors but `tf.IndexedSlices`: use SciPy's, or `tf.gather`"
_QUANTIZED = "numtape has no quantized dtypes: use int8 with a scale of your own"
_GRAPH = "numtape is eager and has no graphs: `tf.function` records and replays what Python does"
_FILES = "numtape does not read or write files: use Python's or NumPy's functions"
_TPU = "numtape computes on CPUs and on NVIDIA's GPUs (`NUMTAPE_DEVICE`)"
_NUMPY = "use NumPy for what needs no gradient, and numtape's functions for what does"
_KERAS = "numtape has the layers, losses and optimizers of textbooks; write this one as a `Layer`"
_SPECS = "numtape has `tf.TensorSpec` only"
_EXAMPLES = "numtape has no protocol buffers: use NumPy's or safetensors' files"

INSTEAD = {
    # Whole modules.
    "audio*": _FILES,
    "autograph*": "numtape runs Python as it is: there is nothing to convert",
    "compat*": "numtape has TensorFlow 2's names only",
    "distribute*": "numtape trains in one process: average the gradients of several yourself",
    "dtensor*": _TPU,
    "experimental.dtensor*": _TPU,
    "experimental.numpy*": _NUMPY,
    "feature_column*": "prepare columns with NumPy or pandas",
    "graph_util*": _GRAPH,
    "io*": _FILES,
    "lite*": "numtape does not export models",
    "lookup*": "use a Python dict, outside of tensors",
    "mlir*": _GRAPH,
    "profiler*": "`step.paths()` shows what a function replays; Python's profilers see the rest",
    "quantization*": _QUANTIZED,
    "queue*": "use `tf.data.Dataset`, or Python's `queue`",
    "ragged*": _RAGGED,
    "raw_ops*": "use the public function of the op",
    "saved_model*": "numtape does not export graphs: pickle the module",
    "security*": "there is nothing to use instead",
    "sets*": "use Python's sets, outside of tensors",
    "sparse*": _SPARSE,
    "strings*": _STRINGS,
    "summary*": "write logs with the package tensorboardX, or with Python's `logging`",
    "sysconfig*": "`python -m numtape info` tells versions and folders",
    "test*": "use pytest, `numpy.testing` and `tf.testing.check_grads`",
    "tpu*": _TPU,
    "tools*": "there is nothing to use instead",
    "types*": "numtape has `tf.Tensor` and `tf.Variable`",
    "xla*": "`tf.function(jit_compile=True)` compiles",
    # Names at the top.
    "AggregationMethod": "gradients are always added up exactly: leave the argument out",
    "CriticalSection": "use a `threading.Lock`",
    "DeviceSpec": "use names such as '/GPU:0' with `tf.device`",
    "Graph": _GRAPH,
    "IndexedSlicesSpec": _SPECS,
    "NoneTensorSpec": _SPECS,
    "Operation": _GRAPH,
    "OptionalSpec": _SPECS,
    "Ragged*": _RAGGED,
    "Sparse*": _SPARSE,
    "TensorArray*": "append to a Python list, and `tf.stack` it",
    "TypeSpec": _SPECS,
    "*_initializer": "use the classes of `tf.keras.initializers`",
    "metrics": "use `tf.reduce_mean` and the like",
    "train": "pickle modules and variables",
    "version": "`tf.__version__`",
    "approx_top_k": "`tf.math.top_k` is exact",
    "as_string": _STRINGS,
    "check_pinned": "transfers use page-locked memory by themselves",
    "conv": "use `tf.nn.convolution`",
    "conv2d_backprop_*": "use `GradientTape`, or `tf.nn.conv2d_transpose`",
    "edit_distance": _STRINGS,
    "extract_volume_patches": "use `tf.image.extract_patches`, slice by slice",
    "fftnd": "use `tf.signal.fft3d` and the like, or several of them in turn",
    "fingerprint": _STRINGS,
    "ifftnd": "use `tf.signal.ifft3d` and the like, or several of them in turn",
    "irfftnd": "use `tf.signal.irfft3d` and the like, or several of them in turn",
    "rfftnd": "use `tf.signal.rfft3d` and the like, or several of them in turn",
    "get_current_name_scope": "variables are named where they are made: `tf.Variable(..., name=)`",
    "get_logger": "use `logging.getLogger('numtape')`",
    "hessians": "use `GradientTape.jacobian` of a gradient",
    "import_graph_def": _GRAPH,
    "inside_function": _GRAPH,
    "load_library": "numtape has no ops in C++: use Numba",
    "load_op_library": "numtape has no ops in C++: use Numba",
    "make_ndarray": _EXAMPLES,
    "make_tensor_proto": _EXAMPLES,
    "nondifferentiable_batch_function": "call the function with a batch",
    "q*int*": _QUANTIZED,
    "random_index_shuffle": "use `tf.random.experimental.stateless_shuffle`, or NumPy's",
    "register_tensor_conversion_function": "give the class an `__array__` method",
    "resource": "a `tf.Variable` is an object of Python",
    "variant": "lists, tuples and dicts of tensors are objects of Python",
    "variable_creator_scope": "variables are made where the program makes them",
    # Names in modules.
    "config.experimental.*mlir*": _GRAPH,
    "config.experimental_connect*": "numtape computes in this process",
    "config.experimental_functions*": "use `tf.config.run_functions_eagerly`",
    "config.experimental_run*": "use `tf.config.run_functions_eagerly`",
    "config.*": "set threads and device with NUMTAPE_NUM_THREADS and NUMTAPE_DEVICE",
    "data.TFRecordDataset": _FILES,
    "data.TextLineDataset": _FILES,
    "data.FixedLengthRecordDataset": _FILES,
    "data.*": "iterate a `tf.data.Dataset`",
    "debugging.?et_log_device_placement": "look at `tensor.device`",
    "debugging.experimental*": "`tf.debugging.enable_check_numerics` names the first NaN",
    "dtypes.q*": _QUANTIZED,
    "dtypes.resource": "a `tf.Variable` is an object of Python",
    "dtypes.variant": "lists, tuples and dicts of tensors are objects of Python",
    "dtypes.*": "numtape's dtypes are bool, integers, floats and complex numbers",
    "errors.*": "`tf.errors.OpError` has `error_code`",
    "experimental.*": "numtape keeps to names that are not experimental",
    "image.*": "numtape has no image processing beyond this: use Pillow or scikit-image",
    "initializers.*": "use `tf.keras.initializers`",
    "keras.optimizers.*": "use `tf.keras.optimizers.SGD` or `Adam`",
    "keras.losses.*": "write a function of `y_true` and `y_pred`",
    "keras.metrics.*": "use `tf.reduce_mean` and the like",
    "keras.*": _KERAS,
    "linalg.LinearOperator*": "use the matrix itself, or a function of your own",
    "linalg.experimental*": "use `scipy.sparse.linalg`",
    "linalg.*": "use SciPy's function, and `tf.custom_gradient` if a gradient is needed",
    "losses.*": "use the functions of `tf.nn`, or a few lines of your own",
    "metrics.*": "use `tf.reduce_mean` and the like",
    "math.*": "use SciPy's function, and `tf.custom_gradient` if a gradient is needed",
    "nn.*": "write it of numtape's other functions",
    "optimizers.*": "use `tf.keras.optimizers.SGD` or `Adam`",
    "random.*": "use `tf.random.normal`, `uniform` and the like",
    "signal.*": "use SciPy's function",
    "train.*": "pickle modules and variables",
    "version.*": "`tf.__version__`",
}

# What is there but for something, besides arguments, which are compared by name.
PARTLY: dict[str, str] = {}

# Names of NumPy, PyTorch and TensorFlow 1, and what they are called.
HABITS = {
    "Session": "nothing, as numtape is eager", "arange": "tf.range", "arccos": "tf.acos",
    "arcsin": "tf.asin", "arctan": "tf.atan", "arctan2": "tf.atan2", "array": "tf.constant",
    "asarray": "tf.convert_to_tensor", "cat": "tf.concat", "concatenate": "tf.concat",
    "clip": "tf.clip_by_value", "clamp": "tf.clip_by_value", "dot": "tf.tensordot",
    "exp1": "tf.exp", "expit": "tf.sigmoid", "from_numpy": "tf.constant",
    "full": "tf.fill", "gelu": "tf.nn.gelu", "global_variables_initializer": "nothing",
    "log": "tf.math.log", "log1p": "tf.math.log1p", "logsumexp": "tf.reduce_logsumexp",
    "manual_seed": "tf.random.set_seed", "max": "tf.reduce_max", "mean": "tf.reduce_mean",
    "min": "tf.reduce_min", "mm": "tf.matmul", "permute": "tf.transpose",
    "placeholder": "an argument of a function", "power": "tf.pow", "prod": "tf.reduce_prod",
    "rand": "tf.random.uniform", "randn": "tf.random.normal", "random_normal": "tf.random.normal",
    "random_uniform": "tf.random.uniform", "relu": "tf.nn.relu", "softmax": "tf.nn.softmax",
    "std": "tf.math.reduce_std", "sum": "tf.reduce_sum", "take": "tf.gather",
    "tensor": "tf.constant", "to_float": "tf.cast", "unsqueeze": "tf.expand_dims",
    "var": "tf.math.reduce_variance", "vstack": "tf.concat", "hstack": "tf.concat",
    "swapaxes": "tf.transpose", "moveaxis": "tf.transpose", "matrix_inverse": "tf.linalg.inv",
    "erf": "tf.math.erf", "log_softmax": "tf.nn.log_softmax", "conv2d": "tf.nn.conv2d",
    "rsqrt": "tf.math.rsqrt", "inv": "tf.linalg.inv", "det": "tf.linalg.det",
    "cholesky": "tf.linalg.cholesky", "solve": "tf.linalg.solve", "svd": "tf.linalg.svd",
    "trace": "tf.linalg.trace", "diag": "tf.linalg.diag", "isnan": "tf.math.is_nan",
    "isinf": "tf.math.is_inf", "isfinite": "tf.math.is_finite", "ceil": "tf.math.ceil",
    "is_nan": "tf.math.is_nan", "digamma": "tf.math.digamma", "lgamma": "tf.math.lgamma",
    "count_nonzero": "tf.math.count_nonzero", "no_grad": "tf.stop_gradient", "grad": "GradientTape",
    "float": "tf.float32", "int": "tf.int32", "randint": "tf.random.uniform",
}  # fmt: skip
