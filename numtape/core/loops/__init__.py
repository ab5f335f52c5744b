"""Native loops: a function of plain loops becomes its forward and its reverse sweep, as source.

In comes a function (`source`); it becomes statements of one operation each (`normal`, after `exits`
took out jumps), whose names get dtypes (`types`). `activity` says what depends on what, `store`
what is kept on a stack of values, `forward` and `reverse` write the text of the sweeps, and `units`
compiles it. `program` does all of this in turn: start reading there.
"""
