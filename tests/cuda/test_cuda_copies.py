"""Kernels that move memory, compiled for an H200: gathers, scatters, copies, transposes."""

import importlib
import random
import re

import pytest
from cuda_compilation import CAPABILITY, MARKS, NUMBERS, check, in_turn_with, kernels_of, report

from numtape.core.cuda.codegen import function
from numtape.core.cuda.copies import (
    Padding,
    Tile,
    clear_source,
    either,
    fold_source,
    gather_source,
    padding_source,
    strided_copy_source,
    transpose_source,
)
from numtape.core.cuda.ops import permute

pytestmark = MARKS


__all__ = ["pytestmark"]  # the same marks: skipped without the CUDA compiler

FULL = 32  # registers per thread that allow 2,048 threads per multiprocessor
WORDS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}


def text_of(module, name, arguments, parameters):
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    made = importlib.import_module(f"numtape.kernels.cuda.{module}").KERNELS[name](*arguments)
    return compiler.ptx(made, parameters, name, CAPABILITY)


def accesses(text):
    """A kernel's reads and writes of arrays, in the order of its text."""
    return re.findall(r"((?:ld|st|red|atom)\.global\.(?:nc\.)?[\w.]+)", text)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("into", [False, True])
def test_copies(dtype, into):
    text = strided_copy_source((5, 7, 3), (1, -30, 5), 200, into)
    check(lambda: function(text, []), ["int64", f"*{dtype}", f"*{dtype}"], "move")


TRANSPOSES = [
    ((16384, 16384), (1, 16384), 0, (64, 64), 4),
    ((16384, 16384), (1, 16384), 0, (64, 64), 1),
    ((64, 3, 50176), (150528, 1, 3), 1, (1024, 4), 4),
    ((50176, 3), (1, 50176), 0, (4, 1024), 4),
    ((100, 5, 7, 1000), (1, 700, 100, 3500), 0, (64, 32), 8),
]


@pytest.mark.parametrize("shape, strides, axis, tile, size", TRANSPOSES)
def test_transposes(shape, strides, axis, tile, size, monkeypatch):
    monkeypatch.setattr(permute, "threads", lambda: 256)
    assert permute._tile(shape, strides, size) == (axis, Tile(*tile, 256))
    text = transpose_source(shape, strides, axis, Tile(*tile, 256), WORDS[size])
    said = report(
        lambda: function(text, []), ["int64", f"*{WORDS[size]}", f"*{WORDS[size]}"], "transpose"
    )
    assert said["registers"] <= FULL
    assert said["stack"] == said["spilled"] == 0


def test_small_matrices_and_long_rows_need_no_tile(monkeypatch):
    monkeypatch.setattr(permute, "threads", lambda: 256)
    assert permute._tile((1000, 5, 3), (15, 1, 5), 4) is None  # caches suffice
    assert permute._tile((64, 64), (1, 64), 4) is None  # one tile
    assert permute._tile((1000, 500, 16), (16, 16000, 1), 4) is None
    assert permute._tile((1000, 500), (1, 1000), 16) is None


def test_axes_are_merged():
    assert permute.merge_axes((2, 1, 3, 4), (12, 5, 4, 1)) == ((24,), (1,))
    assert permute.merge_axes((4, 2, 3), (1, 12, 4)) == ((4, 6), (1, 4))
    assert permute.merge_axes((3, 4, 1), (0, 0, 1)) == ((12,), (0,))
    assert permute.merge_axes((1, 1), (7, 1)) == ((), ())
    assert permute._widen((2, 3, 8), (8, 32, 1), 4) == ((2, 3, 2), (2, 8, 1))
    assert permute._widen((2, 3, 4), (4, 8, 1), 4) == ((2, 3), (1, 2))


def test_sixteen_bytes_are_copied_at_a_time():
    wide = strided_copy_source((512, 1024, 4), (4, 2048, 1), 0, False, True)
    cut = either(((9, 60), (64, 1)), ((9, 15), (16, 1)), 4, False, True)
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    word = ["*uint32"] * 2
    for text, dtypes in ((wide, ["int64", *word]), (cut, ["int64", *word, "*int64", *word])):
        seen = accesses(compiler.ptx(function(text, []), dtypes, "move", CAPABILITY))
        assert sum("v4" in access for access in seen) == 8
        said = report(lambda text=text: function(text, []), dtypes, "move")
        assert said["registers"] <= FULL
        assert said["stack"] == said["spilled"] == 0


@pytest.mark.parametrize("size", [1, 4, 16])
def test_paddings(size):
    kind = WORDS[size] if size < 16 else "uint32"
    text = padding_source([Padding(7 * 226, 3, 224), Padding(226 * 16, 16, 3584)], kind, size == 16)
    said = report(lambda: function(text, []), ["int64", f"*{kind}", f"*{kind}"], "pad")
    assert said["registers"] <= FULL
    assert said["stack"] == said["spilled"] == 0


def test_zeros_are_stored_16_bytes_at_a_time():
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    text = compiler.ptx(
        function(clear_source(), []), ["int64", "*uint32", "*uint32"], "zeros", CAPABILITY
    )
    assert all(".v4." in access for access in accesses(text))


