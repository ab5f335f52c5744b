"""The profiler: a program's time and memory by line and op, and advice on what to change.

Start with `profile`, which counts events. `hooks` replaces functions while a profile runs; `clock`
measures time; `rows` tells how each row was computed. `advice` and `report` format the results.
"""
