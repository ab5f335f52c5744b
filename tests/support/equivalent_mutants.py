"""Mutants that compute the same, by the names that `mutants.py` prints, each with the reason."""

_SHAPE = "what takes a shape takes the tensor's own"
_TIE = "where both are equal, both sides are the same, or their squares are"
_OTHER = "in the side that is not taken"
_SIZE = "the length of a vector does not depend on its signs"

EQUIVALENT: dict[str, str] = {
    "activations Elu: x < 0 -> x <= 0": "exp(0) - 1 is 0, with the same sign",
    "activations LeakyRelu: x > 0 -> x >= 0": "0 times the slope is 0",
    "activations LeakyRelu: x > 0.0 -> x >= 0.0": "the slope's gradient at 0 is 0 * g either way",
    "activations Relu6: x >= 6 -> x > 6": "at 6 both sides are 6",
    "activations Elu: x < 0.0 -> x <= 0.0": "at 0 it is the exponential of 0 either way",
    "activations Selu: x < 0.0 -> x <= 0.0 #2": _OTHER,
    "activations Selu: 0.0 -> 1.0 #2": _OTHER,
    "activations Selu: x < 0 -> x <= 0": "exp(0) - 1 is 0, with the same sign",
    "activations Selu: 0.0 -> 1.0 #3": _OTHER,
    "activations Softplus: x > 0 -> x >= 0": _TIE,
    "elementwise FloorMod: fmod(x, y) < 0 -> fmod(x, y) <= 0": "it is not 0: that is asked before",
    "elementwise FloorMod: y < 0 -> y <= 0": "by 0, the remainder is NaN whatever is added",
    "elementwise Hypot: absolute(x) -> x #2": "only asked whether it is 0",
    "elementwise Hypot: absolute(y) -> y #2": "only asked whether it is 0",
    "elementwise Hypot: absolute(x) > absolute(y) -> absolute(x) >= absolute(y)": _TIE,
    **dict.fromkeys(
        (
            f"elementwise Hypot: absolute(x) > absolute(y) -> absolute(x) >= absolute(y) #{k}"
            for k in range(2, 7)
        ),
        _TIE,
    ),
    "elementwise LogOrZero: 1.0 -> -1.0": _OTHER,
    "elementwise LogOrZero: 1.0 -> 0.5": _OTHER,
    "elementwise LogOrZero: 1.0 -> -1.0 #2": _OTHER,
    "elementwise LogOrZero: 1.0 -> 0.5 #2": _OTHER,
    "elementwise LogOrZero: x > 0 -> x >= 0": "at 0 it becomes the logarithm of 1",
    "elementwise LogOrZero: x > 0 -> x >= 0 #2": _OTHER,
    "elementwise Maximum: x + y -> x - y": "one of them is NaN",
    "elementwise Minimum: x + y -> x - y": "one of them is NaN",
    "elementwise Maximum: y > x -> y >= x": "equal ones are dealt with before",
    "elementwise Minimum: y < x -> y <= x": "equal ones are dealt with before",
    "joining _concat_vjp: tuple(ranges) -> ranges": "recording makes a tuple of the slice",
    "movement Reshape: tuple(x.shape) -> x.shape": _SHAPE,
    "slicing _into_zeros_vjp: tuple(x.shape) -> x.shape": _SHAPE,
    "slicing _slice_vjp: tuple(x.shape) -> x.shape": _SHAPE,
    "normalization _normalize_grad_vjp: x - _mean(x) -> _mean(x) - x": "it is squared",
    "reduction _spread_adjoint: tuple(x.shape) -> x.shape": _SHAPE,
}
