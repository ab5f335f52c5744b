"""The workspace of a thread for reverse mode: control blocks of the passes, and scratch arrays."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..compile.passes import Block, Numbers
from ..log.log import Log
from ..log.op import CODES
from ..values.memory import Array, reserve_zeros, resize
from ..values.spec import SPECS
from .templates import MAX_CONSTANTS, MAX_TEMPLATE_ROWS, TemplateTable


class TransposeWorkspace:
    """Control blocks and scratch of `follow` and `transpose` for one thread."""

    def __init__(self) -> None:
        self.follow = follow = Block("follow")
        self.transpose = transpose = Block("transpose")
        self.cursor = np.zeros(4, np.int64)
        transpose.bind(cursor=self.cursor)
        self.ranges = Numbers("int32", "tape.ranges", follow)
        self.positions = Numbers("int32", "tape.positions", follow)
        self.events = Numbers("int32", "tape.watched", follow)
        self.sources = Numbers("int32", "sources", follow)
        self.watched = Numbers("uint8", "variable_watched", follow)
        self.variable_source = Numbers("int32", "flow.variable_source", follow, transpose)
        self.variable_adjoint = Numbers("int32", "flow.variable_adjoint", follow, transpose)
        self.columns: Any = None
        self.extra: Any = None
        follow.take("codes", CODES)
        follow.take("specs", SPECS)
        transpose.take("codes", CODES)
        self.templates: TemplateTable | None = None
        self.index: Any = None
        # The rows of the pool's constants in this log.
        self.pool_row = reserve_zeros((MAX_CONSTANTS,), np.int32)
        transpose.bind(local=reserve_zeros((MAX_TEMPLATE_ROWS,), np.int32), pool_row=self.pool_row)
        self.flags: Array = np.empty(0, np.uint8)
        self.adjoint: Array = np.empty(0, np.int32)
        self.called: set[int] = set()  # links whose functions have been called

    def refresh(self, log: Log) -> None:
        """Bind arrays of the log that have moved since the last call."""
        columns = log.columns
        if columns is not self.columns or log.extra is not self.extra:
            self.columns = None  # until everything is bound, in case of an interrupt
            if self.flags.size < columns.capacity:
                self.flags = resize(self.flags, columns.capacity, self.flags.size)
            if self.adjoint.size < columns.capacity:
                self.adjoint = resize(self.adjoint, columns.capacity, self.adjoint.size)
            flow = {"flow.flags": self.flags, "flow.adjoint": self.adjoint}
            for block in (self.follow, self.transpose):
                block.take("log", columns, extra=log.extra)
                block.bind(**flow)
            self.extra = log.extra
            self.columns = columns

    def use(self, templates: TemplateTable) -> None:
        """Bind templates, and their index if it has grown since the last call."""
        transpose, index = self.transpose, templates.index
        if templates is not self.templates:
            if self.templates is not None:
                self.pool_row[: self.templates.constants] = 0
            self.templates = None  # until everything is bound
            transpose.take("templates", templates)
            self.templates = templates
        if index is not self.index:
            self.index = None
            transpose.take("index", index)
            self.index = index


thread_workspace = threading.local()  # `work`, which is removed while it is in use
