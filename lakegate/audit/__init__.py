"""The audit: plan, job, metrics, verdicts, report. Standard library only, because Spark imports it from a zip.

Where to begin reading: `plan` and `job`, which are asked, and `report`, which is answered. Between them: `fit` and
`limits` (may a file be appended?), `statistics` with `near` (what column statistics prove), `duplicates`, `table_scope`
and `drift` (what depends on other files), `verdicts`, `quarantine`, `carried`.
"""
