"""numtape: automatic differentiation on one flat tape, compiled with Numba.

The names are TensorFlow's: ``import numtape as tf`` runs TensorFlow's autodiff guide.
"""

from __future__ import annotations

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from pathlib import Path as _Path

if hasattr(_sys, "set_lazy_imports_filter"):
    # With -X lazy_imports=all, Python would delay the imports of numtape's modules, some of which
    # change others. The filter says whether an import may be delayed.
    _filter = _sys.get_lazy_imports_filter()  # type: ignore[attr-defined]

    def _may_be_lazy(importing: str, *what: object) -> _typing.Any:
        is_own = importing.partition(".")[0] == __name__
        return not is_own and (_filter is None or _filter(importing, *what))

    _sys.set_lazy_imports_filter(_may_be_lazy)

# In a checkout kernels/ is this package's sibling, not its child.
_here = _Path(__file__).resolve().parent
if not (_here / "kernels").is_dir():
    __path__.append(str(_here.parent))

from . import (
    bitwise,
    config,
    dtypes,
    errors,
    linalg,
    math,
    nn,
    numpy_protocols as numpy_protocols,
    random,
)
from .compat.missing_names import tell as _tell
from .compat.names import ModuleHints as _ModuleHints
from .compat.traceback_filter import guard as _guard, guard_module as _guard_module
from .config.devices import device
from .core.log.variable import Variable, VariableAggregation, VariableSynchronization
from .core.ops.activations import sigmoid
from .core.ops.along_axis import argmax, argmin, cumsum
from .core.ops.arithmetic import (
    divide,
    divide as truediv,
    pow_ as pow,
    realdiv,
    saturate_cast,
    scalar_mul,
    truncatediv,
    truncatemod,
)
from .core.ops.arrange import (
    broadcast_dynamic_shape,
    meshgrid,
    reverse_sequence,
    roll,
    sequence_mask,
)
from .core.ops.blocks import (
    batch_to_space,
    required_space_to_batch_paddings,
    space_to_batch,
    space_to_batch_nd,
)
from .core.ops.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from .core.ops.complex import complex_ as complex
from .core.ops.creation import (
    constant,
    convert_to_tensor,
    eye,
    fill,
    is_tensor,
    linspace,
    ones,
    ones_like,
    range_ as range,
    rank,
    shape,
    size,
    zeros,
    zeros_like,
)
from .core.ops.decompositions import eig, eigvals
from .core.ops.einsum import einsum
from .core.ops.elementwise import (
    abs_ as abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cast,
    clip_by_value,
    cos,
    cosh,
    exp,
    floor,
    maximum,
    minimum,
    multiply,
    negative,
    round_ as round,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    stop_gradient,
    subtract,
    tan,
    tanh,
)
from .core.ops.getitem import strided_slice_ as strided_slice
from .core.ops.indexing import boolean_mask, gather, one_hot, repeat, where
from .core.ops.joining import concat, stack, tile
from .core.ops.matrix_functions import sqrtm as matrix_square_root
from .core.ops.matrix_products import matmul, tensordot
from .core.ops.movement import (
    broadcast_to,
    expand_dims,
    identity,
    reshape,
    squeeze,
    transpose,
)
from .core.ops.norms import norm
from .core.ops.padding import pad
from .core.ops.partition import dynamic_partition, dynamic_stitch, unravel_index
from .core.ops.reduction import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from .core.ops.scatter import (
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from .core.ops.shapes import (
    bitcast,
    broadcast_static_shape,
    ensure_shape,
    guarantee_const,
    identity_n,
    parallel_stack,
    shape_n,
)
from .core.ops.slicing import reverse, slice_ as slice, split, unstack
from .core.settings import (
    kernels_folder as kernels_folder,
    warn_of_unknown_variables as _warn_of_unknown_variables,
)
from .core.values.composite import load_handlers as _load_handlers
from .core.values.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    float16,
    float16 as half,
    float32,
    float64,
    float64 as double,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.values.hints import MissingAttribute as _Elsewhere
from .core.values.indexed_slices import IndexedSlices
from .core.values.spec import TensorShape
from .core.values.tensor import Tensor
from .errors import DeviceError
from .function.concrete_function import ConcreteFunction as _ConcreteFunction
from .function.function import Function as _Function, function
from .kernel.grad import grad, jacobian, value_and_grad
from .kernel.kernel import kernel
from .module import Module
from .tape import GradientTape, UnconnectedGradients
from .tensor_spec import TensorSpec

__version__ = "0.1.0"
newaxis = None
from .core.ops.counting import (
    histogram_fixed_width,
    histogram_fixed_width_bins,
    unique,
    unique_with_counts,
)
from .core.ops.norms import add_n, clip_by_global_norm, clip_by_norm
from .core.ops.sorting import argsort, searchsorted, sort

__all__ = [
    "Assert",
    "DType",
    "DeviceError",
    "GradientTape",
    "IndexedSlices",
    "Module",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RegisterGradient",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "NoneTensorSpec",
    "OptionalSpec",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "UnconnectedGradients",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "array_api",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "atan",
    "atan2",
    "atanh",
    "autodiff",
    "batch_to_space",
    "bfloat16",
    "bitcast",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "config",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "data",
    "datasets",
    "debugging",
    "device",
    "distribute",
    "divide",
    "double",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "eig",
    "eigvals",
    "einsum",
    "ensure_shape",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "experimental",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_current_name_scope",
    "get_static_value",
    "grad",
    "grad_pass_through",
    "gradients",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "image",
    "init_scope",
    "initializers",
    "int16",
    "int32",
    "int64",
    "int8",
    "io",
    "is_symbolic_tensor",
    "is_tensor",
    "jacobian",
    "keras",
    "kernel",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup",
    "losses",
    "map_fn",
    "math",
    "matmul",
    "matrix_square_root",
    "maximum",
    "meshgrid",
    "metrics",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_gradient",
    "no_op",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "optimizers",
    "pad",
    "parallel_stack",
    "pow",
    "print",
    "py_function",
    "ragged",
    "random",
    "random_normal_initializer",
    "random_uniform_initializer",
    "range",
    "rank",
    "realdiv",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "required_space_to_batch_paddings",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roll",
    "round",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "sparse",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "strings",
    "subtract",
    "summary",
    "switch_case",
    "tan",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "test",
    "testing",
    "tile",
    "timestamp",
    "train",
    "transpose",
    "truediv",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "value_and_grad",
    "vectorized_map",
    "where",
    "while_loop",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]

if _typing.TYPE_CHECKING:
    from . import (
        array_api,
        autodiff,
        data,
        datasets,
        debugging,
        distribute,
        experimental,
        image,
        io,
        keras,
        lookup,
        nest,
        ragged,
        signal,
        sparse,
        strings,
        summary,
        test,
        testing,
        train,
    )
    from .composites.ragged_tensor import RaggedTensor
    from .composites.sparse_tensor import SparseTensor
    from .composites.type_specs import RaggedTensorSpec, SparseTensorSpec
    from .custom_gradients import (
        RegisterGradient,
        custom_gradient,
        grad_pass_through,
        gradients,
        no_gradient,
        recompute_grad,
    )
    from .data.elements import NoneTensorSpec
    from .data.structure import OptionalSpec
    from .debugging.assertions import Assert, assert_equal, assert_greater, assert_less, assert_rank
    from .function.control_flow import (
        case,
        cond,
        control_dependencies,
        executing_eagerly,
        foldl,
        foldr,
        get_current_name_scope,
        group,
        init_scope,
        map_fn,
        name_scope,
        no_op,
        scan,
        switch_case,
        tuple_ as tuple,
        while_loop,
    )
    from .function.py_function import (
        get_static_value,
        is_symbolic_tensor,
        numpy_function,
        print_ as print,
        py_function,
        timestamp,
        type_spec_from_value,
    )
    from .keras import initializers, losses, metrics, optimizers
    from .keras.initializers import (
        Constant as constant_initializer,
        Ones as ones_initializer,
        RandomNormal as random_normal_initializer,
        RandomUniform as random_uniform_initializer,
        Zeros as zeros_initializer,
    )
    from .strings.text import as_string
    from .tensor_array import TensorArray
    from .vectorization import vectorized_map

# Modules that are imported when they are first used, and functions of such modules.
_FUNCTIONS = {
    name: module
    for module, names in {
        "debugging.assertions": "Assert assert_equal assert_greater assert_less assert_rank",
        "function.control_flow": "case cond control_dependencies executing_eagerly foldl foldr "
        "get_current_name_scope group init_scope map_fn name_scope no_op scan switch_case tuple "
        "while_loop",
        "custom_gradients": "RegisterGradient custom_gradient grad_pass_through gradients "
        "no_gradient "
        "recompute_grad",
        "strings.text": "as_string",
        "function.py_function": "get_static_value is_symbolic_tensor numpy_function print "
        "py_function timestamp "
        "type_spec_from_value",
        "data.elements": "NoneTensorSpec",
        "data.structure": "OptionalSpec",
        "tensor_array": "TensorArray",
        "vectorization": "vectorized_map",
        "composites.ragged_tensor": "RaggedTensor",
        "composites.sparse_tensor": "SparseTensor",
        "composites.type_specs": "RaggedTensorSpec SparseTensorSpec",
    }.items()
    for name in names.split()
}
_LAZY = {
    **{
        name: name
        for name in (
            "array_api",
            "autodiff",
            "data",
            "datasets",
            "debugging",
            "distribute",
            "experimental",
            "image",
            "io",
            "keras",
            "lookup",
            "nest",
            "ragged",
            "signal",
            "sparse",
            "strings",
            "summary",
            "test",
            "testing",
            "train",
        )
    },
    **{name: f"keras.{name}" for name in ("initializers", "losses", "metrics", "optimizers")},
}


_INITIALIZERS = {
    "constant_initializer": "Constant",
    "ones_initializer": "Ones",
    "random_normal_initializer": "RandomNormal",
    "random_uniform_initializer": "RandomUniform",
    "zeros_initializer": "Zeros",
}


def _load_lazily(name: str) -> _typing.Any:
    """Names that are imported on first use."""
    if name in _FUNCTIONS:
        module = _import_module(f"numtape.{_FUNCTIONS[name]}")
        function = getattr(module, f"{name}_" if name in ("print", "tuple") else name)
        _guard([function])
        return function
    if name in _INITIALIZERS:
        return getattr(_import_module("numtape.keras.initializers"), _INITIALIZERS[name])
    if name in _LAZY:
        return _import_module(f"numtape.{_LAZY[name]}")
    return _import_module("numtape.compat.names").missing("", name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})


_guard_module(__name__)
_guard([_load_lazily, _Function, _ConcreteFunction, _Elsewhere, Variable._assign_slice])
for _kind in (Tensor, Variable, TensorShape, TensorSpec, DType, _Function, _ConcreteFunction):
    _tell(_kind, _kind.__name__)
_load_handlers.append(lambda: _import_module("numtape.composites"))
_warn_of_unknown_variables()
_sys.meta_path.append(_ModuleHints)
