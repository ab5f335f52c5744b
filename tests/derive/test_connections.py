"""Connectivity of gradients: a value, None, zero or an error, as in TensorFlow."""

import numpy as np
import pytest

SETUP = """
w, u, c = tf.Variable(2.0), tf.Variable(3.0), tf.constant(5.0)
v = tf.Variable(7.0, trainable=False)
"""

# The recorded program, the arguments of `gradient`, its results for a default tape, and for a tape
# with `watch_accessed_variables=False`.
PROGRAMS = {
    "one is watched": (
        "y = w * c\nz = y * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, 20.0, 100.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 21.0, None, 105.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (102.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([106.0, None, 21.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "nothing is watched": (
        "y = v * c\nz = y * c",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1.0, None, None], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "the constant is watched": (
        "tape.watch(c)\ny = v * c\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (8.0, 8.0),
            "[c, z], c": (15.0, 15.0),
            "z, [c, y, w, u]": ([14.0, 2.0, 35.0, None], [14.0, 2.0, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 3.0, 21.0, 35.0], [1.0, 3.0, 21.0, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (37.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([36.0, 22.0, 3.0, 1.0], [1.0, 22.0, 3.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a rounded value": (
        "y = tf.round(w * c / 4.0)\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, 2.0, 2.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 3.0, None, 2.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (4.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([3.0, None, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a rounded constant": (
        "y = tf.floor(c)\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 5.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, None, None, 5.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (7.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([6.0, 1.0, None, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a stopped value": (
        "y = tf.stop_gradient(w * c)\nz = y * y * u",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, 100.0], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1.0, None, None], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "zeros": (
        "y = tf.zeros_like(w * c)\nz = y * y * u",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, 0.0, None, 0.0], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1.0, None, None], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, None, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "through integers": (
        "y = tf.cast(w * c, 'int32')\nz = tf.cast(y, 'float32') * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1, None, 10.0], [1.0, 1, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([11.0, None, 1, 1.0], [1.0, 1.0, 1, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an integer": (
        "y = tf.cast(w * c, 'int32')\nz = y + 1",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1, 1, None, None], [1, 1, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, None, 1, 1], [1.0, 1.0, 1, 1]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a comparison": (
        "y = w * c > 1.0\nz = tf.where(y, w, c)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, None, 1.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, True, None, 1.0], [1.0, True, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (3.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([2.0, None, True, 1.0], [1.0, 1.0, True, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an index": (
        "y = tf.argmax([w, 1.0])\nz = tf.gather([w * 2.0, 1.0], y)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 2.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1, None, 2.0], [1.0, 1, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (4.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([3.0, 1.0, 1, 1.0], [1.0, 1.0, 1, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "watched when it was used": (
        "y = c * w\ntape.watch(c)\nz = y * 2.0",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (3.0, 1.0),
            "[c, z], c": (5.0, 1.0),
            "z, [c, y, w, u]": ([4.0, 2.0, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 3.0, 6.0, 15.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([16.0, 7.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "watched when it was used alone": (
        "y = c * 2.0\nz = y * w\ntape.watch(c)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, None, None, 10.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([11.0, 1.0, None, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a result is watched": (
        "y = c * 2.0\nz = y * w\ntape.watch(y)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 2.0, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 3.0, None, 10.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([11.0, 1.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a result is watched that was recorded": (
        "y = c * w\ntape.watch(y)\nz = y * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, 20.0, 100.0, None], [None, 20.0, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 21.0, None, 105.0], [1.0, 21.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (102.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([106.0, None, 21.0, 1.0], [1.0, 1.0, 21.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a chain is watched backwards": (
        "y = c * 2.0\nz = y * w\ntape.watch(y)\ntape.watch(c)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 2.0, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 3.0, None, 10.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([11.0, 1.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "not recorded in between": (
        "with tape.stop_recording():\n    y = w * c\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, None, None, 10.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([11.0, 1.0, None, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "a read that was not recorded": (
        "with tape.stop_recording():\n    y = w.read_value()\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 2.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, None, None, 2.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (4.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([3.0, 1.0, None, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an assigned value": (
        "y = w.assign_add(1.0)\nz = y * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 6.0, 6.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 7.0, None, 7.0], [1.0, 1.0, None, 1.0]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (8.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([8.0, 1.0, 8.0, 1.0], [2.0, 1.0, 2.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an assigned value and another read": (
        "y = w.assign_add(1.0)\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 6.0, 6.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 7.0, None, 7.0], [1.0, 1.0, None, 1.0]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (8.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([8.0, 1.0, 8.0, 1.0], [2.0, 1.0, 2.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an assign that was not recorded": (
        "with tape.stop_recording():\n    y = w.assign_add(1.0)\nz = y * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1.0, None, 1.0], [1.0, 1.0, None, 1.0]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([2.0, 1.0, 2.0, 1.0], [2.0, 1.0, 2.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an assign that was not recorded, and a read": (
        "with tape.stop_recording():\n    y = w.assign_add(1.0)\nz = y * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 3.0, 3.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 4.0, None, 4.0], [1.0, 1.0, None, 1.0]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (5.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([5.0, 1.0, 5.0, 1.0], [2.0, 1.0, 2.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an assign that was not recorded, watched": (
        "with tape.stop_recording():\n    y = w.assign_add(1.0)\ntape.watch(y)\nz = y * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, 6.0, 6.0, None], [None, 6.0, 6.0, None]),
            "[z, y], [z, y, c, w]": ([1.0, 7.0, None, 7.0], [1.0, 7.0, None, 7.0]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (8.0, 8.0),
            "[z, w, c, y], [w, c, y, z]": ([8.0, 1.0, 8.0, 1.0], [8.0, 1.0, 8.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "assigned what was computed": (
        "y = w * c\nw.assign(y)\nz = w * y",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, 10.0, 60.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 11.0, None, 65.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (62.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([66.0, None, 11.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "assigned to another": (
        "y = w * c\na = v.assign(y)\nz = a * w",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (None, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, 10.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, 1.0, None, 15.0], [1.0, 1.0, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (12.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([16.0, None, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
    "an op without a derivative": (
        "y = tf.image.adjust_contrast(tf.fill([1, 1, 1], w), 2.0)\nz = tf.reduce_sum(y) * u",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": ("LookupError", 1.0),
            "[c, z], c": ("LookupError", 1.0),
            "z, [c, y, w, u]": ("LookupError", [None, None, None, None]),
            "[z, y], [z, y, c, w]": ("LookupError", [1.0, [[[1.0]]], None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": ("LookupError", 2.0),
            "[z, w, c, y], [w, c, y, z]": ("LookupError", [1.0, 1.0, [[[1.0]]], 1.0]),
            "[v, z], v": ("LookupError", 1.0),
            "u, [u, w]": ([1.0, None], [1.0, None]),
            "z, u": ("LookupError", None),
            "[u, z], u": ("LookupError", 1.0),
        },
    ),
    "behind it": (
        "y = tf.image.adjust_contrast(tf.fill([1, 1, 1], c), 2.0)\nz = tf.reduce_sum(y) * u",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, 5.0], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, [[[1.0]]], None, None], [1.0, [[[1.0]]], None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, 1.0, [[[1.0]]], 1.0], [1.0, 1.0, [[[1.0]]], 1.0]),
            "[v, z], v": (1.0, 1.0),
            "z, u": (5.0, None),
        },
    ),
    "stopped behind it": (
        "y = tf.image.adjust_contrast(tf.fill([1, 1, 1], w), 2.0)\ny = tf.stop_gradient(y)\n"
        "z = tf.reduce_sum(y) * u",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": (1.0, 1.0),
            "[c, z], c": (1.0, 1.0),
            "z, [c, y, w, u]": ([None, None, None, 2.0], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ([1.0, [[[1.0]]], None, None], [1.0, [[[1.0]]], None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (2.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ([1.0, 1.0, [[[1.0]]], 1.0], [1.0, 1.0, [[[1.0]]], 1.0]),
            "[v, z], v": (1.0, 1.0),
            "z, u": (2.0, None),
        },
    ),
    "a test without a derivative": (
        "y = tf.math.is_nan(w)\nz = tf.where(y, c, w)",
        {
            "c, c": (1.0, 1.0),
            "[c, c], c": (2.0, 2.0),
            "[c, y], c": ("LookupError", 1.0),
            "[c, z], c": (None, 1.0),
            "z, [c, y, w, u]": ([None, None, 1.0, None], [None, None, None, None]),
            "[z, y], [z, y, c, w]": ("LookupError", [1.0, True, None, None]),
            "w, w": (1.0, 1.0),
            "[w, w, z], w": (3.0, 2.0),
            "[z, w, c, y], [w, c, y, z]": ("LookupError", [1.0, 1.0, True, 1.0]),
            "[v, z], v": (1.0, 1.0),
        },
    ),
}

# The gradient through an op; of its result; and its second derivative.
OPS = {
    "abs(w)": "value value zero",
    "acos(w)": "value value value",
    "acosh(w + 2.0)": "value value value",
    "add(w, c)": "value value none",
    "asin(w)": "value value value",
    "asinh(w)": "value value value",
    "atan(w)": "value value value",
    "atan2(w, c)": "value value value",
    "atan2(c, w)": "value value value",
    "atanh(w)": "value value value",
    "math.ceil(w)": "none value none",
    "cast(w, 'float32')": "value value none",
    "cast(w, 'float64')": "value value none",
    "cast(w, 'int32')": "none value none",
    "cast(w > 0.0, 'float32')": "none none none",
    "clip_by_value(w, 0.0, 1.0)": "value value none",
    "clip_by_value(c, w, 10.0)": "zero value none",
    "cos(w)": "value value value",
    "cosh(w)": "value value value",
    "divide(w, c)": "value value none",
    "math.divide_no_nan(w, 0.0 * c)": "zero value none",
    "math.divide_no_nan(c, w)": "value value value",
    "math.erf(w)": "value value value",
    "math.erfc(w)": "value value value",
    "exp(w)": "value value value",
    "math.expm1(w)": "value value value",
    "fill([2], w)": "value value none",
    "floor(w)": "none value none",
    "math.floordiv(w, c)": "none value none",
    "math.floordiv(c, w)": "none value none",
    "math.floormod(w, c)": "value value none",
    "math.floormod(c, w)": "value value none",
    "greater(w, c)": "none value none",
    "identity(w)": "value value none",
    "math.is_finite(w)": "error error none",
    "math.is_inf(w)": "error error none",
    "math.is_nan(w)": "error error none",
    "less(w, c)": "none value none",
    "equal(w, c)": "none value none",
    "math.log(w)": "value value value",
    "math.log1p(w)": "value value value",
    "math.log_sigmoid(w)": "value value value",
    "maximum(w, c)": "zero value none",
    "minimum(w, c)": "value value none",
    "multiply(w, c)": "value value none",
    "math.multiply_no_nan(w, c)": "value value none",
    "math.multiply_no_nan(c, w)": "value value none",
    "negative(w)": "value value none",
    "ones_like(w)": "none value none",
    "pow(w, c)": "value value value",
    "pow(c, w)": "value value value",
    "math.reciprocal(w)": "value value value",
    "round(w)": "none value none",
    "math.rsqrt(w)": "value value value",
    "sigmoid(w)": "value value value",
    "sign(w)": "zero value none",
    "sin(w)": "value value value",
    "sinh(w)": "value value value",
    "sqrt(w)": "value value value",
    "square(w)": "value value value",
    "math.squared_difference(w, c)": "value value value",
    "stop_gradient(w)": "none none none",
    "subtract(w, c)": "value value none",
    "tan(w)": "value value value",
    "tanh(w)": "value value value",
    "where(w > 0.0, w, c)": "value value none",
    "where(w > 0.0, 1.0, 0.0)": "none none none",
    "zeros_like(w)": "none value none",
    "nn.elu(w)": "value value zero",
    "nn.leaky_relu(w)": "value value zero",
    "nn.relu(w)": "value value zero",
    "nn.relu6(w)": "value value zero",
    "nn.selu(w)": "value value zero",
    "nn.softplus(w)": "value value value",
    "reduce_sum(v)": "value value none",
    "reduce_mean(v)": "value value none",
    "reduce_max(v)": "zero value none",
    "reduce_min(v)": "value value none",
    "reduce_prod(v)": "value value value",
    "reduce_logsumexp(v)": "value value value",
    "math.reduce_variance(v)": "value value value",
    "math.reduce_std(v)": "value value value",
    "argmax(v)": "none value none",
    "argmin(v)": "none value none",
    "cumsum(v)": "value value none",
    "norm(v)": "value value value",
    "norm(v, 1)": "value value zero",
    "reduce_any(v > 0.0)": "none value none",
    "matmul([v], [[w], [c], [1.0]])": "value value value",
    "tensordot(v, v, 1)": "value value value",
    "nn.softmax(v)[0]": "value value value",
    "nn.log_softmax(v)": "value value value",
    "nn.softmax_cross_entropy_with_logits([0.2, 0.3, 0.5], v)": "value value value",
    "nn.sparse_softmax_cross_entropy_with_logits(1, v)": "value value value",
    "nn.sigmoid_cross_entropy_with_logits([0.2, 0.3, 0.5], v)": "value value value",
    "image.adjust_contrast(reshape(v, [3, 1, 1]), 2.0)": "error error none",
    "reshape(v, [3, 1])": "value value none",
    "expand_dims(v, 0)": "value value none",
    "squeeze([w])": "value value none",
    "transpose([v])": "value value none",
    "broadcast_to(w, [2])": "value value none",
    "concat([v, v], 0)": "value value none",
    "stack([w, c])": "value value none",
    "unstack(v)[1]": "value value none",
    "split(v, 3)[1]": "value value none",
    "slice(v, [1], [2])": "value value none",
    "reverse(v, [0])": "value value none",
    "pad(v, [[1, 1]])": "value value none",
    "pad(v, [[1, 1]], 'REFLECT')": "value value none",
    "tile(v, [2])": "value value none",
    "repeat(v, 2)": "value value none",
    "gather(v, [1, 1])": "value value none",
    "boolean_mask(v, [True, False, True])": "value value none",
    "one_hot(cast(w, 'int32'), 3)": "none none none",
    "shape(v)": "none value none",
    "size(v)": "none value none",
    "rank(v)": "none value none",
    "linspace(w, c, 3)": "value value none",
    "linspace(c, w, 3)": "value value none",
    "random.shuffle(v)": "none value none",
    "cast(cast(w, 'int32'), 'float32')": "none none none",
    "zeros_like(v > 0.0)": "none value none",
    "cast(argmax(v), 'float32')": "none none none",
    "logical_not(w > 0.0)": "none value none",
}


def plain(found):
    if isinstance(found, list):
        return [plain(x) for x in found]
    return None if found is None else found.numpy().tolist()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_targets_and_sources(tf, name, persistent):
    text, questions = PROGRAMS[name]
    differences = []
    for question, expected in questions.items():
        for accessed, answer in zip((True, False), expected, strict=True):
            scope = {"tf": tf}
            lines = [f"with tf.GradientTape({persistent}, {accessed}) as tape:", *text.split("\n")]
            exec(SETUP + "\n    ".join(lines), scope)
            try:
                found = plain(eval(f"tape.gradient({question})", scope))
            except Exception as error:
                found = type(error).__name__
            if found != answer:
                tape = f"GradientTape(watch_accessed_variables={accessed})"
                differences.append(f"{tape}.gradient({question}): {found}, expected {answer}")
    if differences:
        pytest.fail("\n".join([text, *differences]), pytrace=False)


@pytest.mark.parametrize("call", OPS)
def test_ops(tf, call):
    x, c = tf.constant(0.7), tf.constant(1.3)
    with tf.GradientTape(persistent=True) as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch(x)
            w = x * 1.0
            v = tf.stack([w, w * 0.5, c])
            y = eval(f"tf.{call}", {**vars(tf), "tf": tf, "w": w, "v": v, "c": c})
            z = tf.cast(y, "float32") * 3.0 if y.dtype.is_floating else y

        def kind(function):
            try:
                found = function()
            except LookupError:
                return "error"
            return "none" if found is None else "value" if np.any(found) else "zero"

        slope = []
        through = kind(lambda: slope.append(first.gradient(y, x)) or slope[0])
    by_result = kind(lambda: first.gradient(z, y))
    again = kind(lambda: second.gradient(slope[0], x) if slope and slope[0] is not None else None)
    assert f"{through} {by_result} {again}" == OPS[call]
