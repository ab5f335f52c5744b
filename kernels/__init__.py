"""Numba kernels on raw arrays. They know no ops: tables and addresses tell them what to do.

``kernels.passes`` has the passes over the log's columns, ``kernels.functions`` the elementary
functions, ``kernels.cpu`` and ``kernels.cuda`` what the executors of these devices run. Installed
as ``numtape.kernels``. A warm start never imports these modules: their object code comes from the
cache (``core.compile.cache``), keyed by their text.
"""
