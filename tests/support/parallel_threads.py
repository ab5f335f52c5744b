"""Threads that do the same at once."""

import threading


def run_in_threads(count, work):
    """Run `work(k)` in `count` threads that start at once. Returns results or raises the first."""
    results, errors, gate = [None] * count, [], threading.Barrier(count)

    def body(k):
        gate.wait()
        try:
            results[k] = work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(k,), daemon=True) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return results
