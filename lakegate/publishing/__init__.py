"""Publishing: a branch of audited rows comes to main, as the service publishes a batch and `lakegate.wap` a run.

`port` is what it needs of a catalog, whose scope is the whole catalog or one table. `nessie` keeps it.
"""
