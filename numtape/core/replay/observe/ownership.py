"""Ownership of code and objects: of the program, of a library, or of numtape."""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import importlib.util
import operator
import os
import signal
import sys
import sysconfig
import threading
import types
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ... import settings
from ...cpython.api import reference_count
from ...values.memory import BorrowedMemory
from ...values.tensor import Tensor
from ...values.weakrefs import weak_cache
from .reads import MISSING, PLAIN_TYPES, is_a


@weak_cache
def is_python_class(cls: type) -> bool:
    """Return whether a class statement created a class. Classes written in C define C functions."""
    if not cls.__flags__ & 1 << 9 or cls.__flags__ & 1 << 8:
        return False
    c_methods = (
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
    )
    for value in vars(cls).values():
        if isinstance(value, c_methods) and value.__objclass__ is cls:
            return False
        if isinstance(value, types.BuiltinFunctionType) and value.__self__ is cls:
            return False
    return True


def has_finalizer(cls: type) -> bool:
    """Return whether the program is notified when an object is deleted."""
    return any("__del__" in vars(base) for base in cls.__mro__ if is_python_class(base))


def c_base_of(cls: type) -> type:
    """Return the first C class in a class's bases."""
    return next(base for base in cls.__mro__ if not is_python_class(base))


PACKAGE = str(settings.PACKAGE) + os.sep
# In a checkout the folder of kernels is beside the package.
_KERNELS_FOLDER = str(settings.kernels_folder().resolve()) + os.sep
# Parts of numtape that are observed like a program, because they keep settings in attributes.
_PROGRAM_LIKE_FILES = tuple(
    PACKAGE + name
    for name in (
        "keras" + os.sep,
        "module.py",
        "test.py",
        "demo.py",
        "__main__.py",
    )
)
# Libraries that numtape calls, by file: a module of any name can shadow another one.
_STANDARD = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_INSTALL_FOLDER = os.path.join(Path(np.__file__).parents[1], "")


def _folder_of(package: str) -> str:
    """Return the folder of a package that numtape calls.

    A module of the program may have the same name, such as ``cuda.py`` beside a script. So the
    folder that Python imports from counts only if an installer recorded the package there;
    otherwise it is the one beside NumPy.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module in `sys.modules` that no file defines
        spec = None
    if spec is not None and spec.origin and spec.submodule_search_locations:
        folder = Path(spec.origin).parent
        if any(folder.parent.glob(f"{package}-*.dist-info")):
            return os.path.join(folder, "")
    return _INSTALL_FOLDER + package + os.sep


_CALLED_LIBRARIES = tuple(
    map(_folder_of, ("numpy", "scipy", "numba", "numba_cuda", "llvmlite", "optree", "cuda"))
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


def _newer_class(module: str, name: str) -> tuple[type, ...]:
    """Return a class in a tuple, which is empty in older Pythons that do not have it."""
    try:
        return (getattr(importlib.import_module(module), name),)
    except (ImportError, AttributeError):
        return ()


FROZEN_DICTS = _newer_class("builtins", "frozendict")
LAZY_IMPORTS = _newer_class("types", "LazyImportType")
MAPPINGS: tuple[Any, ...] = (dict, *FROZEN_DICTS)
IMMUTABLE_CONTAINERS: tuple[type, ...] = (
    tuple,
    frozenset,
    str,
    bytes,
    *FROZEN_DICTS,
    *_newer_class("string.templatelib", "Template"),
)
HEAP_TYPE_FLAG = 1 << 9  # the flag of classes that Python code creates


@weak_cache
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
    top_package = name.partition(".")[0]
    return any(site in file for site in _SITE_PACKAGES) and not any(
        _imports_numtape(module)
        for key, module in list(sys.modules.items())
        if key == top_package or key.startswith(top_package + ".")
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


def is_numtape_class(cls: type) -> bool:
    """Return whether a class is numtape's, and only numtape's ops change its objects."""
    module = getattr(cls, "__module__", "")
    return (
        isinstance(module, str)
        and module.startswith("numtape.")
        and not module.startswith(("numtape.keras", "numtape.module", "numtape.demo"))
        and bool(getattr(sys.modules.get(module), "__file__", "") or "")
    )


def is_constant(value: Any) -> bool:
    """Return whether a value has no mutable Python state."""
    cls = type(value)
    return (
        cls in PLAIN_TYPES
        or cls is float
        or cls is complex
        or cls is Tensor
        or is_a(value, np.dtype | types.CodeType)
        or (
            is_a(value, np.generic)
            and not is_a(value, np.void)
            and not cls.__flags__ & HEAP_TYPE_FLAG
        )
        or cls is slice
        or is_numtape_class(cls)
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


def class_dict(cls: type) -> dict[str, Any]:
    """Return the dict of a class, which Python hides behind a proxy."""
    (names,) = gc.get_referents(vars(cls))
    return names  # type: ignore[no-any-return]


def class_attribute(cls: type, name: str) -> Any:
    """Return a class's attribute without binding it, or `MISSING`."""
    for owner in cls.__mro__:
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
        getter_type = type(value.fget)
        if getter_type in (operator.attrgetter, operator.itemgetter) or value.fget in _NUMBER_TYPES:
            return ran_python
        return getter_type is not types.FunctionType
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
            caller = frame.f_back  # the handler's argument, unless the program called it
            for x in frame.f_locals.values():
                if x is caller or (type(x) is tuple and any(y is caller for y in x)):
                    return caller is not None
        frame = frame.f_back
    return False


def entries_of(mapping: Any) -> Any:
    """Return the keys and values of a dict or frozendict, without code of a subclass."""
    return next(cls for cls in MAPPINGS if is_a(mapping, cls)).items(mapping)


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
        is_new = is_new and reference_count(id(base)) <= 2
        base = base.base
    return not (is_new and (base is None or is_a(base, bytes | BorrowedMemory)))
