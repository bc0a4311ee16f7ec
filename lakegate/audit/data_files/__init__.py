"""Data files of an Iceberg table, as manifests describe them. No module reads a manifest: an engine does.

`statistics` prove checks without a row read, `key_ranges` prune the files that cannot share keys with a batch, and
`manifests`
compares two states of a table, and `difference` is what an engine says of them.
"""
