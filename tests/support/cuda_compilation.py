"""Compile CUDA kernels without a GPU and read registers, spills and stack from the result."""

import importlib
import importlib.util
import itertools
import re

import pytest

FOUND = all(importlib.util.find_spec(name) for name in ("numba_cuda", "cuda"))
MARKS = [
    pytest.mark.skipif(not FOUND, reason="pip install 'numtape[cuda]' to compile for CUDA"),
    pytest.mark.numtape_only(reason="TensorFlow compiles elsewhere"),
    pytest.mark.cpu_only("compiles where there is no GPU"),
]


CAPABILITY = (9, 0)  # H200


REGISTERS = 128  # per thread, so that two blocks of 256 threads fit


# Stack usage of libdevice: arguments of sin, cos and tan beyond 105615.
SLOW_PATHS = "__internal_trig_reduction_slowpath"


def report(make, dtypes, symbol):
    """The assembler's report on a kernel: registers, bytes of stack, bytes spilled."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    code, said = compiler.link(compiler.ptx(make(), dtypes, symbol, CAPABILITY), CAPABILITY)
    assert code[:4] == b"\x7fELF"
    found = dict.fromkeys(("registers", "stack", "spilled"), 0)
    found["registers"] = max(map(int, re.findall(r"Used (\d+) registers", said)))
    for name, stack, stores, loads in re.findall(
        r"Function properties for '?(\w+)'?\s*\n.*?(\d+) bytes stack frame, (\d+) bytes spill "
        r"stores, (\d+) bytes spill loads",
        said,
    ):
        found["spilled"] += int(stores) + int(loads)
        if not name.startswith(SLOW_PATHS):
            found["stack"] = max(found["stack"], int(stack))
    return found


def check(make, dtypes, symbol, stack=0):
    found = report(make, dtypes, symbol)
    assert found["spilled"] == 0
    assert found["stack"] <= stack
    assert found["registers"] <= REGISTERS


def kernels_of(module):
    return importlib.import_module(f"numtape.kernels.cuda.{module}").KERNELS


def in_turn_with(first, *others):
    """All combinations; each first value once with the others in turn, the rest slow."""
    found = []
    for places in itertools.product(*(range(len(values)) for values in (first, *others))):
        rest, usual = places[0], True
        for place, values in zip(places[1:], others, strict=True):
            usual &= place == rest % len(values)
            rest //= len(values)
        chosen = [values[k] for values, k in zip((first, *others), places, strict=True)]
        found.append(pytest.param(*chosen, marks=() if usual else pytest.mark.slow))
    return found


NUMBERS = ("float32", "float64", "int32", "int64", "uint8")
