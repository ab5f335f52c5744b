"""Benchmarks of numtape and its peers on a GPU: ``python -m benchmarks --device cuda``.

Start reading at ``cases``, the table of what is measured; ``inputs`` defines the work of each case,
and ``libs`` implements it in each library. Each library runs in its own process (``worker``) and
has the GPU to itself, so that no other memory use or context interferes. ``measure`` drives these
processes within a time budget, ``result`` collects the measurements in one JSON file, ``tables``
and ``plots`` display it. In Numba's CUDA simulator the same code runs on a few elements, as a test
of the benchmarks only.
"""
