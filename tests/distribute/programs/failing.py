"""Reduces a tensor a hundred times; in step 5 the last rank fails in the way that is named."""

import os
import signal
import sys
import time

import numpy as np

import numtape as nt

hvd = nt.distribute
how, folder = sys.argv[1:]
open(f"{folder}/{os.getpid()}", "w").close()
if os.environ["OMPI_COMM_WORLD_RANK"] == "2" and how.startswith("early"):
    if how == "early exit":
        sys.exit(0)
    time.sleep(1000)
hvd.init()
x, weights = nt.ones((3,)), nt.Variable(np.ones(50000, "f"), name="w")
scale = nt.Variable(1.0)


@nt.function
def step(x):
    return (
        hvd.allreduce(x, name="step") + nt.reduce_sum(hvd.allreduce(weights * 1.0, name="w")) * 0.0
    )


for k in range(100):
    if k == 5 and hvd.rank() == hvd.size() - 1:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "error":
            raise ValueError("a bad value")
        elif how == "exit":
            sys.exit(0)
        elif how == "shape":
            x = nt.ones((4,))
        elif how == "order":
            hvd.allgather(x)
        elif how == "nan":
            scale.assign(np.nan)
        elif how == "sleep":
            time.sleep(1000)
        elif how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
    x = step(x)
    if how == "nan":
        with nt.GradientTape() as tape:
            loss = nt.reduce_sum(weights * scale)
        hvd.DistributedGradientTape(tape, check_finite=True).gradient(loss, weights)
