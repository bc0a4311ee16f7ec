"""Publishing: conditions under which the service's audited files are merged to main.

`audit` is an audit and what it allows, `guards` object if main's receipts, its contract or the verdicts are no longer
those of the audit, `rebase` brings a part of a batch to a branch of its own, `proofs` prove what a branch holds,
receipts among it, and `rejection` brings findings of rejected files to main. What holds for any branch of audited
rows is in `lakegate.publishing`, and `workflow/publish.py` merges. A change here needs a mutation that the simulation
catches.
"""
