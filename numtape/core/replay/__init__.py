"""Replay: a function is recorded once, and computed again as long as it would do the same.

Four steps, in the order in which they happen. *Observed*: while a call is traced (`call`, into a
log of its own, `trace`), what it reads of Python's state is noted (`observe`). *Kept*: its rows and
its guards become a recording (`recording`), in a tree with those that went other ways (`paths`).
*Compared*: before each replay, what was read (`observe.guards`); after it, the values that Python
looked at. *Run*: the rows, in one sweep (`ready`), or appended to the caller's log where a tape
follows (`graft`). `report` says what there is. Start with `calls`.
"""
