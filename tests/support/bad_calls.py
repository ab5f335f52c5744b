"""Calls of public functions that have no row in `op_cases.py`, for `test_bad_arguments.py`.

Each is a function, its arguments and its keyword arguments, created for each call.
"""

import numpy as np

# Losses of two tensors, and assertions on two, on one, and on the shape of one.
LOSSES = (
    "mean_squared_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_logarithmic_error",
    "cosine_similarity",
    "huber",
    "log_cosh",
    "hinge",
    "squared_hinge",
    "categorical_hinge",
    "kl_divergence",
    "poisson",
    "categorical_crossentropy",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_focal_crossentropy",
    "dice",
    "tversky",
)
PAIRS = ("equal", "none_equal", "greater", "greater_equal", "less", "less_equal", "near")
SIGNS = ("positive", "negative", "non_negative", "non_positive")


def losses(tf):
    """Functions and classes of `keras.losses`."""
    x, y = [[0.2, 0.8]], [[0.5, 0.5]]
    calls = {name: (getattr(tf.keras.losses, name), [x, y], {}) for name in LOSSES}
    for name in ("MeanSquaredError", "CategoricalCrossentropy", "BinaryCrossentropy", "Huber"):
        calls[name] = getattr(tf.keras.losses, name)(), [x, y], {"sample_weight": 2.0}
    return {
        **calls,
        "sparse_categorical_crossentropy": (
            tf.keras.losses.sparse_categorical_crossentropy,
            [[1], x],
            {"from_logits": True, "ignore_class": 0, "axis": -1},
        ),
        "Huber()": (tf.keras.losses.Huber, [], {"delta": 1.0, "reduction": "sum", "name": "h"}),
        "losses.get": (tf.keras.losses.get, ["mse"], {}),
        "huber with delta": (tf.keras.losses.huber, [x, y], {"delta": 1.0}),
        "smoothed": (
            tf.keras.losses.categorical_crossentropy,
            [x, y],
            {"from_logits": True, "label_smoothing": 0.1, "axis": -1},
        ),
    }


def debugging(tf):
    """Assertions."""
    d = tf.debugging
    more = {"message": "said", "summarize": 3}
    calls = {}
    for name in PAIRS:
        x, y = ([2.0], [1.0]) if "greater" in name or "none" in name else ([1.0], [1.0 + 1e-9])
        y = [3.0] if name == "less" else y
        calls[f"assert_{name}"] = getattr(d, f"assert_{name}"), [x, y], dict(more)
    for name in SIGNS:
        x = [1.0] if name in ("positive", "non_negative") else [-1.0]
        calls[f"assert_{name}"] = getattr(d, f"assert_{name}"), [x], dict(more)
    return {
        **calls,
        "assert_rank": (d.assert_rank, [tf.ones(2), 1], {"message": "said"}),
        "assert_rank_at_least": (d.assert_rank_at_least, [tf.ones(2), 1], {"message": "said"}),
        "assert_rank_in": (d.assert_rank_in, [tf.ones(2), [1, 2]], {"message": "said"}),
        "assert_scalar": (d.assert_scalar, [tf.constant(1.0)], {"message": "said"}),
        "assert_integer": (d.assert_integer, [tf.constant(1)], {"message": "said"}),
        "assert_type": (d.assert_type, [tf.constant(1.0), tf.float32], {"message": "said"}),
        "assert_same_float_dtype": (d.assert_same_float_dtype, [[tf.ones(2)], tf.float32], {}),
        "assert_proper_iterable": (d.assert_proper_iterable, [[1]], {}),
        "assert_shapes": (d.assert_shapes, [[(tf.ones((2, 3)), ("N", 3))]], {"message": "said"}),
        "check_numerics": (d.check_numerics, [tf.ones(2), "said"], {}),
        "assert_all_finite": (d.assert_all_finite, [tf.ones(2), "said"], {}),
        "is_numeric_tensor": (d.is_numeric_tensor, [tf.ones(2)], {}),
        "Assert": (d.Assert, [True, [1]], {"summarize": 3}),
    }


