"""Attributes that TensorFlow's classes have and numtape's do not: what to use instead.

By class; names that have the same answer stand in one string. Errors for them end in it.
"""

from __future__ import annotations

from ..core.values.habits import hint_missing_attributes

_TYPES = "numtape has no graphs, whose types this is for"
_GRAPH = "numtape is eager and has no graphs: `tf.function` records and replays what Python does"
_QUANTIZED = "numtape has no quantized dtypes: use int8 with a scale of your own"
_STATELESS = "numtape's objects have state: call it, and read its variables"
_FILES = "use `save_weights`, `load_weights`, `save` and `tf.train.Checkpoint`"
_CONFIG = "use `get_config` and `from_config`, and `build`"
_ONE_DTYPE = "a layer has one dtype: use `layer.dtype`"
_LOOPS = "`fit`, `evaluate` and `predict` replay a step: override `train_step` and its like"
_DENSE = "use `operator.to_dense()` and the functions of `tf.linalg`"
_PROTO = "numtape has no protocol buffers: use NumPy's or safetensors' files"

_TRACED = {
    "cast experimental_type_proto flatten from_tensors is_subtype_of placeholder_value to_tensors "
    "most_specific_common_supertype": _TYPES,
    "experimental_as_proto experimental_from_proto": _PROTO,
}
_LAYER = {
    "add_metric metrics_variables": "use a `tf.keras.metrics` object, and call it in `train_step`",
    "build_from_config get_build_config": _CONFIG,
    "call_signature_parameters supports_jit": "use `inspect.signature(layer.call)`",
    "dtype_policy input_dtype variable_serialization_spec": _ONE_DTYPE,
    "enable_lora lora_alpha lora_enabled lora_rank": "write the two factors as a layer of your own",
    "load_own_variables save_own_variables": _FILES,
    "quantization_config quantization_mode quantize quantized_build quantized_call": _QUANTIZED,
    "rematerialized_call": "use `tf.recompute_grad(layer)`",
    "stateless_call": _STATELESS,
    "symbolic_call": "call the layer with a `tf.keras.Input`",
}

METHODS: dict[str, dict[str, str]] = {
    "EagerTensor": {
        "OVERLOADABLE_OPERATORS": "use Python's module `operator`",
        "gpu": "use `with tf.device('/GPU:0')`, or NUMTAPE_DEVICE",
    },
    "ResourceVariable": {
        "SaveSliceInfo": "use `v[start:stop]` and `tf.train.Checkpoint`",
        "count_up_to": "use `v.assign_add(1)`, and compare",
        "from_proto": _PROTO,
        "handle": "a `tf.Variable` is an object of Python: use `v` itself, or `v.ref()`",
        "initialized_value": "a variable has its value at once: use `v.read_value()`",
    },
    "Module": {"name_scope": "use `tf.Variable(..., name=)`"},
    "data.Dataset": {
        "bucket_by_sequence_length": "use `sorted` by length in Python, and `padded_batch`",
        "fingerprint": "use `hashlib` of the arrays",
        "group_by_window": "use a generator of Python's that groups, and `from_generator`",
        "ignore_errors": "use `try` in a generator, and `from_generator`",
        "list_files": "use `glob.glob` and `from_tensor_slices`",
        "load save snapshot": "use NumPy's files: `np.savez` and `np.load`",
        "ragged_batch": "use `padded_batch`: numtape has no ragged tensors",
        "rejection_resample": "use `filter`, or draw indices with NumPy",
        "sparse_batch": "use `padded_batch`: numtape has no sparse tensors",
    },
    "data.Iterator": {
        "get_next_as_optional": "use `next(iterator, None)`",
        "next": "use `next(iterator)`",
        "output_classes output_shapes output_types": "use `iterator.element_spec`",
    },
    "keras.Layer": _LAYER,
    "keras.layers.LSTM": {
        "inner_loop": "use `layer.cell`, which is one step",
        "single_state": "use `layer.cell.state_size`",
        "use_cudnn": "it is an argument only: numtape has its own kernels",
    },
    "keras.Model": {
        "compiled_loss compiled_metrics": "use `model.compute_loss` and `model.metrics`",
        "distribute_reduction_method distribute_strategy": "numtape trains in one process",
        "export": "numtape does not export graphs: use `model.save`",
        "get_quantization_layer_structure": _QUANTIZED,
        "get_state_tree set_state_tree": "use `get_weights` and `set_weights`",
        "make_predict_function make_test_function make_train_function predict_function "
        "test_function train_function unrolled_steps_per_execution": _LOOPS,
        "operations": "use `model.layers`",
        "stateless_compute_loss": _STATELESS,
    },
    "keras.optimizers.Optimizer": {"stateless_apply": _STATELESS},
    "keras.losses.Loss": {"fn": "use the function of the same name in `tf.keras.losses`"},
    "keras.metrics.Metric": {
        "stateless_reset_state stateless_result stateless_update_state": _STATELESS,
    },
    "TensorShape": {
        "as_proto experimental_as_proto experimental_from_proto": _PROTO,
        "cast experimental_type_proto flatten from_tensors placeholder_value to_tensors": _TYPES,
    },
    "TensorSpec": {
        "from_spec": "use `tf.TensorSpec(spec.shape, spec.dtype)`",
        "most_specific_compatible_type": _TYPES,
        "value_type": "use `tf.Tensor`",
        **_TRACED,
    },
    "DType": _TRACED,
    "Function": {
        "experimental_get_compiler_ir": "use `step.paths()`, which shows what it replays",
        "function_spec function_type": "use `inspect.signature(step.python_function)`",
        "get_initialization_function": "variables have their values at once: call the function",
        "pretty_printed_concrete_signatures": "use `step.paths()`",
    },
    "ConcreteFunction": {
        "add_gradient_functions_to_graph add_to_graph from_func_graph function_def graph "
        "inference_fn": _GRAPH,
        "captured_inputs inputs replace_capture_with_deferred_capture set_external_captures "
        "set_variables trainable_variables variables": "use the objects of Python that it reads",
        "function_type pretty_printed_signature": "use `structured_input_signature`",
        "output_dtypes output_shapes outputs structured_outputs": "call it, and look at the result",
    },
    "linalg.LinearOperator": {
        "assert_non_singular": "use `tf.debugging.assert_none_equal(operator.determinant(), 0.0)`",
        "assert_positive_definite assert_self_adjoint cond eigvals": _DENSE,
        "batch_shape_tensor domain_dimension_tensor range_dimension_tensor shape_tensor "
        "tensor_rank_tensor": "shapes are known: use the attribute without `_tensor`",
        "graph_parents": _GRAPH,
        "name_scope with_name_scope": "variables are named where they are made",
        "non_trainable_variables submodules trainable_variables variables": (
            "keep the variables that you made it of"
        ),
        "parameters": "keep the arguments that you made it of",
    },
}


def tell(kind: type, name: str) -> None:
    """Have a class say what to use instead of what TensorFlow's class of this name has besides."""
    for names, hint in METHODS[name].items():
        hint_missing_attributes(kind, dict.fromkeys(names.split(), hint), "")
