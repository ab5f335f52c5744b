"""Type aliases of arguments. Imported by type checkers only, so importing numtape does not load it.

An argument of the public API accepts more than `Tensor`: variables, arrays, numbers and nested
lists. A function that converts its argument first annotates it with an alias from here; a function
whose argument is already converted annotates it with `Tensor`. An argument that no type describes,
such as a function of any signature, is ``Any``. `numtape.keras.annotations` has the
aliases of Keras.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .dtypes import DType
from .indexed_slices import IndexedSlices
from .spec import TensorShape
from .tensor import Operators

if TYPE_CHECKING:
    from ..log.string_tensor import StringTensor

# A tensor or variable (`Operators`), sparse slices, or what NumPy converts to an array; nested
# lists may contain tensors.
TensorLike: TypeAlias = Operators | IndexedSlices | ArrayLike | Sequence["TensorLike"]

# A tensor of strings, or what converts to one: a string, an array or nested list of strings.
StringLike: TypeAlias = "StringTensor | str | bytes | NDArray[Any] | Sequence[StringLike]"

# A real number: a learning rate, a bound, an epsilon.
NumberLike: TypeAlias = float | np.number[Any] | NDArray[Any] | Operators

# An integer: an axis, a size, a count. `Operators` is an integer tensor or variable of rank 0.
IntLike: TypeAlias = int | np.integer[Any] | NDArray[Any] | Operators

# One integer or several: window sizes, strides, dilations, shifts.
IntsLike: TypeAlias = IntLike | Sequence[IntLike]

# One axis or several; None stands for all axes.
AxisLike: TypeAlias = IntLike | Sequence[IntLike] | None

# A shape whose sizes are known, and one that may contain None for an unknown size.
ShapeLike: TypeAlias = TensorShape | Sequence[IntLike] | IntLike
PartialShape: TypeAlias = TensorShape | Sequence[int | None] | None

# "SAME", "VALID", or the numbers of zeros before and after each axis.
PaddingLike: TypeAlias = str | Sequence[Sequence[IntLike]] | NDArray[Any]

# A dtype, its name, NumPy's dtype or scalar type, or a Python type.
DTypeLike: TypeAlias = DType | str | np.dtype[Any] | type
