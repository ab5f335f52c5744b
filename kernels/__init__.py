"""Numba kernels on raw arrays. They know no ops: tables and addresses tell them what to do.

``kernels.log`` has the passes over the log's columns, ``kernels.cpu`` and ``kernels.cuda`` what
the executors of these devices run. Installed as ``numtape.kernels``. A warm start never imports
these modules: their object code comes from the cache (``numtape.core.cache``), keyed by their text.
"""