def draws(tf):
    """Random numbers."""
    r, seed = tf.random, (1, 2)

    def generator():
        return r.Generator.from_seed(3)

    return {
        "gamma": (r.gamma, [(2,), 1.5], {"beta": 2.0, "dtype": tf.float32, "seed": 1}),
        "poisson": (r.poisson, [(2,), 1.5], {"dtype": tf.float32, "seed": 1}),
        "categorical": (r.categorical, [[[0.1, 0.9]], 2], {"dtype": tf.int64, "seed": 1}),
        "shuffle": (r.shuffle, [[1, 2]], {"seed": 1}),
        "truncated_normal": (r.truncated_normal, [(2,)], {"mean": 0.0, "stddev": 1.0}),
        "stateless_normal": (
            r.stateless_normal,
            [(2,), seed],
            {"mean": 0.0, "stddev": 1.0, "dtype": tf.float32, "alg": "philox"},
        ),
        "stateless_uniform": (
            r.stateless_uniform,
            [(2,), seed],
            {"minval": 0, "maxval": 3, "dtype": tf.int32},
        ),
        "stateless_gamma": (r.stateless_gamma, [(2,), seed, 1.5], {"beta": 2.0}),
        "stateless_poisson": (r.stateless_poisson, [(2,), seed, [1.5, 2.5]], {"dtype": tf.int32}),
        "stateless_binomial": (r.stateless_binomial, [(2,), seed, [3.0, 4.0], [0.5, 0.5]], {}),
        "stateless_categorical": (r.stateless_categorical, [[[0.1, 0.9]], 2, seed], {}),
        "stateless_shuffle": (r.experimental.stateless_shuffle, [[1, 2], seed], {}),
        "split": (r.split, [seed], {"num": 2, "alg": "philox"}),
        "fold_in": (r.fold_in, [seed, 3], {"alg": "philox"}),
        "from_seed": (r.Generator.from_seed, [3], {"alg": "philox"}),
        "from_state": (r.Generator.from_state, [[1, 2, 3]], {"alg": "philox"}),
        "from_key_counter": (r.Generator.from_key_counter, [1, [2, 3], "philox"], {}),
        "create_rng_state": (r.create_rng_state, [3, "philox"], {}),
        "generator.normal": (
            lambda *a, **k: generator().normal(*a, **k),
            [(2,)],
            {"mean": 0.0, "stddev": 1.0, "dtype": tf.float32},
        ),
        "generator.uniform": (
            lambda *a, **k: generator().uniform(*a, **k),
            [(2,)],
            {"minval": 0, "maxval": 5, "dtype": tf.int32},
        ),
        "uniform_full_int": (
            lambda *a, **k: generator().uniform_full_int(*a, **k),
            [(2,)],
            {"dtype": tf.uint64},
        ),
        "binomial": (lambda *a, **k: generator().binomial(*a, **k), [(2,), 3.0, 0.5], {}),
        "make_seeds": (lambda n: generator().make_seeds(n), [2], {}),
        "generator.split": (lambda n: generator().split(n), [2], {}),
        "skip": (lambda n: generator().skip(n), [2], {}),
        "reset": (lambda s: generator().reset(s), [[1, 2, 3]], {}),
        "reset_from_seed": (lambda s: generator().reset_from_seed(s), [3], {}),
    }


def held(tf):
    """Variables, slices, and computations with them."""

    def variable(name):
        return lambda *a, **k: getattr(tf.Variable([[1.0], [2.0]]), name)(*a, **k)

    slices = tf.IndexedSlices(tf.ones((1, 1)), tf.constant([1]), tf.constant([2, 1]))
    scatters = {
        name: (variable(name), [slices], {"use_locking": False, "name": "n"})
        for name in (
            "scatter_add",
            "scatter_sub",
            "scatter_mul",
            "scatter_div",
            "scatter_min",
            "scatter_max",
            "scatter_update",
        )
    }
    operators = {
        "Diag": [1.0, 2.0],
        "FullMatrix": [[1.0, 0.0], [0.0, 2.0]],
        "LowerTriangular": [[1.0, 0.0], [0.0, 2.0]],
    }
    made = {
        f"LinearOperator{kind}": (
            getattr(tf.linalg, f"LinearOperator{kind}"),
            [x],
            {"is_non_singular": True},
        )
        for kind, x in operators.items()
    }
    methods = {
        f"{kind}.{method}": (
            getattr(getattr(tf.linalg, f"LinearOperator{kind}")(x), method),
            [[[1.0], [2.0]]],
            {"adjoint": True},
        )
        for kind, x in operators.items()
        for method in ("matmul", "solve")
    }
    return {
        **scatters,
        **made,
        **methods,
        "LinearOperatorIdentity": (tf.linalg.LinearOperatorIdentity, [2], {"dtype": tf.float32}),
        "LinearOperatorScaledIdentity": (tf.linalg.LinearOperatorScaledIdentity, [2, 3.0], {}),
        "scatter_nd_add": (variable("scatter_nd_add"), [[[1]], [[3.0]]], {}),
        "IndexedSlices": (tf.IndexedSlices, [tf.ones((1, 1)), [1]], {"dense_shape": [2, 1]}),
        "of slices": (
            lambda *a: tf.convert_to_tensor(tf.IndexedSlices(*a)),
            [tf.ones((1, 1)), tf.constant([1]), tf.constant([2, 1])],
            {},
        ),
        "assign_sub": (variable("assign_sub"), [[[1.0], [1.0]]], {}),
        "Variable of a shape": (
            tf.Variable,
            [[1.0]],
            {"shape": [1], "trainable": True, "constraint": lambda x: x},
        ),
        "get_static_value": (tf.get_static_value, [tf.ones(2)], {}),
    }


