"""The log: what was computed, as rows of a flat struct of arrays, and looking at a value.

In come ops with their operands, recorded one row each (`record`); out go values, when somebody
looks at them (`look`). `op` is what one op is, `log` the arrays, `variable` a state that ops read
and assign. Start with `log`.
"""
