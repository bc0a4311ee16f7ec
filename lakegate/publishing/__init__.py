"""Publishing: a branch of audited rows comes to main, as the service publishes a batch and `lakegate.wap` a run.

Begin with `port`, which is what it needs of a catalog: its scope is the whole catalog, or one table. `guards` object if
data files may not move to main as it is now, `rebase` brings them to a branch that is made for one merge, and `proofs`
prove what a branch holds before it is merged. Whoever publishes decides what is merged, and when: the service by
receipts (`workflow/publishing`), a run by its key (`wap/publishing`). A change here needs a mutation that the
simulation catches.

Two adapters keep the port: `nessie`, whose branches are of the whole catalog, and `iceberg`, whose branches are of one
table in any catalog.
"""
