"""Ownership of code and objects, and known C functions that depend only on their arguments.

None of the known C functions reads the time, files, random numbers or settings, or changes its
arguments.
"""

from __future__ import annotations

import _operator
import builtins
import cmath
import collections
import ctypes
import datetime
import decimal
import fractions
import functools
import gc
import itertools
import math
import operator
import os
import re
import signal
import sys
import sysconfig
import threading
import time
import types
import weakref
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ... import settings
from ...values.memory import BorrowedMemory
from ...values.tensor import Tensor
from .frames import word_at
from .reads import MISSING, PLAIN_TYPES, is_a
from .weak_cache import weak_cache


def _attributes_of(owner: Any, names: str) -> list[Any]:
    return [getattr(owner, name) for name in names.split() if hasattr(owner, name)]


def _builtin_functions_of(module: Any) -> list[Any]:
    return [f for f in vars(module).values() if isinstance(f, types.BuiltinFunctionType)]


_ARITHMETIC = """
    abs add and_ concat eq floordiv ge gt index inv invert le lt matmul mod mul ne neg not_ or_ pos
    pow rshift lshift sub truediv truth xor is_ is_not length_hint countOf indexOf
"""

_NUMPY = """
    abs absolute all allclose amax amin angle any append arange argmax argmin argsort array
    array_equal array_split asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d
    atleast_3d average bincount block broadcast_arrays broadcast_shapes broadcast_to can_cast ceil
    clip column_stack concatenate copy corrcoef count_nonzero cov cross cumprod cumsum diag
    diagonal diff digitize dot dsplit dstack einsum empty empty_like expand_dims eye fix
    flatnonzero flip fliplr flipud from_dlpack full full_like geomspace gradient histogram hsplit
    hstack identity imag indices inner interp intersect1d isclose isin iscomplexobj isrealobj
    isscalar kron lexsort linspace logspace matmul max maximum mean median meshgrid min
    min_scalar_type minimum moveaxis nan_to_num nanargmax nanargmin nanmax nanmean nanmedian
    nanmin nanprod nanstd nansum nanvar ndim nonzero ones ones_like outer pad percentile polyfit
    polyval prod promote_types ptp quantile ravel real repeat reshape result_type roll rollaxis
    rot90 round searchsorted shape sign size sort split sqrt squeeze stack std sum swapaxes take
    take_along_axis tensordot tile trace transpose trapezoid tri tril tril_indices triu
    triu_indices unique unravel_index unwrap vander var vdot vsplit vstack where zeros zeros_like
    finfo iinfo
"""

_LINALG = """
    cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power matrix_rank norm
    pinv qr slogdet solve svd trace vector_norm
"""

# Functions by id.
PURE = {
    id(f): f
    for f in (
        *_attributes_of(
            builtins,
            "abs divmod round pow callable chr ord bin hex oct ascii format hash "
            "max min repr sorted sum any all",
        ),
        *_builtin_functions_of(math),
        *_builtin_functions_of(cmath),
        *_attributes_of(_operator, _ARITHMETIC),
        *_attributes_of(functools, "reduce cmp_to_key"),
        *_attributes_of(re, "escape"),
        *_builtin_functions_of(sys.modules["_abc"]),
    )
}

# NumPy functions by id. Some of them run Python code.
PURE_NUMPY = {
    id(f): f
    for f in (*_attributes_of(np, _NUMPY), *_attributes_of(np.linalg, _LINALG))
    if not isinstance(f, type)
}

# NumPy functions by id that may return an argument unchanged.
MAY_RETURN_ARGUMENT = {
    id(f)
    for f in _attributes_of(
        np,
        """
        array asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d atleast_3d
        block broadcast_arrays broadcast_to copy diagonal einsum expand_dims flip fliplr flipud
        hsplit imag moveaxis ravel real reshape rollaxis rot90 squeeze split array_split swapaxes
        transpose vsplit dsplit require
    """,
    )
}

# NumPy functions by id that may write to their first argument, if they get more arguments than
# the number given here.
OVERWRITING_FROM = {
    id(f): 1 if f is np.nan_to_num else 3 if f is np.median else 4
    for f in _attributes_of(np, "median percentile quantile nanmedian nan_to_num")
}

# Classes whose objects refer to their arguments, and examine them at most one item deep.
SHALLOW_TYPES = (
    list,
    tuple,
    set,
    frozenset,
    dict,
    zip,
    enumerate,
    reversed,
    map,
    filter,
    slice,
    collections.deque,
    collections.OrderedDict,
    collections.defaultdict,
    types.SimpleNamespace,
    types.MappingProxyType,
    operator.attrgetter,
    operator.itemgetter,
    functools.partial,
    property,
    staticmethod,
    classmethod,
    *(x for x in vars(itertools).values() if isinstance(x, type)),
)

