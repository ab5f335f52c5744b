"""The installed TensorFlow as a reference, with fresh random state for both libraries."""

import os
import time
import warnings

import pytest


def installed():
    """TensorFlow; the test is skipped without it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("tensorflow")
    found.get_logger().setLevel("ERROR")
    return found


def fresh(config):
    given = config.getoption("--parity-seed")
    return int(time.time_ns() % 10**9) * 10**6 if given is None else given
