"""Attempts: one try at a batch, with a branch, claims, a frozen job and a report of its own.

Begin reading at `start` (a branch and its claims), then `launch` (the job is frozen and started). `claims`, `job` and
`reports` read what an attempt has left behind. A job also depends on earlier files: `replacement` of versions, data
files for `reuse`, the `history` of attempts and the table's `baseline`. An attempt writes to no other attempt's branch,
and a number is never used twice.
"""