# Those of them that call a function during iteration.
LAZY_TYPES = (
    map,
    filter,
    itertools.starmap,
    itertools.accumulate,
    itertools.takewhile,
    itertools.dropwhile,
    itertools.filterfalse,
    itertools.groupby,
)

# Classes whose objects are immutable values.
VALUE_TYPES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.datetime,
    datetime.timezone,
    fractions.Fraction,
    re.Pattern,
    re.Match,
    types.GenericAlias,
    types.UnionType,
    weakref.ReferenceType,
)
DEEP_TYPES = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    object,
    type(None),
    weakref.ref,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    types.MethodType,
    types.FunctionType,
    types.CellType,
    types.ModuleType,
    types.GenericAlias,
    np.dtype,
    np.finfo,
    np.iinfo,
)

# Methods that change nothing, by class. Their results are new, or parts of the receiver.
PURE_METHODS: dict[type, set[str]] = {
    list: set(
        "index count copy __len__ __contains__ __iter__ __reversed__ __add__ __mul__ __eq__ "
        "__ne__ __repr__".split()
    ),
    collections.deque: set("index count copy __len__ __contains__ __iter__ __reversed__".split()),
    set: set(
        "copy difference intersection isdisjoint issubset issuperset symmetric_difference "
        "union __len__ __contains__ __iter__ __and__ __or__ __sub__ __xor__ __eq__".split()
    ),
    dict: set(
        "copy __len__ __contains__ __iter__ __reversed__ __or__ __eq__ __ne__ __repr__".split()
    ),
    np.ndarray: set(
        "all any argmax argmin argsort astype clip conj copy cumprod cumsum diagonal "
        "dot flatten item max mean min nonzero prod ravel repeat reshape round "
        "searchsorted squeeze std sum swapaxes take tobytes tolist trace transpose var "
        "view __len__ __array__ __float__ __int__ __index__ __bool__ __eq__ "
        "__contains__ __iter__ __add__ __mul__ __sub__ __truediv__".split()
    ),
}

# Methods of arrays that may return the array itself unchanged.
MAY_RETURN_RECEIVER = set("astype __array__ reshape ravel squeeze swapaxes transpose view".split())

# Methods of containers that return None and only change the container.
RETURN_NONE = set(
    "append extend insert clear sort reverse add discard update difference_update "
    "intersection_update symmetric_difference_update appendleft extendleft rotate move_to_end "
    "__setitem__ __init__ fill put partition setflags resize".split()
)

# Methods that may raise if they are repeated, depending on the contents.
NOT_REPEATABLE = set("remove pop popitem popleft __delitem__".split())

# Functions that have only side effects, by id; and methods of files.
EFFECTS_ONLY = {
    id(f)
    for f in (
        time.sleep,
        gc.collect,
        sys.settrace,
        sys.setprofile,
        signal.raise_signal,
        *_attributes_of(sys, "setswitchinterval setrecursionlimit"),
    )
}
FILE_WRITES = set("write writelines flush".split())

# Methods of dates that read the time zone or the locale.
READ_SETTINGS = set("timestamp astimezone strftime".split())

# Methods of `object` that are harmless for every object.
HARMLESS = set(
    "__init__ __init_subclass__ __subclasshook__ __repr__ __str__ __hash__ __eq__ __ne__ "
    "__format__ __class_getitem__ __set_name__ __get__".split()
)

# Constructors among the methods of C classes.
CONSTRUCTORS = set(
    "__new__ fromkeys from_bytes fromhex maketrans fromisoformat fromordinal".split()
)


@weak_cache
def is_python_class(kind: type) -> bool:
    """Return whether a class statement created a class. Classes written in C define C functions."""
    if not kind.__flags__ & 1 << 9 or kind.__flags__ & 1 << 8:
        return False
    c_methods = (
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
    )
    for value in vars(kind).values():
        if isinstance(value, c_methods) and value.__objclass__ is kind:
            return False
        if isinstance(value, types.BuiltinFunctionType) and value.__self__ is kind:
            return False
    return True


def has_finalizer(kind: type) -> bool:
    """Return whether the program is notified when an object is deleted."""
    return any("__del__" in vars(one) for one in kind.__mro__ if is_python_class(one))


def c_base_of(kind: type) -> type:
    """Return the first C class in a class's bases."""
    return next(base for base in kind.__mro__ if not is_python_class(base))


