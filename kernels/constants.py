"""Constants that kernels and numtape share, such as the sizes of units of work.

Importing this module does not import Numba. The constants of the passes are in
`kernels.passes.layout`, `kernels.passes.rows`, and the modules of their words.
"""

from __future__ import annotations

# The calls that tell a processor that a loop spins: an LLVM intrinsic and its 32-bit arguments.
PAUSES: dict[str, tuple[str, tuple[int, ...]]] = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),
}

MAX_RANK = 8  # of a tensor

# Kernels of the CPU.
PANEL = 128  # columns that are reduced together
VECTOR = 16  # elements that are combined in parallel, on any machine
LAPACK_LETTERS = "NTULRAS"  # arguments of LAPACK that kernels pass by address
SMALL_SYSTEM_ROWS = 32  # of matrices that are solved without LAPACK, several in a vector
SMALL_MATMUL_SIZE = 8  # rows and columns of matrices that are multiplied without BLAS
PANEL_MIN_ROWS = 12  # of a product in panels
INSERTED = 32  # most elements of a row that are selected by insertion
SUM_TILE = 256  # rows and columns of a unit of a sum of products
SUM_INNER = 32  # inner size from which a product of a sum is one call of BLAS
CONV_TAPS = 512  # most elements of a filter per channel
CONV_PIXELS = 96  # of a unit of work
CONV_ROWS, CONV_COLUMNS = 96, 32  # of a filter's gradient, of a unit of work

# Random numbers, on any device.
RANDOM_BLOCK = 32  # bytes drawn at a time
RANDOM_UNIT = 64  # blocks of a unit of work of the CPU
# Those of TensorFlow's streams.
PHILOX_BLOCK, PHILOX_UNIT = 16, 64
RESERVED_BLOCKS = 256  # for each number that needs an unknown count of uniform numbers

# Chunks of a group for each thread: more than one, so that no thread waits long for a slow one.
CHUNKS_PER_THREAD = 8

# The words of a team of threads, by the numbers of their cache lines.
TEAM_ROUND, TEAM_GROUP, TEAM_INSIDE, TEAM_HIRED, TEAM_LEFT, TEAM_YIELD, TEAM_WORDS = range(7)
HIRING = 1 << 32  # rounds

# Kernels of the GPU.
CUDA_THREADS, CUDA_WARP = 256, 32  # threads of a block and of a warp
CUDA_VECTOR = 4  # elements of a vector load: 16 bytes of float32, or 32 bytes of float64
CUDA_UNROLL = 4  # words that a thread moves at a time
# Of a scatter by sorting: positions that a thread sorts at a time; a piece has 2**bits slices.
SCATTER_ROUNDS, SCATTER_PIECE_BITS = 8, 5
# The same in the simulator, whose threads are threads of the operating system.
SIMULATED_SCATTER_ROUNDS, SIMULATED_SCATTER_PIECE_BITS = 2, 2
