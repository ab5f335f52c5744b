"""Tables of C functions and classes: what the observer knows about each.

The functions in `PURE`, `PURE_NUMPY` and `PURE_METHODS` do not read the time, files, random numbers
or settings, and do not change their arguments. `c_functions` consults the tables. A C function that
is in no table makes the recorded function run as Python.
"""

from __future__ import annotations

import _operator
import builtins
import cmath
import collections
import datetime
import decimal
import fractions
import functools
import gc
import itertools
import math
import operator
import re
import signal
import sys
import time
import types
import weakref
from typing import Any

import numpy as np

from .ownership import FROZEN_DICTS


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
    *FROZEN_DICTS,
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
