"""The audit: plan, job, metrics, verdicts, report. Standard library only, because Spark imports it from a zip.

Where to begin reading: `run`, which orders the audit's steps over an `engine`; `plan` and `job`, which are asked, and
`report`, which is answered. Between them: `look`, `fit` and `limits` (may a file be appended?), `difference` and
`prove` (what does the branch hold?), `statistics` with `near` (what column statistics prove), `duplicates`,
`table_scope` and `drift` (what depends on other files), `verdicts`, `quarantine`, `carried`.
"""
