"""Where a program's time goes, by line and op, and what can be mended.

`hooks` replaces functions while a profile runs; `clock` counts time, `facts` what happens; `rows`
says how each row was computed; `advice`, `report` and `picture` say it.
"""
