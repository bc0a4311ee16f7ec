"""Publishing: conditions under which audited files are merged to main.

`audited` is an audit and what it allows, `guards` object if main is no longer what it was audited against, `rebase`
makes a branch of what is to be merged, and `proofs` prove what that branch holds. All of them read afresh, and
`workflow/publish.py` merges. A change here needs a mutation that the simulation catches.
"""
