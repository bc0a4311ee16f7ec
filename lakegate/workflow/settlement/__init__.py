"""Settlement: what is known of an attempt whose job has ended, and the rules that say what is done with it.

Where to begin reading: `facts`, then `rules`. `reader` gathers the facts of the attempt, and `queue` those of other
batches of its table. `keys`, `references` and `backoff` are pure, a subject each. Nothing here writes, and
`workflow/settle.py` carries a settlement out. A new reason to wait or to retry is a rule and the fact that it asks for.
"""
