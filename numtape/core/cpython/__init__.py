"""CPython's internals: the only package that depends on them, apart from `kernels.cpython`.

Start with `version`, which says whether this Python is one whose internals are known. `frames` and
`bytecode` serve replay, which follows running code. `api`, `layout` and `classes` serve machine
code, which reads Python's objects (`core.native`).
"""
