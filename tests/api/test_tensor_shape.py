"""`TensorShape`: sizes and ranks that are unknown, sums, and what shapes have in common."""

import copy
import pickle

import pytest

import numtape as tf

S = tf.TensorShape
UNKNOWN = S(None)

# An expression and what it is in TensorFlow, as text; an error by its message.
RESULTS = [
    (lambda: UNKNOWN, "TensorShape(None)"),
    (lambda: str(UNKNOWN), "'<unknown>'"),
    (lambda: (UNKNOWN.rank, UNKNOWN.ndims, UNKNOWN.dims), "(None, None, None)"),
    (lambda: (UNKNOWN.num_elements(), UNKNOWN.is_fully_defined()), "(None, False)"),
    (lambda: UNKNOWN[0], "None"),
    (lambda: (UNKNOWN[1:], UNKNOWN[1:3]), "(TensorShape(None), TensorShape([None, None]))"),
    (lambda: (UNKNOWN + [2], S([1]) + None), "(TensorShape(None), TensorShape(None))"),  # noqa: RUF005
    (lambda: ([5] + S([1]), (2,) + S([1])), "(TensorShape([5, 1]), TensorShape([2, 1]))"),  # noqa: RUF005
    (lambda: (2 + S([1]), S([1]) + 2), "(TensorShape([2, 1]), TensorShape([1, 2]))"),
    (lambda: (UNKNOWN == None, S([1]) == None), "(True, False)"),  # noqa: E711
    (lambda: (S([1]) == 1, S([1]) != 3, S([1]) == "a"), "(True, True, False)"),
    (lambda: (S([]) == UNKNOWN, UNKNOWN == S([]), UNKNOWN != S(None)), "(False, False, False)"),
    (lambda: UNKNOWN.with_rank(2), "TensorShape([None, None])"),
    (lambda: UNKNOWN.with_rank_at_least(2), "TensorShape(None)"),
    (lambda: UNKNOWN.merge_with([1, 2]), "TensorShape([1, 2])"),
    (lambda: S([1]).concatenate(UNKNOWN), "TensorShape(None)"),
    (lambda: S([1, 2]).most_specific_compatible_shape([1]), "TensorShape(None)"),
    (lambda: S([1, 2]).most_specific_common_supertype([S([1])]), "TensorShape(None)"),
    (lambda: S([1]).is_subtype_of(UNKNOWN), "True"),
    (lambda: UNKNOWN.is_subtype_of(S([1])), "False"),
    (lambda: {UNKNOWN: 1}[S(None)], "1"),
    (lambda: tf.TensorSpec(None).shape.rank, "None"),
    (lambda: len(UNKNOWN), "Cannot take the length of shape with unknown rank"),
    (lambda: list(UNKNOWN), "Cannot iterate over a shape with unknown rank"),
    (lambda: UNKNOWN.as_list(), "not defined on an unknown TensorShape"),
    (lambda: S([1, 2]).with_rank_at_most(1), "must have rank at most 1"),
    (lambda: S([1, 2]).merge_with([1]), "Shapes (1, 2) and (1,) are not compatible"),
    (lambda: S([1, -1]), "Dimension -1 must be >= 0"),
    (lambda: S([1.5]), "Dimension value must be integer or None"),
    (lambda: S("ab"), "Failed to convert"),
]


@pytest.mark.parametrize("row", range(len(RESULTS)))
def test_results(row):
    expression, text = RESULTS[row]
    try:
        actual = repr(expression())
    except (TypeError, ValueError) as error:
        assert text in str(error)
    else:
        assert actual == text


@pytest.mark.parametrize("shape", [UNKNOWN, S([]), S([1, None])])
def test_copies(shape):
    for copied in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape)):
        assert type(copied) is type(shape)
        assert copied == shape
        assert repr(copied) == repr(shape)
