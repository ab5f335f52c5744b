"""The profiler: a program's time and memory by line and op, and advice on what to change.

Start with `profile`. While it runs, `hooks` replaces functions of numtape by ones that count events
in `measurements`; `clock` measures time; `rows` tells how each row was computed. `advice` and
`report` format the results.
"""
