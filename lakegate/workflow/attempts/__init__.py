"""Attempts: one try at a batch, with a branch, claims, a frozen job and a report of its own.

Where to begin reading: `start` (a branch and its claims), then `launch` (the job is frozen and started). `claims`,
`job` and `reports` read what an attempt left behind. `replaced`, `reuse`, `history` and `baseline` are what a job
needs to know of the files before. An attempt writes to no other attempt's branch, and a number is never used twice.
"""
