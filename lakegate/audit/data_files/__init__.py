"""Data files of an Iceberg table, as manifests describe them. No module reads a manifest: an engine does.

`statistics` prove checks without a row read, `key_ranges` prune the files that cannot share keys with a batch, and
`difference` compares two states of a table.
"""
