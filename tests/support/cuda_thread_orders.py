"""Runs a script's kernels several times, with threads and blocks in different orders.

``python cuda_thread_orders.py SCRIPT THREADS WARP [SEED ...]`` runs in the simulator, with THREADS
threads per block and WARP per warp; each order must produce the same bits. Without a seed, it
checks all memory accesses for races instead.
"""

import runpy
import sys

import numpy as np
from numtape.kernels.cuda import simulated

from numtape.core.cuda.runtime.simulator import Simulator

launch = simulated.launch
script, *numbers = sys.argv[1:]
threads, warp, *seeds = map(int, numbers)
# Set before the other modules read it.
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
