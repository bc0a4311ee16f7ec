"""Publishing: what must be true before audited files are merged to main.

`audited` is what an audit allows, `guards` ask whether main is still what it was audited against, `rebase` makes a
branch of what is to be merged, and `proofs` prove what that branch holds. They read afresh, and `workflow/publish.py`
merges. A change here needs a mutation that the simulation catches.
"""
