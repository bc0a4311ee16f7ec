"""From metrics to verdicts, without reading a row.

Start reading at `verdicts`. `duplicates`, `table_scope`, `malformed` and `drift` are metrics that depend on more than
the file's own rows. `quarantine` decides which rows may leave, `reuse` which verdicts stay, `mask` which values are
shown, `advice` what to write after a check that failed, and `moment` what a plan's "now" means.
"""
