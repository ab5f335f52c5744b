"""Native loops: the source of a function of plain loops becomes its forward and reverse sweep.

Input: a function. Output: the text of both sweeps, compiled. `frontend` lowers the function to
statements of one operation each (`ir`). `analysis` infers dtypes and activity, and chooses values
to recompute. `emit` writes the text of the sweeps. `runtime` compiles and calls them. `program`
runs all of this in order: start reading there.
"""
