"""Data files of an Iceberg table, as manifests describe them. No module reads a manifest: an engine does.

`statistics` prove checks without a row read, and `key_ranges` prune the files that cannot share keys with a batch.
`manifests` has the rule that compares two states of a table, for the job and for the workflow; `difference` is what an
engine says of a comparison.
"""
