"""Settling's own room: what is known of an attempt whose job has ended, and the rules that say what is done with it.

Where to begin reading: `facts`, `rules`. Pure, a subject each: `keys`, `references`, `backoff`. `reader`
gathers the facts, and `queue` those of other batches. Nothing here writes: `workflow/settle.py` carries out.
"""
