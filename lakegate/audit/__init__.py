"""Audit: plan, job, metrics, verdicts, report. Standard library only, because Spark imports it from a zip.

Start reading at `run`, which orders the audit's steps over an `engine`. `plan` and `job` are the question, and `report`
is the answer. Between them are `inspection`, `schema_fit` and `limits` (may a file be appended?), `difference` and
`prove` (which rows does the branch hold?), `statistics` with `key_ranges` (what column statistics prove), `duplicates`,
`table_scope` and `drift` (metrics that depend on other files), `verdicts`, `quarantine`, `reuse`.
"""
