"""Recorders in machine code, which record most ops without running Python bytecode.

See README.md. Input: the recorders of `core.log.record`, which define recording. For the usual
operands machine code runs the same steps; it passes any other case on to them. Start with `patch`.
"""
