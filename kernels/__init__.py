"""Kernels on raw arrays. They are independent of ops: tables and addresses control them.

``kernels.passes`` has the passes over the log's columns, ``kernels.functions`` the elementary
functions, ``kernels.cpu`` and ``kernels.cuda`` the code of the executors of these devices. Numba
compiles them, except passes of ints and pointers, which ``core.compile.translate`` reads as text,
and loops of floats, which ``kernels.cpu.fused`` writes. Installed as ``numtape.kernels``. A warm
start never imports these modules: their object code comes from the cache (``core.compile.cache``),
keyed by their text.
"""
