"""Mutants that compute the same, by the names that `mutants.py` prints, each with the reason."""

EQUIVALENT: dict[str, str] = {
    "activations Softplus: x > 0 -> x >= 0": "the larger one of 0 and 0 is 0",
}
