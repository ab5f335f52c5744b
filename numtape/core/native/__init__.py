"""Recorders in machine code, which record most ops without running Python bytecode.

The recorders that `core.log.record` made go in; they define what recording does. For the usual
operands machine code runs the same steps, and it passes any other case on to the recorders.
`layout` finds out where Python stores the data that the steps read, or why the layout is not
supported. `steps` writes the steps for LLVM, and `entering` those that convert operands. `install`
puts them behind the recorders and removes them. `references` counts references to all tensors of a
log in one step. `first` makes fast paths: passes that are tried before a Python function, with the
stubs of `before`; `once` retries what could not be built. `buffer_protocol` exports the memory of
tensors, and `kept` keeps objects alive that machine code refers to. Start with `install`.
"""
