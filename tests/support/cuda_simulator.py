"""The GPU simulator detects errors in kernels, and lets threads exchange values."""

import numpy as np
from numtape.kernels.cuda.simulated import SimulatedKernelError, cuda, launch, shuffle, watch

ALL = 0xF


def run(kernel, *args, blocks=1):
    launch(kernel, blocks, 8, args)


def refused(kernel, *words, **options):
    try:
        run(kernel, np.zeros(8), **options)
    except SimulatedKernelError as error:
        for word in words:
            assert word in str(error), error
    else:
        raise AssertionError(f"{kernel.__name__} is not refused")


def values():
    """The values that lanes of two warps of four receive from each other."""

    def kernel(out):
        t = cuda.threadIdx.x
        x = np.int32(10 + t)
        for k, got in enumerate(
            (
                cuda.shfl_sync(ALL, x, 2),
                cuda.shfl_up_sync(ALL, x, 1),
                cuda.shfl_down_sync(ALL, x, 3),
                cuda.shfl_xor_sync(ALL, x, 1),
                cuda.ballot_sync(ALL, t % 3 == 0),
                cuda.any_sync(ALL, t == 5),
                cuda.all_sync(ALL, t < 4),
                cuda.popc(np.uint32(t)),
                cuda.laneid,
            )
        ):
            out[9 * t + k] = got

    for seed in range(5):
        out = np.zeros(72, "int64")
        with shuffle(seed):
            run(kernel, out)
        table = out.reshape(8, 9).T.tolist()
        assert table == [
            [12] * 4 + [16] * 4,
            [10, 10, 11, 12, 14, 14, 15, 16],
            [13, 11, 12, 13, 17, 15, 16, 17],
            [11, 10, 13, 12, 15, 14, 17, 16],
            [9] * 4 + [4] * 4,
            [0] * 4 + [1] * 4,
            [1] * 4 + [0] * 4,
            [0, 1, 1, 2, 1, 2, 2, 3],
            [0, 1, 2, 3] * 2,
        ], table


def divergent_shuffle(out):
    if cuda.threadIdx.x != 3:
        cuda.shfl_sync(ALL, np.int32(1), 0)


def loops_of_different_lengths(out):
    for _ in range(cuda.threadIdx.x):
        cuda.ballot_sync(ALL, True)


def two_places(out):
    if cuda.threadIdx.x < 2:
        cuda.shfl_sync(ALL, np.int32(1), 0)
    else:
        cuda.shfl_sync(ALL, np.int32(1), 0)


def from_outside_of_the_mask(out):
    if cuda.threadIdx.x < 4:
        if cuda.threadIdx.x < 2:
            cuda.shfl_sync(3, np.int32(1), 2)


def not_in_its_mask(out):
    cuda.ballot_sync(7, True)


def one_left(out):
    if cuda.threadIdx.x == 7:
        return
    cuda.syncthreads()


def two_barriers(out):
    if cuda.threadIdx.x < 4:
        cuda.syncthreads()
    else:
        cuda.syncthreads()


def barrier_and_shuffle(out):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    else:
        cuda.ballot_sync(ALL, True)


def no_barrier_in_between(out):
    shared = cuda.shared.array(8, np.float64)
    shared[cuda.threadIdx.x] = 1.0
    out[cuda.threadIdx.x] = shared[7 - cuda.threadIdx.x]


def read_and_then_written(out):
    shared = cuda.shared.array(8, np.float64)
    for _ in range(2):
        shared[cuda.threadIdx.x] = 1.0
        cuda.syncthreads()
        out[cuda.threadIdx.x] = shared[7 - cuda.threadIdx.x]


def warp_barrier_for_two_warps(out):
    shared = cuda.shared.array(8, np.float64)
    shared[cuda.threadIdx.x] = 1.0
    cuda.syncwarp()
    out[cuda.threadIdx.x] = shared[(cuda.threadIdx.x + 4) % 8]


def a_shuffle_is_no_barrier(out):
    shared = cuda.shared.array(8, np.float64)
    shared[cuda.threadIdx.x] = 1.0
    cuda.ballot_sync(ALL, True)
    out[cuda.threadIdx.x] = shared[cuda.threadIdx.x ^ 1]


def add_and_read(out):
    shared = cuda.shared.array(1, np.int64)
    cuda.atomic.add(shared, 0, 1)
    out[cuda.threadIdx.x] = shared[0]


def array_of_others(out):
    out[cuda.threadIdx.x] = 1.0
    out[7 - cuda.threadIdx.x] = 2.0


def of_other_blocks(out):
    out[cuda.threadIdx.x] = cuda.blockIdx.x


def allowed(out):
    """A kernel whose barriers are all needed."""
    shared, t = cuda.shared.array(8, np.float64), cuda.threadIdx.x
    count = cuda.shared.array(1, np.int64)
    if t == 0:
        count[0] = 0
    shared[t] = t
    cuda.syncwarp()
    near = shared[t ^ 1]
    cuda.syncthreads()
    cuda.atomic.add(count, 0, 1)
    far = shared[7 - t]
    cuda.syncthreads()
    shared[t] = near + far
    out[t] = shared[t] * count[0]
    cuda.syncthreads()
    out[7 - t] += 1


def reported():
    for kernel in (
        divergent_shuffle,
        loops_of_different_lengths,
        two_places,
        one_left,
        two_barriers,
        barrier_and_shuffle,
    ):
        for seed in range(3):
            with shuffle(seed):
                refused(kernel, "never arrive", "waits in")
    refused(one_left, "thread 0 waits in syncthreads", "thread 7 left")
    refused(from_outside_of_the_mask, "lane 2, which does not")
    refused(not_in_its_mask, "is not in the mask 0x7")
    for kernel in (
        no_barrier_in_between,
        read_and_then_written,
        warp_barrier_for_two_warps,
        a_shuffle_is_no_barrier,
        add_and_read,
    ):
        for seed in range(3):
            with shuffle(seed):
                refused(kernel, "of shared memory", "no barrier")
    with watch():
        refused(array_of_others, "of an array", "no barrier")
        refused(of_other_blocks, "block 1", blocks=2)
    run(of_other_blocks, np.zeros(8), blocks=2)
    with watch():
        for seed in range(3):
            out = np.zeros(8)
            with shuffle(seed):
                run(allowed, out)
            assert out.tolist() == [8 * ((t ^ 1) + 7 - t) + 1 for t in range(8)]


def unset(out):
    """Reads memory that was never written."""
    out[0] = cuda.local.array(3, np.float64)[1] + cuda.shared.array(3, np.float64)[1]


def beyond(out):
    out[-1] = 0


def others():
    out = np.zeros(8)
    run(unset, out)
    assert np.isnan(out[0])
    of_a_float = lambda out: cuda.shfl_sync(ALL, 1.0, 0)  # noqa: E731
    for kernel, kind in ((beyond, IndexError), (of_a_float, TypeError)):
        try:
            run(kernel, out)
        except kind:
            continue
        raise AssertionError(kind)


values()
reported()
others()
