"""Settling's own room: the rules by which an attempt whose job has ended comes to its end, and the facts they go by.

Where to begin reading: `keys`, `references`, `backoff` and `queue`, a subject each.
"""
