"""What a recorded call reads of Python's state, observed while it runs.

In comes a function that is being recorded; out come the *reads* that its recording depends on,
each of a kind that can be compared again before every replay, or the reason why the function has
to run as Python.

While the call runs, Python tells of every instruction before it is carried out (``sys.settrace``),
in the program's own frames, so that tracebacks, debuggers and coverage see what they always see.
`frames` reads the objects that the instruction is about to use off the frame's stack, `steps`
says which ones these are, `instructions` (and `names`, those that name something) which state each
instruction reads or changes, `functions` what functions written in C do (`methods` those of objects
and NumPy's, `special` those that reach Python's state). `observer` follows the frames, `reads` are
what it finds, and `guards` compares all of them in one compiled pass.

Whatever is not known to be harmless (an instruction, a function of C, a kind of object) makes the
function run as Python: the lists say what is allowed, never what is forbidden.
"""
