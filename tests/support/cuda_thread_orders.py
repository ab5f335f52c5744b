"""A script's kernels, each launched again with its threads and blocks in other orders.

``python cuda_thread_orders.py SCRIPT THREADS WARP [SEED ...]`` in the simulator, with so many
threads of a
block and of a warp: each time they have to leave the same bits. With no seed, all that they do with
memory is watched instead.
"""

import runpy
import sys

import numpy as np
from numtape.kernels.cuda import simulated

from numtape.core.cuda.runtime.simulator import Simulator

launch = simulated.launch
script, *numbers = sys.argv[1:]
threads, warp, *seeds = map(int, numbers)
# Before the other modules look.
simulated.THREADS, simulated.WARP, Simulator.threads = threads, warp, threads


def again(function, blocks, threads, args):
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    before = [array.copy() for array in arrays]
    if not seeds:
        with simulated.watch():
            launch(function, blocks, threads, args)
        return
    launch(function, blocks, threads, args)
    after = [array.copy() for array in arrays]
    for seed in seeds:
        for array, values in zip(arrays, before, strict=True):
            array[...] = values
        with simulated.shuffle(seed):
            launch(function, blocks, threads, args)
        if not function.__qualname__.startswith("atomic."):
            for array, values in zip(arrays, after, strict=True):
                assert array.tobytes() == values.tobytes(), function.__qualname__


simulated.launch = again
runpy.run_path(script, run_name="__main__")
