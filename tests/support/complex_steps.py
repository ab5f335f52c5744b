"""Derivatives by complex steps, accurate to the last digits because nothing cancels.

For a function ``f`` of real numbers, the imaginary part of ``f(x + ih) / h`` is its derivative. The
function runs as Python, in a namespace in which comparisons, and functions based on them, use real
parts, with the conventions of the ops at ties and kinks.
"""

import ast
import builtins
import math
from types import SimpleNamespace

import numpy as np

STEP = 1e-30


class ByRealParts(ast.NodeTransformer):
    """A complex number that compares by its real part."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        real = ast.Attribute(ast.Name("np", ast.Load()), "real", ast.Load())
        node.left, *node.comparators = (
            ast.Call(real, [side], []) for side in (node.left, *node.comparators)
        )
        return node


def absolute(x):
    return np.sign(np.real(x)) * x


def maximum(x, y):
    return np.where(np.real(x) >= np.real(y), x, y)[()]


def minimum(x, y):
    return np.where(np.real(x) <= np.real(y), x, y)[()]


def variance(x):
    return np.mean((x - np.mean(x)) ** 2)


def made_complex(name):
    return lambda *args: getattr(np, name)(*args).astype(complex)


NUMPY = SimpleNamespace(
    **{
        **vars(np),
        "abs": absolute,
        "maximum": maximum,
        "minimum": minimum,
        "var": variance,
        "max": lambda x: x.ravel()[np.argmax(x.real)],
        "min": lambda x: x.ravel()[np.argmin(x.real)],
        **{
            name: made_complex(name)
            for name in ("array", "full", "linspace", "zeros", "zeros_like")
        },
    }
)
MATH = SimpleNamespace(
    **{name: getattr(np, name) for name in vars(math) if isinstance(getattr(np, name, 0), np.ufunc)}
)
BUILTINS = {
    **vars(builtins),
    "abs": absolute,
    "max": maximum,
    "min": minimum,
    "int": lambda x: int(np.real(x)),
}


def analytic(module):
    """The functions of a module's source, for complex numbers."""
    tree = ast.fix_missing_locations(ByRealParts().visit(ast.parse(module)))
    scope = {"np": NUMPY, "math": MATH, "__builtins__": BUILTINS}
    exec(compile(tree, "<for complex numbers>", "exec"), scope)
    return scope


def slopes(function, arguments, wanted):
    """The derivatives of a function with respect to the elements of arguments, one by one.

    Args:
      function: One of `analytic`; it may write to its arguments.
      arguments: Numbers and arrays.
      wanted: Which of them to differentiate by.
    """
    found = []
    for j in wanted:
        for place in np.ndindex(np.shape(arguments[j])):
            given = [np.array(x, complex if i in wanted else None) for i, x in enumerate(arguments)]
            given[j][place] += 1j * STEP
            value = function(*(x if x.ndim else x[()] for x in given))
            found.append(np.imag(value) / STEP)
    return np.array(found)
