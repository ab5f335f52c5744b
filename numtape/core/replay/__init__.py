"""Record a function call once, and replay the recording as long as it would give the same result.

The steps, in the order in which they happen:

- *Trace*: `tracing` runs the function into a separate log (`trace`), and `observe` notes which
  Python state it reads.
- *Store*: the rows and guards become a recording (`recording`) in a tree of recordings that differ
  in their guards (`guard_tree`).
- *Compare*: `observe.guards` compares the state that was read before each replay. Guards on tensor
  values are compared after it.
- *Run*: the rows run in one pass (`prepared`), or are appended to the caller's log where a tape
  records (`splice`).

`report` describes the recordings to users. Start reading at `dispatch`.
"""
