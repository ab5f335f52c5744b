"""Gradients of independent scenarios of a reservoir, on a Dask cluster.

Run it after ``pip install "numtape[dask]"``::

    python notebooks/examples/scenarios_dask.py --scenarios 32 --days 3650 --workers 2

A kernel simulates the reservoir day by day. Each task computes the gradient of the shortage by the
two parameters of the operating rule, for the inflow of its scenario. The kernel is compiled once:
the workers share the cache of compiled code.
"""

import argparse

import numpy as np
from dask.distributed import Client

import numtape as nt

CAPACITY, DEMAND = 100.0, 1.0


@nt.kernel
def shortage(rule, inflow):
    """The mean squared shortage of a rule: the fraction released, and the reserve."""
    stored, total = 50.0, 0.0
    for day in range(len(inflow)):
        stored = min(stored + inflow[day], CAPACITY)
        released = rule[0] * max(stored - rule[1], 0.0)
        stored -= released
        total += max(DEMAND - released, 0.0) ** 2
    return total / len(inflow)


def gradient(scenario, rule, days):
    """The shortage of a scenario and its gradient by the rule."""
    generator = np.random.default_rng(scenario)
    season = 1.0 + 0.8 * np.sin(2.0 * np.pi * np.arange(days) / 365.0)
    inflow = season * generator.gamma(0.5, 2.0, days)
    value, slope = nt.value_and_grad(shortage)(rule, inflow)
    return np.append(value, slope)


def main(scenarios, days, workers):
    """Run the tasks, and print means over all scenarios."""
    rule = np.array([0.02, 10.0])
    with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
        results = client.gather(client.map(gradient, range(scenarios), rule=rule, days=days))
    assert np.array_equal(results[0], gradient(0, rule, days))  # the same bits in this process
    means = np.mean(results, 0)
    for name, x in zip(["shortage", "by fraction", "by reserve"], means, strict=True):
        print(f"{name:12}{x:11.6f}  {float(x).hex()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Gradients of independent scenarios with Dask.")
    for name, default in (("scenarios", 32), ("days", 3650), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
