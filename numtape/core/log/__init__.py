"""The log: a record of computations as rows of a flat struct of arrays, and its evaluation.

Ops with their operands go in, one row each (`record`); values come out when a program reads
them (`look`). `op` describes one op, `log` the rows, which are stored in `columns`. `variable`
holds state that ops read and assign, and `tensors` converts values to tensors. `hooks` is the
interface in which the logs of traced calls and of derivative rules differ. Start with `log`.
"""
