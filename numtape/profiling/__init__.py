"""The profiler: a program's time and memory by line and op, and advice on what to change.

Start with `profile`. `hooks` replaces functions while a profile runs; `clock` measures time,
`facts` counts events; `rows` tells how each row was computed. `advice`, `report` and `picture`
format the results.
"""
