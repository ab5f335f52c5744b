"""Monte Carlo Greeks of an Asian call option, in independent tasks on a Dask cluster.

Run it after ``pip install "numtape[dask]"``::

    python notebooks/examples/greeks_dask.py --tasks 64 --paths 20000 --workers 2

The seed of a task is its number, so results do not depend on workers; ``--workers 0`` uses none.
Dask repeats the tasks of a lost worker: ``--kill FILE`` kills one, unless this file exists.
"""

import argparse
import os
import signal

import numpy as np
from dask.distributed import Client

import numtape as nt


@nt.function
def payoff(market, normals, strike=100.0):
    """The discounted mean payoff for spot price, volatility and interest rate, after a year."""
    spot, volatility, rate = market[0], market[1], market[2]
    step = 1.0 / normals.shape[1]
    returns = (rate - 0.5 * volatility**2) * step + volatility * step**0.5 * normals
    average = nt.reduce_mean(spot * nt.exp(nt.cumsum(returns, axis=1)), axis=1)
    return nt.exp(-rate) * nt.reduce_mean(nt.nn.relu(average - strike))


def greeks(task, paths, kill):
    """The price and its derivatives from the paths of one task."""
    if kill and task == 20 and not os.path.exists(kill):
        open(kill, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    market = nt.Variable([100.0, 0.2, 0.03], dtype=nt.float64)
    normals = nt.random.stateless_normal([paths, 12], seed=[task, 0], dtype=nt.float64)
    with nt.GradientTape() as tape:
        price = payoff(market, normals)
    return np.append(price.numpy(), tape.gradient(price, market).numpy())


def main(tasks, paths, workers, kill):
    """Run the tasks, and print the means and their standard errors."""
    if workers:
        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
            results = client.gather(client.map(greeks, range(tasks), paths=paths, kill=kill))
    else:
        results = [greeks(task, paths, kill) for task in range(tasks)]
    mean, error = np.mean(results, 0), np.std(results, 0, ddof=1) / tasks**0.5
    for name, x, e in zip(["price", "delta", "vega", "rho"], mean, error, strict=True):
        print(f"{name:6}{x:10.5f} +- {e:.5f}  {float(x).hex()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Monte Carlo Greeks with Dask.")
    for name, default in (("tasks", 64), ("paths", 20000), ("workers", 2), ("kill", "")):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    main(**vars(parser.parse_args()))