PACKAGE = str(settings.PACKAGE) + os.sep
# In a checkout the folder of kernels is beside the package.
_KERNELS_FOLDER = str(settings.kernels_folder().resolve()) + os.sep
# Parts of numtape that are observed like a program, because they keep settings in attributes.
_PROGRAM_LIKE_FILES = tuple(
    PACKAGE + name for name in ("keras" + os.sep, "module.py", "demo.py", "__main__.py")
)
# Libraries that numtape calls, by file: a module of any name can shadow another one.
_STANDARD = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_INSTALL_FOLDER = os.path.join(Path(np.__file__).parents[1], "")
_CALLED_LIBRARIES = tuple(
    _INSTALL_FOLDER + name + os.sep
    for name in ("numpy", "scipy", "numba", "numba_cuda", "llvmlite", "optree", "cuda")
)
_SITE_PACKAGES = ("site-packages" + os.sep, "dist-packages" + os.sep)

ITERATORS: tuple[type, ...] = (
    zip,
    map,
    filter,
    enumerate,
    reversed,
    type(iter([])),
    type(iter(())),
    type(iter({})),
    type(iter({}.values())),
    type(iter({}.items())),
    type(iter(set())),
    type(iter("")),
    type(iter("é")),
    type(iter(b"")),
    type(iter(range(0))),
    type(iter(range(1 << 70))),
    type(reversed([])),
    type(reversed({})),
    type(iter(deque())),
    type(iter(OrderedDict())),
)
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
HEAP_TYPE_FLAG = 1 << 9  # the flag of classes that Python code creates


def is_trusted(code: types.CodeType) -> bool:
    """Return whether code is numtape's, which reads only its arguments."""
    file = code.co_filename
    # The reference executor runs the bodies of ops as Python.
    return file.startswith((PACKAGE, _KERNELS_FOLDER, "<body ")) and not file.startswith(
        _PROGRAM_LIKE_FILES
    )


def is_library_file(file: str) -> bool:
    """Return whether a file belongs to the standard library or to a library that numtape calls."""
    if file.startswith(("<frozen ", *_CALLED_LIBRARIES)):
        return True
    return file.startswith(_STANDARD) and not any(site in file for site in _SITE_PACKAGES)


def is_generated_code(frame: types.FrameType) -> bool:
    """Return whether a frame runs code generated for a named tuple or a dataclass of numtape."""
    if str(frame.f_globals.get("__name__", "")).startswith("namedtuple_"):
        return True
    if frame.f_code.co_filename != "<string>":
        return False
    file = str(frame.f_globals.get("__file__", ""))
    return file.startswith((PACKAGE, _KERNELS_FOLDER)) and not file.startswith(_PROGRAM_LIKE_FILES)


def is_foreign_library(frame: types.FrameType) -> bool:
    """Return whether a frame runs code of a library that does not import numtape."""
    file, name = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
    if is_library_file(file):
        return True
    top = name.partition(".")[0]
    return any(site in file for site in _SITE_PACKAGES) and not any(
        _imports_numtape(module)
        for key, module in list(sys.modules.items())
        if key == top or key.startswith(top + ".")
    )


def _imports_numtape(module: Any) -> bool:
    """Return whether a module has imported numtape or a part of it."""
    for value in list(instance_dict(module).values()):
        name: Any = ""
        if is_a(value, types.ModuleType):
            name = instance_dict(value).get("__name__")
        elif is_a(value, type | types.FunctionType):
            name = getattr(value, "__module__", "")
        if str(name).partition(".")[0] == "numtape":
            return True
    return False


def is_numtape_class(kind: type) -> bool:
    """Return whether a class is numtape's, and only numtape's ops change its objects."""
    module = getattr(kind, "__module__", "")
    return (
        isinstance(module, str)
        and module.startswith("numtape.")
        and not module.startswith(("numtape.keras", "numtape.module", "numtape.demo"))
        and bool(getattr(sys.modules.get(module), "__file__", "") or "")
    )


def is_constant(value: Any) -> bool:
    """Return whether a value has no mutable Python state."""
    kind = type(value)
    return (
        kind in PLAIN_TYPES
        or kind is float
        or kind is complex
        or kind is Tensor
        or is_a(value, np.dtype | types.CodeType)
        or (
            is_a(value, np.generic)
            and not is_a(value, np.void)
            and not kind.__flags__ & HEAP_TYPE_FLAG
        )
        or kind is slice
        or is_numtape_class(kind)
    )


