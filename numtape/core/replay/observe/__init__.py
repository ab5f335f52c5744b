"""Observe which Python state a recorded call reads.

Input: a function while it is being traced. Output: the *reads* that its recording depends on, each
of a kind that can be compared before every replay, or the reason why the function must run as
Python.

While the call runs, Python reports each instruction before it executes it (``sys.settrace``), in
the program's own frames, so that tracebacks, debuggers and coverage tools work as usual. `frames`
reads the operands of the instruction from the frame's stack, at the depth that `bytecode`
computes. `instructions` and `lookups` note the state that each instruction reads or changes.
`c_functions` does this for functions written in C. `observer` starts a `follower` for each frame.
They fill `read_set`, `write_set` and `effects`. `guards` compares all reads in one
compiled pass.

Anything that is not known to be harmless (an instruction, a C function, a type of object) makes the
function run as Python: the tables list what is allowed, never what is forbidden.
"""