MIRRORED = [(2, 2, -1), (4, 0, 1), (1, 2, -1)]  # 4 elements, padded by 2 and 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_mirrors(dtype):
    pointers = ["int64", f"*{dtype}", f"*{dtype}"]
    text = gather_source([([(5, 0, 1)], 12), (MIRRORED, 3), ([(3, 0, 1)], 1)])
    check(lambda: function(text, []), pointers, "mirror")
    back = fold_source(MIRRORED, 4, 3, dtype)
    check(lambda: function(back, []), pointers, "fold")


KINDS = {"uint32": "int32", "int64": "int64"}  # dtypes of indices, and of counts


@pytest.mark.parametrize("index, kind", in_turn_with(["uint8", "int32", "int64"], [*KINDS]))
def test_sorting_of_indices(index, kind):
    kernels, numbers, whole = kernels_of("scatter"), ["int64"] * 5, KINDS[kind]
    check(kernels["counts"], [*numbers, f"*{index}", f"*{whole}"], "counts")
    arrays = [f"*{x}" for x in (index, kind, whole, kind, kind)]
    check(lambda: kernels["order"](kind), [*numbers, *arrays], "order")
    check(kernels["borders"], ["int64", "int64", f"*{kind}", f"*{kind}"], "borders")


@pytest.mark.parametrize(
    "dtype, size, lanes", in_turn_with(NUMBERS, ["small", "large"], ["1", "4"])
)
def test_adding_by_index(dtype, size, lanes):
    kind = {"small": "uint32", "large": "int64"}[size]
    kernels, few, many = kernels_of("scatter"), ["int64"] * 10, ["int64"] * 13
    places, values = [f"*{kind}"] * 2, [f"*{dtype}"] * 3
    check(lambda: kernels["sums"](dtype, lanes, size), [*few, *places, *values], "sums")
    numbers = [*many, *places, *values[1:]]
    check(lambda: kernels["partials"](dtype, lanes, size), numbers, "partials")


ATOMICS = [
    ("float32", "4", "red.global.add.v4.f32"),
    ("float32", "1", "atom.global.add.f32"),
    ("float64", "1", "atom.global.add.f64"),
]


@pytest.mark.parametrize("index, atomic", in_turn_with(["uint8", "int32", "int64"], ATOMICS))
def test_atomics_are_one_instruction(index, atomic):
    dtype, lanes, instruction = atomic
    parameters = ["int64"] * 8 + [f"*{index}", f"*{dtype}", f"*{dtype}"]
    text = text_of("scatter", "atomic", (lanes, "small"), parameters)
    assert [x for x in accesses(text) if x[:2] not in ("ld", "st")] == [instruction]
    for size in ("small", "large"):
        check(lambda size=size: kernels_of("scatter")["atomic"](lanes, size), parameters, "atomic")


def test_rows_of_a_scatter_are_added_16_bytes_at_a_time():
    parameters = ["int64"] * 10 + ["*uint32"] * 2 + ["*float32"] * 3
    seen = accesses(text_of("scatter", "sums", ("float32", "4", "small"), parameters))
    assert {x for x in seen if "32" not in x or "f32" in x} == {
        "ld.global.v4.f32",
        "st.global.v4.f32",
    }
    make = kernels_of("scatter")["sums"]
    said = report(lambda: make("float32", "4", "small"), parameters, "sums")
    assert said["registers"] <= FULL


def test_every_kernel_of_scatter_is_compiled_here():
    names = {"counts", "order", "borders", "partials", "sums", "atomic"}
    assert set(kernels_of("scatter")) == names


@pytest.mark.parametrize(
    "word, index", in_turn_with([*WORDS.values()], ["uint8", "int32", "int64"])
)
def test_gathering(word, index):
    array = "*uint32" if word == "uint128" else f"*{word}"
    arrays = [array, array, f"*{index}"]
    kernels = kernels_of("gather")
    assert set(kernels) == {"gather", "pick", "place"}
    for size in ("small", "large"):
        check(lambda size=size: kernels["gather"](word, size), ["int64"] * 8 + arrays, "gather")
        if word != "uint128":
            check(lambda size=size: kernels["place"](word, size), ["int64"] * 4 + arrays, "place")
    if word != "uint128":
        check(lambda: kernels["pick"](word), ["int64"] * 2 + arrays, "pick")


def test_a_gather_waits_for_four_rows_at_once():
    parameters = ["int64"] * 8 + ["*uint32", "*uint32", "*int32"]
    text = text_of("gather", "gather", ("uint128", "small"), parameters)
    seen = [re.sub(r"[su](32)", r"b\1", access) for access in accesses(text)]
    assert seen == [*["ld.global.b32"] * 4, *["ld.global.v4.b32"] * 4, *["st.global.v4.b32"] * 4]
    assert "div" not in text
    assert (
        report(lambda: kernels_of("gather")["gather"]("uint128", "small"), parameters, "gather")[
            "registers"
        ]
        <= FULL
    )


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 64, 1000, 2**20 + 1, 2**30 + 1, 2**31 - 1])
def test_products_instead_of_quotients(divisor):
    factor, shift = permute.divisor(divisor)
    draw = random.Random(0)
    near = [k * divisor + j for k in (0, 1, (2**31 - 1) // divisor) for j in (-1, 0, 1)]
    for t in (*near, 2**31 - 1, *(draw.randrange(2**31) for _ in range(100))):
        if 0 <= t < 2**31:
            assert factor < 2**32
            assert t * factor < 2**64
            assert t * factor >> shift == t // divisor