def instance_dict(value: Any) -> Any:
    """Return the dict with an object's attributes; an empty dict if it has none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def is_program_attribute(value: Any, name: Any) -> bool:
    """Return whether an attribute of a numtape object belongs to the program."""
    if not type(value).__dictoffset__:
        return False
    return name in instance_dict(value) or class_attribute(type(value), name) is MISSING


def class_dict(kind: type) -> dict[str, Any]:
    """Return the dict of a class, which Python hides behind a proxy."""
    (names,) = gc.get_referents(vars(kind))
    return names  # type: ignore[no-any-return]


def class_attribute(kind: type, name: str) -> Any:
    """Return a class's attribute without binding it, or `MISSING`."""
    for owner in kind.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return MISSING


BOUND_TYPES = (
    types.BuiltinMethodType,
    types.MethodWrapperType,
    types.MethodType,
    functools.partial,
)


class _Structure(ctypes.Structure):
    _fields_ = (("field", ctypes.c_int),)


_FIELD_TYPES = type(_Structure.field), type(vars(namedtuple("_Named", "field"))["field"])
_DESCRIPTORS = (
    *_FIELD_TYPES,
    staticmethod,
    classmethod,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    functools.cached_property,
)


_NUMBER_TYPES = (int, float, complex, bool, str)


def is_unknown_descriptor(value: Any, ran_python: bool) -> bool:
    """Return whether a descriptor written in C, and unknown here, finds an attribute.

    Args:
      value: The class's attribute.
      ran_python: Whether Python functions ran to find the attribute.
    """
    if is_a(value, property):
        getter = type(value.fget)
        if getter in (operator.attrgetter, operator.itemgetter) or value.fget in _NUMBER_TYPES:
            return ran_python
        return getter is not types.FunctionType
    getter_method = class_attribute(type(value), "__get__")
    if (
        getter_method is MISSING
        or is_a(value, _DESCRIPTORS)
        or callable(value)
        or is_numtape_class(type(value))
    ):
        return False
    return not is_a(getter_method, types.FunctionType)


def is_data_descriptor(descriptor: Any) -> bool:
    """Return whether a descriptor has precedence over the object's dict."""
    return hasattr(type(descriptor), "__set__") or hasattr(type(descriptor), "__delete__")


def signal_handlers() -> set[types.CodeType]:
    """Return the code of signal handlers, which can run between any two instructions."""
    if threading.current_thread() is not threading.main_thread():
        return set()
    codes = set()
    for number in _SIGNALS:
        handler: Any = _getsignal(number)
        if handler is not None and type(handler) not in (int, types.BuiltinFunctionType):
            codes |= _code_of(handler)
    return codes


def gc_callbacks() -> set[types.CodeType]:
    """Return the code of the garbage collector's callbacks, which can run at any allocation.

    They are not part of the recording, because a collection occurs at another place each time.
    """
    return set().union(*map(_code_of, gc.callbacks))


def _code_of(callback: Any) -> set[types.CodeType]:
    """Return the code of a function, method or callable object, if it is written in Python."""
    while hasattr(callback, "__func__") or isinstance(callback, functools.partial):
        callback = getattr(callback, "__func__", None) or callback.func
    if not isinstance(callback, types.FunctionType):
        callback = class_attribute(type(callback), "__call__")
    return {callback.__code__} if isinstance(callback, types.FunctionType) else set()


_SIGNALS = sorted(signal.valid_signals())
_getsignal = sys.modules["_signal"].getsignal  # `signal.getsignal` takes ten times as long


def is_in_handler(codes: set[types.CodeType]) -> bool:
    """Return whether a signal handler with one of these codes runs in this thread."""
    frame: Any = sys._getframe(1) if codes else None
    while frame is not None:
        if frame.f_code in codes:
            above = frame.f_back  # the handler's argument, unless the program called it
            for x in frame.f_locals.values():
                if x is above or (type(x) is tuple and any(y is above for y in x)):
                    return above is not None
        frame = frame.f_back
    return False


def owns_memory(array: Any) -> bool:
    """Return whether an array is not a view of another array or object."""
    return array.base is None or is_a(array.base, BorrowedMemory)


def memory_owner(array: Any) -> Any:
    """Return the object that owns an array's memory: an array, or another buffer."""
    while is_a(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def is_shared(array: Any, is_new: bool, is_own: Callable[[Any], bool]) -> bool:
    """Return whether code outside of the call can access an array's memory.

    Args:
      array: The array.
      is_new: Whether the array object, if not its memory, is new.
      is_own: Returns whether the call created an object.
    """
    if not is_new and is_own(array):
        return False
    base = array.base
    while is_a(base, np.ndarray):
        if is_own(base):
            return False
        # Two references are those of the view and of `base`: no other code can reach the array.
        is_new = is_new and word_at(id(base)) & 0xFFFFFFFF <= 2
        base = base.base
    return not (is_new and (base is None or is_a(base, bytes | BorrowedMemory)))
