"""`tf.nest` of custom containers, flattened as in TensorFlow."""

import collections
import dataclasses
import types

import numpy as np
import pytest


class Table(collections.abc.Mapping):
    """A mapping that is not a dict."""

    def __init__(self, items):
        self.items_ = dict(items)

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)


@dataclasses.dataclass
class Masked:
    """A dataclass that defines how it is flattened."""

    name: str
    value: object

    def __tf_flatten__(self):
        return (self.name,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(metadata[0], components[0])


@dataclasses.dataclass
class Opaque:
    """A dataclass that is a leaf."""

    value: object


NESTED = {
    "a mappingproxy": (types.MappingProxyType({"b": 2, "a": 1}), [1, 2]),
    "a Mapping": (Table({"b": 2, "a": [1, 3]}), [1, 3, 2]),
    "a UserDict": (collections.UserDict(b=2, a=1), [1, 2]),
    "a ChainMap": (collections.ChainMap({"b": 2}, {"a": 1}), [1, 2]),
    "a Counter": (collections.Counter("aab"), [2, 1]),
    "keys": ({"b": 2, "a": 1}.keys(), ["b", "a"]),
    "values": ({"b": 2, "a": 1}.values(), [2, 1]),
    "items": ({"b": 2, "a": 1}.items(), ["b", 2, "a", 1]),
    "a UserList": (collections.UserList([1, (2,)]), [1, 2]),
    "a deque": (collections.deque([1, 2]), [1, 2]),
    "a range": (range(3), [0, 1, 2]),
    "a dataclass": (Masked("x", [1, 2]), [1, 2]),
    "one in another": ([Table({"k": types.MappingProxyType({"j": (1, 2)})}), 3], [1, 2, 3]),
}
LEAVES = {
    "a set": {1, 2},
    "a string": "ab",
    "bytes": b"ab",
    "an array": np.arange(2),
    "an iterator": iter([1]),
    "another dataclass": Opaque(1),
    "None": None,
}


@pytest.mark.parametrize("name", NESTED)
def test_leaves_of_containers(tf, name):
    structure, leaves = NESTED[name]
    assert tf.nest.flatten(structure) == leaves
    assert tf.nest.is_nested(structure)


@pytest.mark.parametrize("name", LEAVES)
def test_what_is_a_leaf(tf, name):
    leaf = LEAVES[name]
    (same,) = tf.nest.flatten(leaf)
    assert same is leaf and not tf.nest.is_nested(leaf)


@pytest.mark.numtape_only("TensorFlow passes a generator of pairs to the class")
@pytest.mark.parametrize("name", NESTED)
def test_containers_are_rebuilt(tf, name):
    structure, leaves = NESTED[name]
    strings = tf.nest.map_structure(str, structure)
    assert tf.nest.flatten(strings) == list(map(str, leaves))
    packed = tf.nest.pack_sequence_as(structure, leaves)
    assert tf.nest.flatten(packed) == leaves
    if not isinstance(structure, range | collections.abc.MappingView):
        assert type(strings) is type(packed) is type(structure)


def test_mappings_of_two_classes_have_one_structure(tf):
    one, other = Table({"a": 1, "b": [2]}), {"b": [20], "a": 10}
    tf.nest.assert_same_structure(one, other)
    pairs = []
    tf.nest.map_structure(lambda x, y: pairs.append((x, y)), other, one)
    assert pairs == [(10, 1), (20, 2)]
    with pytest.raises((TypeError, ValueError)):
        tf.nest.assert_same_structure(one, {"a": 1, "c": [2]})


def test_sources_in_a_mapping(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    gradients = tape.gradient(y, collections.ChainMap({"x": x}))
    assert float(tf.nest.flatten(gradients)[0]) == 6.0
