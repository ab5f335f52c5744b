"""The devices for tests: the one that `NUMTAPE_DEVICE` names, or all available ones."""

import os

import pytest

CHOSEN = os.environ.get("NUMTAPE_DEVICE", "").strip().lower() or "cpu"
# Numba's GPU simulator runs each thread in Python, so sizes are small.
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
CUDA = pytest.param("cuda", marks=[] if SIMULATED else [pytest.mark.gpu])
DEVICES = ["reference", "cpu", CUDA] if CHOSEN == "cpu" else [CUDA if CHOSEN == "cuda" else CHOSEN]
# Compiling devices, which are compared with the reference.
EXECUTORS = [device for device in DEVICES if device != "reference"]
