"""The ledger: what was decided of every file version, on main and in the archive.

Where to begin reading: `receipts` (questions, answered from both places) and `decisions` (rejections and discards,
written to main). `undecided` lists what has no decision, `unrouted` notes what no contract routes, and `superseded`
names the rejected versions that their key's other versions decide. `compaction` moves old receipts to the `archive` and
`truncation` shortens long ones; neither forgets anything.
"""
