"""Landing: file versions, and everything that follows from their names, receipts and order. Pure values.

Where to begin reading: `files`, `lifecycle` (states and which decision may follow which), `receipts` (decisions and
claims of a key), `standing` (a version among the versions of its key). `attempts` names batches and branches, `routes`
match keys, `ingestion` holds a contract's settings, `findings` are reasons of a decision, and `chunks` splits lists.
Nothing here reads or writes; a change to a receipt's JSON needs its fixture in tests/formats.
"""
