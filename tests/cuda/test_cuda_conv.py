"""Kernels of convolutions and pooling, compiled for an H200."""

import pytest
from cuda_compilation import MARKS, check, kernels_of

pytestmark = MARKS


__all__ = ["pytestmark"]  # the same marks: skipped without the CUDA compiler

POOLS = {"largest": 2, "largest_spread": 2, "largest_taken": 2, "mean": 1, "mean_spread": 1}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["forward", "by_input", "by_filter"])
def test_convolutions(name, dtype):
    parameters = ["int64"] * 23 + [f"*{dtype}"] * 3
    check(lambda: kernels_of("conv")[name](dtype), parameters, f"conv_{name}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name, dtype):
    parameters = ["int64"] * 21 + [f"*{dtype}"] * (1 + POOLS[name])
    check(lambda: kernels_of("pool")[name](dtype), parameters, f"pool_{name}")


def test_places():
    parameters = ["int64"] * 21 + ["*int64", "*float32", "*float32"]
    check(lambda: kernels_of("pool")["largest_place"]("float32"), parameters, "pool_place")


def test_every_kernel_is_compiled_here():
    assert set(kernels_of("conv")) == {"forward", "by_input", "by_filter"}
    assert set(kernels_of("pool")) == {*POOLS, "largest_place"}
