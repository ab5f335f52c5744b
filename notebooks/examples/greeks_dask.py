"""Monte Carlo Greeks of an Asian call option, in independent tasks on a Dask cluster.

Run it::

    pip install "numtape[dask]"
    python notebooks/examples/greeks_dask.py --tasks 64 --paths 20000 --workers 2

Each task draws its paths from its number as the seed, so the result does not depend on which worker
runs it, or how often. Dask repeats the tasks of a lost worker. ``--kill FILE`` shows this: if the
file does not exist, a task creates it and kills its worker. ``--workers 0`` uses no cluster.
"""

import argparse
import os
import signal
import time
from pathlib import Path

import numpy as np

import numtape as nt

STRIKE, YEARS, STEPS = 100.0, 1.0, 12


@nt.function
def payoff(market, normals):
    """The discounted mean payoff for spot price, volatility and interest rate."""
    spot, volatility, rate = market[0], market[1], market[2]
    time_step = YEARS / STEPS
    drift = (rate - 0.5 * volatility**2) * time_step
    returns = nt.cumsum(drift + volatility * time_step**0.5 * normals, axis=1)
    average = nt.reduce_mean(spot * nt.exp(returns), axis=1)
    return nt.exp(-rate * YEARS) * nt.reduce_mean(nt.nn.relu(average - STRIKE))


def greeks(task, paths, kill):
    """The price and its derivatives from the paths of one task."""
    if kill and task == 20 and not os.path.exists(kill):
        Path(kill).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    market = nt.constant([100.0, 0.2, 0.03], nt.float64)
    normals = nt.random.stateless_normal([paths, STEPS], seed=[task, 0], dtype=nt.float64)
    with nt.GradientTape() as tape:
        tape.watch(market)
        price = payoff(market, normals)
    return np.append(price.numpy(), tape.gradient(price, market).numpy())


def main(tasks, paths, workers, kill):
    """Run the tasks, and print the means and their standard errors."""
    began = time.perf_counter()
    if workers:
        from dask.distributed import Client

        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
            futures = client.map(greeks, range(tasks), paths=paths, kill=kill, pure=False)
            results = np.array(client.gather(futures))
    else:
        results = np.array([greeks(task, paths, kill) for task in range(tasks)])
    mean, error = results.mean(0), results.std(0, ddof=1) / tasks**0.5
    for name, x, e in zip(["price", "delta", "vega", "rho"], mean, error, strict=True):
        print(f"{name:6}{x:10.5f} +- {e:.5f}  {float(x).hex()}")
    print(f"{tasks} tasks in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Monte Carlo Greeks with Dask.")
    for name, default in (("tasks", 64), ("paths", 20000), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kill", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
