"""Recorders in machine code: what most ops do, without Python's instructions for it.

In come the recorders that `core.log.record` made, which say what recording is. Where the operands
are the usual ones, machine code carries out the same steps; all else it hands on to them. `layout`
finds out where Python keeps what the steps read, or why it is not as known; `steps` writes them for
LLVM, and `entering` those that enter operands; `install` puts them behind the recorders, and takes
them away again. `references` has what asks all tensors of a log who holds them, in one step.
`first` makes what is asked before Python is, of a pass, with `before`, which asks it; `once` tries
again what could not be made. `buffers` gives tensors' memory by Python's buffer protocol, and
`kept` keeps what machine code refers to.
"""
