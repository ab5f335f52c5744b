"""Kernels on raw arrays. They know no ops: tables and addresses tell them what to do.

``kernels.passes`` has the passes over the log's columns, ``kernels.functions`` the elementary
functions, ``kernels.cpu`` and ``kernels.cuda`` what the executors of these devices run. Numba
compiles them, but for passes of ints and pointers, which ``core.compile.translate`` reads as text,
and loops of floats, which ``kernels.cpu.fused`` writes. Installed as ``numtape.kernels``. A warm
start never imports these modules: their object code comes from the cache (``core.compile.cache``),
keyed by their text.
"""
