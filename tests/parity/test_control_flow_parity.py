"""Assertions, conditionals, folds and Python callbacks: numtape and TensorFlow."""

import re
import sys

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

# Programs that differ only in the text of an error.
OTHER_TEXT = {"tf.case([])", "tf.switch_case(c(0), 5)"}
PROGRAMS = r"""
d.assert_equal(c([1.,2.]), c([1.,3.]), message="msg")
d.assert_equal(1,1)
d.assert_none_equal([1,2],[1,3], message="m")
d.assert_less([1,2],[1,3], message="m", summarize=1)
d.assert_less_equal(2,1)
d.assert_greater(1,1)
d.assert_greater_equal(tf.Variable(1),2)
d.assert_near([1.,2.],[1.,2.1], message="m")
d.assert_near(1,2)
d.assert_near([1.,2.],[1.,2.0000001])
d.assert_positive([1.,-2.], message="m")
d.assert_negative([1.,-2.])
d.assert_non_negative([1.,-2.], message="m")
d.assert_non_positive([1.,-2.])
d.assert_rank([1.,-2.], 2, message="m")
d.assert_rank_at_least([1.,-2.], 2)
d.assert_rank_in([1.,-2.], [2,3])
d.assert_rank([1.,-2.], 1.0)
d.assert_rank([1.,-2.], [1])
d.assert_integer([1.,-2.], message="m")
d.assert_scalar([1.,-2.], message="m")
d.assert_type([1.,-2.], tf.int32, message="m")
d.assert_same_float_dtype([c(1.), c(1., tf.float64)])
d.assert_same_float_dtype([c(1.)], tf.float64)
d.assert_same_float_dtype([c(1)])
d.assert_same_float_dtype([c(1.)])
d.assert_same_float_dtype(None, tf.int32)
d.assert_all_finite([1., float("nan")], "msg")
d.assert_all_finite([1.], "msg")
d.assert_proper_iterable(c([1]))
d.assert_proper_iterable(5)
d.assert_proper_iterable("a")
d.check_numerics([1., float("nan"), float("inf")], "msg")
[d.is_numeric_tensor(x) for x in (c(1), c(True), 1, tf.Variable(1.))]
d.assert_shapes([(Z((2,3)), ("N","M")), (Z((4,3)), ("N","M"))], message="m")
d.assert_shapes([(Z((2,3)), (2,4))])
d.assert_shapes([(Z((2,3)), (2,))])
d.assert_shapes([(Z((2,3)), ("N",...)), (Z(2), "N"), (Z(()), ())])
d.assert_shapes([(Z((2,3)), (...,"N",2))])
d.assert_shapes([(Z((2,3)), (None, 3)), (Z(()), ()), (c(1.), (1,)), (Z(3), ("Q",))])
d.assert_shapes([(Z((2,3)), ("N",3)), (Z((5,3)), ("N","N"))], data=[c(3)])
d.assert_shapes([(Z(2), ())])
d.assert_shapes([(Z(2), 5)])
d.Assert(False, [c([1,2,3,4,5]), "x"])
d.Assert([True, False], [1])
d.Assert(1>2, [c([[1.,2],[3,4]]), 5, 2.5], summarize=2)
tf.math.log(c([-1.0]))
c([1.0])/c([0.0])
tf.math.log(c([-1.0]))
d.assert_less(tf.range(10), 5)
d.assert_positive(tf.reshape(tf.range(10),(2,5))-4)
tf.switch_case(c(1), [lambda: c(1.), lambda: c(2.)])
tf.switch_case(5, [lambda: c(1.), lambda: c(2.)])
tf.switch_case(c(7), {0: lambda: c(1.), 1: lambda: c(2.)}, default=lambda: c(9.))
tf.switch_case(c(-7), {0: lambda: c(1.), 1: lambda: c(2.)})
tf.switch_case(c(1.0), [lambda: c(1.)])
tf.switch_case(c(0), [])
tf.switch_case(c(0), [1])
tf.switch_case(c(0), 5)
tf.switch_case(c(1), {0: lambda: 1, 3: lambda: 2})
tf.switch_case(c(1), {"a": lambda: 1})
tf.case([(c(False), lambda: 1), (c(True), lambda: 2)])
tf.case([(c(False), lambda: 1)], default=lambda: 5)
tf.case([(c(False), lambda: 1)])
tf.case([(c(True), lambda: 1), (c(True), lambda: 2)], exclusive=True)
tf.case([(True, lambda: 1)])
tf.case(5)
tf.case([5])
tf.case([])
tf.case({c(True).ref(): lambda: 1})
tf.case([(c(False), lambda: 1)], default=5)
tf.foldl(lambda a,x: a-x, c([1,2,3]))
tf.foldr(lambda a,x: a-x, c([1,2,3]))
tf.foldl(lambda a,x: a-x[0]*x[1], (c([1,2,3]), c([1,2,3])), initializer=10)
tf.foldl(lambda a,x: a-x, c([], tf.float32))
tf.foldl(lambda a,x: a-x, c([], tf.float32), initializer=c(1.))
tf.group(c(1))
tf.tuple([c(1), None, c(2)])
cd([c(1)])
cd(lambda: 1)
tf.name_scope(None)
tf.no_op()
[tf.get_static_value(x) for x in (c(1), c([1,2]), tf.Variable(1.), 5, None)]
[tf.is_symbolic_tensor(x) for x in (c(1), tf.Variable(1.))]
tf.type_spec_from_value(c([1.]))
tf.type_spec_from_value(5)
tf.type_spec_from_value(np.zeros(2))
tf.numpy_function(lambda x: x*2, x2(), tf.float32)
tf.numpy_function(lambda x: (x*2, 1), x2(), [tf.float32, tf.int64])
tf.numpy_function(lambda x: x*2, x2(), tf.int32)
tf.numpy_function(lambda x: (x, x), x2(), [tf.float32])
tf.numpy_function(lambda x: None, x2(), [])
tf.numpy_function(lambda x: x, c([1.,2.]), tf.float32)
tf.numpy_function(lambda: 1/0, [], tf.float32)
tf.numpy_function(lambda x: 3, [c(1)], tf.int32)
tf.py_function(lambda x: x*2, x2(), tf.float32)
tf.py_function(lambda x: [x*2, x], x2(), [tf.float32, tf.float32])
tf.py_function(lambda x: None, x2(), [])
tf.py_function(lambda x: 5.0, x2(), tf.float32)
g(lambda x: tf.numpy_function(lambda x: x*2, [x], tf.float32))
g(lambda x: tf.py_function(lambda x: x*x, [x], tf.float32))
g(lambda x: tf.debugging.check_numerics(x*x, "m"))
g(lambda x: tf.debugging.check_numerics(tf.sqrt(x-1.0), "m"))
tf.print("a", foo=3)
""".strip().splitlines()


def gradient(tf):
    def g(function):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return g


def outcome(tf, program):
    """The result or exception of a program, as text."""
    names = {
        "tf": tf,
        "c": tf.constant,
        "d": tf.debugging,
        "np": np,
        "Z": tf.zeros,
        "g": gradient(tf),
        "x2": lambda: [tf.constant([1.0, 2.0])],
        "sys": sys,
    }
    try:
        return repr(eval(program, names))
    except Exception as error:
        text = "" if program in OTHER_TEXT else re.sub(r"\{\{.*?\}\} ", "", str(error))
        text = re.sub(r" \[Op:.*|<class '.*EagerTensor'>", "", text, flags=re.DOTALL)
        return f"{type(error).__name__}: {text}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_do_the_same(program):
    assert outcome(numtape, program) == outcome(installed(), program)
