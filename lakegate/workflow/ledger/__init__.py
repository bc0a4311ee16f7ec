"""Ledger: the decision on every file version, on main and in the archive.

Begin with `receipts`, which answers questions from both places, and `decisions`, which records rejections and discards
on main. `undecided_files` lists the files without a decision, `unrouted` notes those that no contract routes,
`superseded` names the rejected versions that their key's other versions decide, and `rejected` reads the rejected files
of a batch. `compaction` moves old receipts to the `archive`, and `truncation` moves old entries of long receipts there;
nothing is forgotten.
"""
