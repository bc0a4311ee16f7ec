"""Audit: an attempt's job, its steps in order, its verdicts. Standard library only, because Spark imports it from a
zip.

Start reading at `run`, which orders the steps over an `engine` and proves what the branch holds by `completeness`. The
rooms: `model` is the job, which is the question, and the report, which is the answer, as JSON holds them. `schema` fits
a file's columns to the table. `data_files` are what manifests say of the table. `evaluation` makes verdicts of metrics.
`definition` is the table as lakegate writes it. `advice` says what to write next, and goes with each fault. `ref`,
`bounded_http`, `issuer` and `role_session` are here because the job and the workflow both call Nessie with a token.
"""
