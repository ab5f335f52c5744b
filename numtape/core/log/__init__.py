"""The log: a record of computations as rows of a flat struct of arrays, and its evaluation.

Ops with their operands go in, one row each (`record`); values come out when a program reads
them (`evaluate`). `op` describes one op, `log` the rows, which are stored in `columns`. `variable`
holds state that ops read and assign, and `as_tensor` converts values to tensors. `interface`
defines how the logs of traced calls and of derivative rules differ. Start with `log`.
"""
