"""Random models, trained for five steps by numtape and an installed Keras.

Weights and data are equal. Every run has its own seed, which a failure prints; `--parity-seed`
repeats it, and `--parity-seconds` sets the duration.
"""

import time

import numpy as np
import pytest
from random_models import Model
from tensorflow_reference import fresh, installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]
NEAR = 1e-5


def flat(found):
    """The values of a result, as a list of arrays."""
    if isinstance(found, list | tuple):
        return [number for part in found for number in flat(part)]
    return [np.asarray(found, "float64")]


def difference(seed, tensorflow):
    """The difference between the libraries' results for one model, or None."""
    model = Model(seed, numtape.keras)
    with np.errstate(all="ignore"):
        mine, theirs = model.results(numtape), model.results(tensorflow)
    assert mine.keys() == theirs.keys(), model
    nudged = None
    for name, wanted in theirs.items():
        for k, (one, other) in enumerate(zip(flat(mine[name]), flat(wanted), strict=True)):
            size = max(1.0, np.abs(other[np.isfinite(other)]).max(initial=0.0))
            if one.shape == other.shape and np.allclose(one, other, NEAR, NEAR * size, True):
                continue
            # Estimate the effect of rounding by perturbing the weights' last places.
            nudged = nudged or [model.results(tensorflow, part) for part in (3e-7, -3e-7)]
            more = max(np.abs(flat(found[name])[k] - other).max() for found in nudged)
            if one.shape != other.shape or not np.allclose(one, other, NEAR, 10 * more, True):
                return f"{model}\n{name}, {k}, by {more}:\n{one}\nKeras's:\n{other}"
    return None


def test_models(request):
    tensorflow, seed = installed(), fresh(request.config)
    end = time.monotonic() + request.config.getoption("--parity-seconds")
    while time.monotonic() < end:
        wrong = difference(seed, tensorflow)
        assert wrong is None, f"--parity-seed {seed}\n{wrong}"
        seed += 1
