"""A pytest plugin with what TensorFlow's tests of ``tf.data`` need besides `tensorflow_binding`.

The tests use private helpers: nests in which lists are leaves, legacy specs, and iterators that
return elements before they are tensors. This plugin supplies them, and leaves out tests of graphs,
of the private global shuffle, and of private checkpoint functions (``tests/data/test_positions.py``
tests checkpoints). Run it after `tensorflow_binding`::

    python -m pytest -p tensorflow_binding -p data_binding -p no:cacheprovider -c /dev/null \\
        --rootdir . -q --tb=line --outcomes numtape.txt \\
        tensorflow/python/data/kernel_tests/{batch,map,prefetch,window}_test.py
"""

import re
import types

import tensorflow_binding as binding

tf = binding.tf
IS_NUMTAPE = binding.BACKEND == "numtape"
LEFT_OUT = re.compile("GlobalShuffle|Checkpoint|Symbolic|Graph|Legacy|V1")
NO_NESTS = (tf.TensorShape,)


def flatten(nest):
    """The leaves of a nest of tuples and dicts."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in flatten(nest[key])]
    if isinstance(nest, tuple) and not isinstance(nest, NO_NESTS):
        return [leaf for part in nest for leaf in flatten(part)]
    return [nest]


def pack_sequence_as(structure, leaves):
    """A nest of this structure, of other leaves."""
    remaining = iter(leaves)

    def pack(nest):
        if isinstance(nest, dict):
            packed = {key: pack(nest[key]) for key in sorted(nest)}
            return {key: packed[key] for key in nest}
        if isinstance(nest, tuple) and not isinstance(nest, NO_NESTS):
            parts = map(pack, nest)
            return type(nest)(*parts) if hasattr(nest, "_fields") else tuple(parts)
        return next(remaining)

    return pack(structure)


def map_structure(function, *nests, **_):
    columns = zip(*map(flatten, nests), strict=True)
    return pack_sequence_as(nests[0], [function(*column) for column in columns])


def assert_same_structure(first, second, check_types=True):
    if len(flatten(first)) != len(flatten(second)):
        raise ValueError("The two structures don't have the same nested structure.")


def are_compatible(first, second):
    pairs = zip(flatten(first), flatten(second), strict=False)
    return all(x.is_compatible_with(y) for x, y in pairs)


def spec_attribute(name):
    """A function from a dataset to a nest of attributes of its spec."""
    return lambda dataset: map_structure(lambda s: getattr(s, name), dataset.element_spec)


def keep(*_, **__):
    """A transformation that checks how TensorFlow rewrites a pipeline."""
    return lambda dataset: dataset


nest = types.ModuleType("nest")
nest.flatten, nest.map_structure = flatten, map_structure
nest.assert_same_structure, nest.pack_sequence_as = assert_same_structure, pack_sequence_as
nest.is_nested = lambda x: isinstance(x, dict | tuple)
binding._modules["tensorflow.python.data.util.nest"] = nest

SPARSE_VALUE = tf.SparseTensor.Value if IS_NUMTAPE else tf.compat.v1.SparseTensorValue
binding.HELPERS.update(
    {
        "test_mode": {"toggle_test_mode": binding.nothing},
        "random_access": {"at": tf.data.experimental.at},
        "structure": {"are_compatible": are_compatible},
        "testing": dict.fromkeys(("assert_next", "assert_prev", "non_serializable", "sleep"), keep),
        "dataset_ops": {
            "get_legacy_output_types": spec_attribute("dtype"),
            "get_legacy_output_shapes": spec_attribute("shape"),
            "get_legacy_output_classes": spec_attribute("value_type"),
            "get_structure": lambda dataset: dataset.element_spec,
            "DEBUG_MODE": False,
            "INFINITE": tf.data.INFINITE_CARDINALITY,
            "UNKNOWN": tf.data.UNKNOWN_CARDINALITY,
        },
        "sparse_tensor": {
            "is_sparse": lambda x: isinstance(x, tf.SparseTensor | SPARSE_VALUE),
            "SparseTensorValue": SPARSE_VALUE,
        },
        "ragged_tensor": {"is_ragged": lambda x: isinstance(x, tf.RaggedTensor)},
        "script_ops": {
            "py_func": lambda function, inputs, types, *_, **__: tf.numpy_function(
                function, inputs, types
            )
        },
    }
)
for module in (
    "batching cardinality counter enumerate_ops error_ops from_list get_single_element grouping "
    "interleave_ops iterator_ops optional_ops options pad_to_cardinality prefetching_ops readers "
    "resampling scan_ops shuffle_ops snapshot take_while_ops unique writers"
).split():
    binding.PUBLIC.setdefault(module, "data data.experimental")
binding.PUBLIC.update({"random_ops": "random data.experimental", "parsing_ops": "io"})
binding.PUBLIC.update({"example_pb2": "train", "feature_pb2": "train"})
if IS_NUMTAPE:
    tf.data.Iterator._next_internal = tf.data.Iterator.get_next


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not LEFT_OUT.search(item.nodeid.partition("::")[2])]
