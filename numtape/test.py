"""`tf.test`: a class for unit tests of code that computes with tensors, and numeric gradients.

`TestCase` adds assertions about arrays to `unittest.TestCase`. An argument may be a tensor, a
variable, an array, or a nest of them. `compute_gradient` compares derivatives with differences;
`tf.testing.check_grads` does it to any order. Start reading at `TestCase.assertAllClose`.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from . import nest
from .compat.names import getter
from .compat.traceback_filter import guard_module as _guard_module
from .core.log.as_tensor import as_tensor
from .core.log.variable import Variable
from .core.values.composite import Composite
from .core.values.dtypes import as_dtype
from .core.values.indexed_slices import IndexedSlices
from .core.values.tensor import Tensor
from .errors import OpError
from .tape import GradientTape

if TYPE_CHECKING:
    from .core.values.annotations import DTypeLike, TensorLike

__all__ = [
    "TestCase",
    "compute_gradient",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Array = np.ndarray[Any, Any]
_HALVES = ("float16", "bfloat16")


def _to_array(value: Any) -> Array:
    """The array of a tensor, a variable, or anything that NumPy accepts."""
    if isinstance(value, IndexedSlices):
        value = as_tensor(value)
    is_tensor = isinstance(value, Tensor | Variable | Composite)
    return np.asarray(value.numpy() if is_tensor else value)


def _is_ragged(value: object) -> bool:
    return hasattr(value, "ragged_rank")


def _to_list(value: Any) -> Any:
    """Nested lists of a ragged tensor, or of anything that NumPy accepts."""
    if isinstance(value, list | tuple):
        return [_to_list(part) for part in value]
    return value.to_list() if _is_ragged(value) else _to_array(value).tolist()


def _same_text(x: Any) -> Any:
    """Nested lists in which strings are bytes."""
    if isinstance(x, list):
        return [_same_text(part) for part in x]
    return x.encode() if isinstance(x, str) else x


def _double(array: Array) -> Array:
    """The array with enough digits for a comparison: halves as float32, the rest as it is."""
    return array.astype(np.float32) if array.dtype.name in _HALVES else array


class TestCase(unittest.TestCase):
    """A `unittest.TestCase` with assertions about tensors.

    ``setUp`` seeds `tf.random`, NumPy and Python's ``random``, so that tests repeat.

    Args:
      methodName: The name of the method that is the test.

    Example:
      >>> class SquareTest(tf.test.TestCase):
      ...     def test_values(self):
      ...         self.assertAllClose(tf.square([1.0, 2.0]), [1.0, 4.0])
      >>> result = SquareTest("test_values").run()
      >>> result.wasSuccessful()
      True
    """

    __test__ = False  # to pytest, this class itself has no tests

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed the generators of random numbers with 0 and 87654321."""
        import random

        from .random import set_seed

        super().setUp()
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - the tests' code may use the global generator
        set_seed(87654321)

    def get_temp_dir(self) -> str:
        """Return a folder that is removed after the test; the same one at each call."""
        folder: str | None = getattr(self, "_nt_folder", None)
        if folder is None:
            folder = self._nt_folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def evaluate(self, tensors: Any) -> Any:
        """Return the NumPy values of tensors in a nest.

        Args:
          tensors: A tensor, or a nest of them. Other values are unchanged.

        Returns:
          The nest with arrays and NumPy scalars.
        """

        def value(x: Any) -> Any:
            if isinstance(x, IndexedSlices):
                return IndexedSlices(value(x.values), value(x.indices), x.dense_shape)
            if hasattr(x, "dense_shape"):
                return type(x).Value(*map(value, (x.indices, x.values, x.dense_shape)))
            is_tensor = isinstance(x, Tensor | Variable | Composite) and not _is_ragged(x)
            return x.numpy() if is_tensor else x

        return None if tensors is None else nest.map_structure(value, tensors)

    def _fail(self, message: str, msg: str | None) -> NoReturn:
        self.fail(f"{msg}: {message}" if msg else message)

    def _check_ragged(
        self, a: Any, b: Any, compare: Callable[[Any, Any], None], msg: str | None
    ) -> None:
        """Compare two tensors, of which one is ragged or both are, row by row."""
        if _is_ragged(a) and _is_ragged(b) and a.ragged_rank != b.ragged_rank:
            self._fail(f"The ragged ranks are {a.ragged_rank} and {b.ragged_rank}", msg)

        def check(x: Any, y: Any) -> None:
            if not isinstance(x, list) or not isinstance(y, list):
                compare(x, y)
                return
            if len(x) != len(y):
                self._fail(f"Rows have {len(x)} and {len(y)} items: {x} and {y}", msg)
            for part, other in zip(x, y, strict=True):
                check(part, other)

        check(_same_text(_to_list(a)), _same_text(_to_list(b)))

    def _check_shapes(self, a: Array, b: Array, msg: str | None) -> None:
        if a.shape != b.shape:
            self._fail(
                f"Shape mismatch: expected {a.shape}, got {b.shape}. First: {a}; second: {b}", msg
            )

    def _report(self, a: Array, b: Array, differs: Array, title: str, msg: str | None) -> NoReturn:
        """Fail with the positions and values that differ."""
        where = np.argwhere(differs)
        rows = [
            f"  at {tuple(map(int, place))}: {a[tuple(place)]!r} and {b[tuple(place)]!r}"
            for place in where[:10]
        ]
        self._fail(
            f"{title}: {len(where)} of {a.size} elements differ\n" + "\n".join(rows)
            + ("\n  ..." if len(where) > len(rows) else ""), msg,
        )  # fmt: skip

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Check that two nests of arrays have the same structure and shapes, and nearby values.

        Values are near if ``abs(a - b) <= atol + rtol * abs(b)``; NaN equals NaN.

        Args:
          a: The expected value: a tensor or array, or a list or dict of them.
          b: The actual value.
          rtol: The relative tolerance. For float16 and bfloat16 it is at least 1e-2.
          atol: The absolute tolerance.
          msg: A text for the error.
        """
        path = f" ({msg})" if msg else ""
        if _is_ragged(a) or _is_ragged(b):
            self._check_ragged(a, b, lambda x, y: self.assertAllClose(x, y, rtol, atol, msg), msg)
            return
        if hasattr(a, "_asdict") and not isinstance(a, Mapping):
            a = a._asdict()
        if hasattr(b, "_asdict") and not isinstance(b, Mapping):
            b = b._asdict()
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict: {a!r} and {b!r}{path}.")
        if isinstance(a, Mapping):
            self.assertCountEqual(a.keys(), b.keys(), f"mismatched keys{path}")
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''}[{key!r}]")
        elif isinstance(a, list | tuple) or isinstance(b, list | tuple):
            try:
                first, second = _to_array(a), _to_array(b)
            except (TypeError, ValueError):  # of different shapes: compare item by item
                first = second = np.asarray(None)
            if first.dtype != object and second.dtype != object:
                self._assert_close(first, second, rtol, atol, msg)
                return
            self.assertEqual(len(a), len(b), f"Length mismatch{path}")
            for k, (x, y) in enumerate(zip(a, b, strict=True)):
                self.assertAllClose(x, y, rtol, atol, f"{msg or ''}[{k}]")
        else:
            self._assert_close(_to_array(a), _to_array(b), rtol, atol, msg)

    def _assert_close(self, a: Array, b: Array, rtol: float, atol: float, msg: str | None) -> None:
        self._check_shapes(a, b, msg)
        if a.dtype.name in _HALVES or b.dtype.name in _HALVES:
            rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
        a, b = _double(a), _double(b)
        with np.errstate(invalid="ignore"):
            is_near = np.isclose(a, b, rtol, atol, equal_nan=True)
        if not np.all(is_near):
            self._report(a, b, ~is_near, f"Not equal to tolerance rtol={rtol}, atol={atol}", msg)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Check as `assertAllClose`, with tolerances for the less precise dtype of the two.

        Args:
          a: The expected array.
          b: The actual array.
          rtol: The relative tolerance for float64.
          atol: The absolute tolerance for float64.
          float_rtol: The relative tolerance for float32 and complex64, at least ``rtol``.
          float_atol: The absolute tolerance for float32 and complex64.
          half_rtol: The relative tolerance for float16.
          half_atol: The absolute tolerance for float16.
          bfloat16_rtol: The relative tolerance for bfloat16.
          bfloat16_atol: The absolute tolerance for bfloat16.
          msg: A text for the error.
        """
        first, second = _to_array(a), _to_array(b)
        names = {first.dtype.name, second.dtype.name}
        for kinds, kind_rtol, kind_atol in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, kind_rtol), max(atol, kind_atol)
        self.assertAllClose(_double(first), _double(second), rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Check that `assertAllClose` would fail.

        Args:
          a: A tensor or array, or a list or dict of them.
          b: Another.
          rtol: The relative tolerance.
          atol: The absolute tolerance.
          msg: A text for the error.
        """
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self._fail("The two values are close at all elements", msg)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that two arrays have the same shape and elements; NaN equals NaN.

        Args:
          a: The expected array.
          b: The actual array.
          msg: A text for the error.
        """
        if _is_ragged(a) or _is_ragged(b):
            self._check_ragged(a, b, self.assertEqual, msg)
            return
        first, second = _double(_to_array(a)), _double(_to_array(b))
        self._check_shapes(first, second, msg)
        same = first == second
        if first.dtype.kind in "fc" and second.dtype.kind in "fc":
            same = same | (np.isnan(first) & np.isnan(second))
        if not np.all(same):
            differs = np.broadcast_to(~np.asarray(same), first.shape)
            self._report(first, second, differs, "Arrays are not equal", msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that two arrays differ in shape or in an element.

        Args:
          a: An array.
          b: Another.
          msg: A text for the error.
        """
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self._fail("The two values are equal at all elements", msg)

    def _check_all(self, a: Any, is_right: Callable[[Array], Array], text: str) -> None:
        array = _to_array(a)
        right = is_right(_double(array))
        if not np.all(right):
            self.fail(f"Not all elements are {text}: {array[~right].ravel()[:10]}")

    def assertAllGreater(self, a: Any, comparison_target: float) -> None:
        """Check that each element is greater than a number.

        Args:
          a: An array.
          comparison_target: The number.
        """
        self._check_all(a, lambda x: x > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: float) -> None:
        """Check that each element is less than a number.

        Args:
          a: An array.
          comparison_target: The number.
        """
        self._check_all(a, lambda x: x < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: float) -> None:
        """Check that no element is less than a number.

        Args:
          a: An array.
          comparison_target: The number.
        """
        self._check_all(a, lambda x: x >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: float) -> None:
        """Check that no element is greater than a number.

        Args:
          a: An array.
          comparison_target: The number.
        """
        self._check_all(a, lambda x: x <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Check that each element is within bounds; NaN is in no range.

        Args:
          target: A numeric array.
          lower_bound: The lower bound.
          upper_bound: The upper bound.
          open_lower_bound: Whether the lower bound itself is outside.
          open_upper_bound: Whether the upper bound itself is outside.

        Raises:
          AssertionError: If an element is outside, or the array is not numeric.
        """
        array = _to_array(target)
        if array.dtype.kind not in "iuf" and array.dtype.name not in _HALVES:
            raise AssertionError(
                f"The value of {target!r} does not have an ordered numeric type, instead it has "
                f"type: {array.dtype}"
            )
        lower = np.greater if open_lower_bound else np.greater_equal
        upper = np.less if open_upper_bound else np.less_equal
        self._check_all(
            array,
            lambda x: lower(x, lower_bound) & upper(x, upper_bound),
            f"in the range {'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}"
            f"{')' if open_upper_bound else ']'}",
        )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        """Check that each element is one of some values.

        Args:
          target: An array.
          expected_set: The values.
        """
        others = set(_to_array(target).ravel().tolist()) - set(expected_set)
        if others:
            self.fail(f"{len(others)} values are not in the set: {sorted(map(str, others))[:10]}")

    def assertDTypeEqual(self, target: Any, expected_dtype: DTypeLike) -> None:
        """Check the dtype of a tensor or array.

        Args:
          target: A tensor or array.
          expected_dtype: The dtype.
        """
        actual = target.dtype if hasattr(target, "dtype") else _to_array(target).dtype
        self.assertEqual(as_dtype(actual), as_dtype(expected_dtype))

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Check that two tensors or arrays have the same shape.

        Args:
          input_a: A tensor or array.
          input_b: Another.
          msg: A text for the error.
        """
        self.assertEqual(list(np.shape(input_a)), list(np.shape(input_b)), msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Check that two numbers differ by at most ``err``.

        Args:
          f1: A number.
          f2: Another.
          err: The largest difference.
          msg: A text for the error.
        """
        first, second = _double(_to_array(f1)), _double(_to_array(f2))
        if not (first == second or abs(first - second) <= err):
            self._fail(f"{f1!r} != {f2!r} +/- {err!r}", msg)

    def assertArrayNear(
        self, farray1: Sequence[Any], farray2: Sequence[Any], err: float, msg: str | None = None
    ) -> None:
        """Check that two lists of numbers differ by at most ``err`` in each element.

        Args:
          farray1: A list of numbers.
          farray2: Another.
          err: The largest difference.
          msg: A text for the error.
        """
        self.assertEqual(len(farray1), len(farray2), msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Check that the Euclidean distance of two arrays is less than ``err``.

        Args:
          ndarray1: An array.
          ndarray2: Another of the same shape.
          err: The bound of the distance.
          msg: A text for the error.
        """
        distance = np.linalg.norm((_to_array(ndarray1) - _to_array(ndarray2)).ravel())
        if not distance < err:
            self._fail(f"ndarrays differ by {distance}, not less than {err}", msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self,
        exception_type: type[BaseException] | tuple[type[BaseException], ...],
        expected_err_re_or_predicate: str | Callable[[Any], bool],
    ) -> Iterator[None]:
        """Check that a block raises an error that matches.

        Args:
          exception_type: The class of the error.
          expected_err_re_or_predicate: A regular expression that the message contains, or a
            function of the error.
        """
        try:
            yield
        except exception_type as error:
            expected = expected_err_re_or_predicate
            if isinstance(expected, str):
                is_match = re.search(expected, str(error)) is not None
            else:
                is_match = expected(error)
            if not is_match:
                raise AssertionError(
                    f"Exception of type {type(error)}: {error} does not match {expected!r}"
                ) from error
        else:
            self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(
        self, expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> contextlib.AbstractContextManager[None]:
        """Check that a block raises a `tf.errors.OpError` that matches.

        Args:
          expected_err_re_or_predicate: A regular expression, or a function of the error.
        """
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(
        self,
        exception_type: type[BaseException] | tuple[type[BaseException], ...] = OpError,
    ) -> contextlib.AbstractContextManager[None]:
        """Check that a block raises an error about shapes that do not fit.

        Args:
          exception_type: The class of the error.
        """
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"Incompatible shapes|must be broadcastable|not compatible|Dimensions"
        )

    def assertItemsEqual(
        self, first: Iterable[Any], second: Iterable[Any], msg: str | None = None
    ) -> None:
        """Check that two iterables have the same items in any order.

        Args:
          first: An iterable.
          second: Another.
          msg: A text for the error.
        """
        self.assertCountEqual(first, second, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """Check a length.

        Args:
          container: An object with a length.
          expected_len: The length.
          msg: A text for the error.
        """
        self.assertEqual(len(container), expected_len, msg)

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """Check that a container is empty.

        Args:
          container: An object with a length.
          msg: A text for the error.
        """
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """Check that a container is not empty.

        Args:
          container: An object with a length.
          msg: A text for the error.
        """
        self.assertNotEqual(len(container), 0, msg)

    def assertDeviceEqual(
        self, device1: str | None, device2: str | None, msg: str | None = None
    ) -> None:
        """Check that two names, such as ``"/GPU:0"``, are of the same device.

        Args:
          device1: A name, in full or in part.
          device2: Another.
          msg: A text for the error.
        """

        def parts(name: str | None) -> tuple[str, str]:
            kind = re.search(r"(CPU|GPU):?(\d+|\*)?", (name or "").upper())
            return (kind[1], kind[2] or "0") if kind else ("CPU", "0")

        self.assertEqual(parts(device1), parts(device2), msg)


def compute_gradient(
    f: Callable[..., Any], x: Sequence[TensorLike], delta: float | None = None
) -> tuple[list[Array], list[Array]]:
    """Compute the Jacobians of a function by reverse mode and by central differences.

    Args:
      f: A function of tensors that returns a tensor.
      x: A list with a value for each argument: floats or complex numbers.
      delta: The step of the differences; default 1/1024.

    Returns:
      Two lists with a matrix for each argument, of shape ``[y.size, x.size]``: the Jacobians by
      reverse mode, and those by differences. A complex number counts as two real ones.

    Raises:
      ValueError: If ``x`` is not a list or tuple, or a gradient has another shape.

    Example:
      >>> exact, numeric = tf.test.compute_gradient(tf.square, [[1.0, 2.0]])
      >>> exact[0].tolist(), np.abs(exact[0] - numeric[0]).max() < 1e-3
      ([[2.0, 0.0], [0.0, 4.0]], np.True_)
    """
    if not isinstance(x, list | tuple):
        raise ValueError(
            f"`x` must be a list or tuple of values convertible to a Tensor (arguments to `f`), "
            f"not a {type(x)}"
        )
    points = [as_tensor(value) for value in x]
    step = 1.0 / 1024 if delta is None else delta
    numbers = range(len(points))
    return (
        [_reverse_jacobian(f, points, k) for k in numbers],
        [_difference_jacobian(f, points, k, step) for k in numbers],
    )


def _real(array: Array) -> Array:
    """A flat view of an array, in which a complex number is two real ones."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _reverse_jacobian(f: Callable[..., Any], points: list[Tensor], k: int) -> Array:
    with GradientTape(persistent=True) as tape:
        tape.watch(points)
        y = f(*points)
    seed = np.zeros(y.shape, y.dtype.as_numpy_dtype)
    x = points[k].numpy()
    jacobian = np.zeros((_real(seed).size, _real(np.asarray(x)).size), _real(np.asarray(x)).dtype)
    for row in range(len(jacobian)):
        dy = seed.copy()
        _real_view(dy)[row] = 1
        gradient = tape.gradient(y, points[k], dy)
        if gradient is None:
            continue
        array = _to_array(gradient)
        if array.shape != points[k].shape:
            raise ValueError(
                f"Gradient has wrong shape: expected {points[k].shape}, got {array.shape}"
            )
        jacobian[row] = _real(array)
    return jacobian


def _real_view(array: Array) -> Array:
    """`_real` of a contiguous array, to write into."""
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _difference_jacobian(
    f: Callable[..., Any], points: list[Tensor], k: int, delta: float
) -> Array:
    x = np.array(points[k].numpy())

    def value(column: int, step: float) -> Array:
        moved = x.copy()
        view = _real_view(moved)
        view[column] = view[column] + view.dtype.type(step)
        result = f(*points[:k], as_tensor(moved), *points[k + 1 :])
        flat = _real(_to_array(result))
        return flat.astype(np.float64)

    size = _real(x).size
    columns = [(value(j, delta) - value(j, -delta)) / (2 * delta) for j in range(size)]
    if not columns:
        columns_of = _real(_to_array(f(*points))).size
        return np.zeros((columns_of, 0), _real(x).dtype)
    return np.stack(columns, 1).astype(_real(x).dtype)


def is_built_with_cuda() -> bool:
    """Return whether numtape can use a CUDA GPU. It always can: no special build is needed.

    Returns:
      A bool.

    Example:
      >>> tf.test.is_built_with_cuda()
      True
    """
    return True


def is_built_with_gpu_support() -> bool:
    """Return whether numtape can use a GPU: True, as `is_built_with_cuda`.

    Returns:
      A bool.

    Example:
      >>> tf.test.is_built_with_gpu_support()
      True
    """
    return True


def is_built_with_rocm() -> bool:
    """Return whether numtape can use AMD's GPUs.

    Returns:
      A bool.

    Example:
      >>> tf.test.is_built_with_rocm()
      False
    """
    return False


def is_built_with_xla() -> bool:
    """Return whether numtape compiles with XLA: it compiles with Numba.

    Returns:
      A bool.

    Example:
      >>> tf.test.is_built_with_xla()
      False
    """
    return False


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return whether this machine has a CUDA GPU that numtape can use.

    Args:
      cuda_only: All GPUs that numtape uses are CUDA GPUs, so it has no effect.
      min_cuda_compute_capability: The lowest compute capability, a pair of ints.

    Returns:
      A bool.

    Example:
      >>> isinstance(tf.test.is_gpu_available(), bool)
      True
    """
    from .config.devices import list_physical_devices

    devices = list_physical_devices("GPU")
    if not devices or min_cuda_compute_capability is None:
        return bool(devices)
    from .config.experimental import get_device_details

    details = (get_device_details(device) for device in devices)
    return any(d["compute_capability"] >= tuple(min_cuda_compute_capability) for d in details)


def gpu_device_name() -> str:
    """Return the name of the first GPU, or an empty string.

    Returns:
      A string.

    Example:
      >>> isinstance(tf.test.gpu_device_name(), str)
      True
    """
    return "/device:GPU:0" if is_gpu_available() else ""


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program's main module, and exit: `unittest.main`.

    Args:
      argv: The arguments of the command line; default: those of the program.

    Example:
      >>> callable(tf.test.main)  # called at the end of a file of tests
      True
    """
    unittest.main(argv=argv)


__getattr__ = getter(__name__)
_guard_module(__name__)
