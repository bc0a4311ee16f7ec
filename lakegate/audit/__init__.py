"""Audit: plan, job, metrics, verdicts, report. Standard library only, because Spark imports it from a zip.

Start reading at `plan` and `job`, which are the question, and `report`, which is the answer. Between them are `fit` and
`limits` (may a file be appended?), `statistics` with `near` (what column statistics prove), `duplicates`, `table_scope`
and `drift` (metrics that depend on other files), `verdicts`, `quarantine`, `carried`.
"""
