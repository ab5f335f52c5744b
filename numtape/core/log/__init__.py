"""The log: what was computed, as rows of a flat struct of arrays, and looking at a value.

In come ops with their operands, recorded one row each (`record`); out go values, when somebody
looks at them (`look`). `op` is what one op is, `log` the rows, which lie in `columns`, `variable` a
state that ops read and assign, `tensors` all ways from a value to a tensor. What the log of a call
or of a derivative rule does otherwise, it does in `hooks`. Start with `log`.
"""