def derived(tf):
    """Derivatives, tapes, and functions of functions."""

    @tf.custom_gradient
    def double(x):
        return x * 2.0, lambda g: g * 2.0

    def backward(gradient):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.custom_gradient(lambda x: (x * 2.0, lambda g: gradient))(x)
        return tape.gradient(y, x)

    def watched(function):
        def of(*arguments):
            x = tf.Variable([1.0, 2.0])
            with tf.GradientTape(persistent=True) as tape:
                y = x * x
            return getattr(tape, function)(*(arguments or (y, x)))

        return of

    def forward(primal, tangent):
        with tf.autodiff.ForwardAccumulator(primal, tangent) as along:
            y = tf.convert_to_tensor(primal) * 2.0
        return along.jvp(y)

    def jvp(of, **more):
        x = tf.constant([1.0])
        with tf.autodiff.ForwardAccumulator(x, tf.ones(1)) as along:
            pass
        return along.jvp(of, **more)

    x, v = tf.ones(3), tf.Variable([1.0, 2.0])
    branches = [lambda: 1.0, lambda: 2.0]
    return {
        "custom_gradient": (tf.custom_gradient, [double], {}),
        "a custom gradient": (double, [x], {}),
        "what a custom gradient gives": (backward, [tf.ones(2)], {}),
        "recompute_grad": (lambda f: tf.recompute_grad(f)(x), [tf.sin], {}),
        "grad_pass_through": (lambda f: tf.grad_pass_through(f)(x), [tf.sin], {}),
        "ForwardAccumulator": (forward, [x, tf.ones(3)], {}),
        "jvp": (jvp, [tf.ones(1)], {"unconnected_gradients": "none"}),
        "vectorized_map": (tf.vectorized_map, [lambda x: x * 2.0, x], {}),
        "foldl": (tf.foldl, [lambda a, x: a + x, x], {"initializer": 0.0}),
        "foldr": (tf.foldr, [lambda a, x: a + x, x], {"initializer": 0.0}),
        "scan": (tf.scan, [lambda a, x: a + x, x], {"initializer": 0.0, "reverse": True}),
        "case": (tf.case, [[(True, branches[0])]], {"default": branches[1], "exclusive": True}),
        "switch_case": (tf.switch_case, [1, branches], {"default": branches[0]}),
        "GradientTape": (
            tf.GradientTape,
            [],
            {"persistent": True, "watch_accessed_variables": True},
        ),
        "why": (watched("why"), [v, v], {}),
        "summary": (watched("summary"), [3], {}),
        "to_dot": (watched("to_dot"), [v], {}),
        "output_gradients": (lambda g: _gradient_with(tf, g), [tf.ones(2)], {}),
        "py_function": (tf.py_function, [lambda x: x, [x], tf.float32], {}),
        "numpy_function": (tf.numpy_function, [lambda x: x, [x], tf.float32], {}),
        "name_scope": (lambda name: tf.name_scope(name).__enter__(), ["a"], {}),
        "control_dependencies": (lambda x: tf.control_dependencies(x).__enter__(), [[x]], {}),
        "group": (tf.group, [x], {}),
        "nest.flatten": (tf.nest.flatten, [[1, [2]]], {"expand_composites": False}),
        "nest.map_structure": (tf.nest.map_structure, [lambda x, y: x, [1, 2], [3, 4]], {}),
        "nest.is_nested": (tf.nest.is_nested, [[1]], {}),
    }


def _gradient_with(tf, seed):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x, output_gradients=seed)


def sets(tf):
    """Methods of `data.Dataset`, with iteration over the result."""

    def of(name):
        return lambda *a, **k: list(getattr(tf.data.Dataset.range(5), name)(*a, **k).take(3))

    return {
        "Dataset.map": (of("map"), [lambda x: x + 1], {"num_parallel_calls": 2}),
        "Dataset.filter": (of("filter"), [lambda x: x > 1], {}),
        "Dataset.repeat": (of("repeat"), [2], {}),
        "Dataset.take": (of("take"), [2], {}),
        "Dataset.skip": (of("skip"), [2], {}),
        "Dataset.prefetch": (of("prefetch"), [2], {}),
        "Dataset.enumerate": (of("enumerate"), [], {"start": 2}),
        "Dataset.shard": (of("shard"), [2, 1], {}),
        "Dataset.window": (of("window"), [2], {"shift": 1, "stride": 1, "drop_remainder": True}),
        "Dataset.concatenate": (of("concatenate"), [tf.data.Dataset.range(2)], {}),
        "Dataset.zip": (lambda x: list(tf.data.Dataset.zip(x)), [(tf.data.Dataset.range(2),)], {}),
        "Dataset.range": (lambda *a: list(tf.data.Dataset.range(*a).take(2)), [1, 5, 2], {}),
        "Dataset.reduce": (tf.data.Dataset.range(5).reduce, [np.int64(0), lambda a, x: a + x], {}),
    }


