"""Threads that run the same function in parallel."""

import threading


def run_in_threads(count, work):
    """Run `work(k)` in `count` parallel threads. Returns results or raises the first error."""
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
