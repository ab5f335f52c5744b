"""The devices that tests compute on: the one that `NUMTAPE_DEVICE` names, or all that there are."""

import os

import pytest

CHOSEN = os.environ.get("NUMTAPE_DEVICE", "").strip().lower() or "cpu"
# Numba's simulator of a GPU runs each thread in Python: sizes are small there.
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
CUDA = pytest.param("cuda", marks=[] if SIMULATED else [pytest.mark.gpu])
DEVICES = ["reference", "cpu", CUDA] if CHOSEN == "cpu" else [CUDA if CHOSEN == "cuda" else CHOSEN]
# Those that compile; the reference is what they are compared with.
EXECUTORS = [device for device in DEVICES if device != "reference"]