def tools(tf):
    """Layers and optimizers."""

    def norm(x, **more):
        return tf.keras.layers.LayerNormalization(**more)(x)

    def step(kind, **more):
        v = tf.Variable([1.0, 2.0])
        getattr(tf.keras.optimizers, kind)(**more).apply_gradients([(tf.ones(2), v)])
        return v

    return {
        "LayerNormalization": (
            norm,
            [tf.ones((2, 3))],
            {"axis": -1, "epsilon": 1e-3, "center": True, "scale": True},
        ),
        "a step of SGD": (
            lambda **k: step("SGD", **k),
            [],
            {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True, "clipnorm": 1.0},
        ),
        "a step of Adam": (
            lambda **k: step("Adam", **k),
            [],
            {
                "learning_rate": 0.1,
                "beta_1": 0.9,
                "beta_2": 0.9,
                "epsilon": 1e-7,
                "amsgrad": True,
                "weight_decay": 0.1,
                "clipvalue": 1.0,
                "global_clipnorm": None,
                "use_ema": False,
            },
        ),
        "activations.get": (tf.keras.activations.get, ["relu"], {}),
        "initializers.get": (tf.keras.initializers.get, ["zeros"], {}),
    }


def gathered(tf):
    """Metrics, and functions of `keras.utils`."""
    keras, utils, x, y = tf.keras, tf.keras.utils, [[0.2, 0.8]], [[0.0, 1.0]]

    names = (
        "MeanSquaredError",
        "RootMeanSquaredError",
        "CategoricalAccuracy",
        "BinaryAccuracy",
        "Precision",
        "AUC",
        "F1Score",
        "R2Score",
    )
    calls = {
        name: (getattr(keras.metrics, name)(), [y, x], {"sample_weight": [1.0]}) for name in names
    }
    return {
        **calls,
        "Mean": (keras.metrics.Mean(), [[1.0, 2.0]], {"sample_weight": [1.0, 0.5]}),
        "MeanIoU": (keras.metrics.MeanIoU(2), [[0, 1], [1, 1]], {"sample_weight": [1, 2]}),
        "Precision()": (
            lambda **o: keras.metrics.Precision(**o)(y, x),
            [],
            {"thresholds": [0.3], "top_k": 1, "class_id": 0, "dtype": "float32"},
        ),
        "AUC()": (
            lambda **o: keras.metrics.AUC(**o)(y, x),
            [],
            {
                "num_thresholds": 5,
                "curve": "PR",
                "summation_method": "majoring",
                "thresholds": [0.5],
                "label_weights": [1.0, 2.0],
            },
        ),
        "IoU()": (
            lambda *g, **o: keras.metrics.IoU(*g, **o)([0], [1]),
            [2, [0]],
            {"ignore_class": 1},
        ),
        "top_k": (keras.metrics.top_k_categorical_accuracy, [y, x], {"k": 1}),
        "binary_accuracy": (keras.metrics.binary_accuracy, [y, x], {"threshold": 0.5}),
        "pearson_correlation": (keras.metrics.pearson_correlation, [y, x], {"axis": -1}),
        "metrics.get": (keras.metrics.get, ["mse"], {}),
        "to_categorical": (utils.to_categorical, [[0, 1]], {"num_classes": 3}),
        "normalize": (utils.normalize, [tf.ones((2, 2))], {"axis": -1, "order": 2}),
        "pad_sequences": (
            utils.pad_sequences,
            [[[1], [2, 3]]],
            {"maxlen": 2, "dtype": "int32", "padding": "pre", "value": 0.0},
        ),
        "set_random_seed": (utils.set_random_seed, [3], {}),
        "timeseries": (
            lambda *g, **o: list(utils.timeseries_dataset_from_array(*g, **o)),
            [np.arange(9.0), None, 3],
            {
                "sequence_stride": 1,
                "sampling_rate": 1,
                "batch_size": 2,
                "start_index": 0,
                "end_index": 8,
                "seed": 1,
                "shuffle": True,
            },
        ),
        "unpack": (utils.unpack_x_y_sample_weight, [(1, 2)], {}),
    }


def more(tf):
    """All calls."""
    parts = (gathered, losses, debugging, draws, held, derived, sets, tools)
    return {f"{part.__name__}: {name}": call for part in parts for name, call in part(tf).items()}
