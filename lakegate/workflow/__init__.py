"""The workflow: from a file that landed to rows on main, or to a person who hears why not.

Seven pages, each read from top to bottom: `receive`, `settle`, `publish`, `approve`, `retry`, `reconcile`, `status`.
Beside them: `service` (the ports of an installation), `registry` (the contracts that were pushed) and `backlog` (the
files that landed and are not decided). Rooms below the pages:

- `receiving`: files by what is known of them, and decisions that need no attempt.
- `attempts`: an attempt's claims, files, job and report.
- `settlement`: facts about an attempt whose job has ended, and the rules that say what is done with it.
- `publishing`: guards, proofs and the rebase, which every merge to main passes.
- `overview`: the lines that `status` shows.
- `ledger`: receipts on main and in the archive, decisions on main, compaction.
- `notices`: what people are notified of, and how often.
- `verification`: the catalog, the service's bucket and the lake, compared for the command line.
- `cleaning`: the lake's files that nothing needs. Its own `clean` is called by the command line, and by no page.

Pages import rooms; a room imports no page. Every step asks "already done?" first and may be run again from the start.
"""
