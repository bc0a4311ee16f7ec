"""Texts to paste into other engines, which read the tables of this installation.

Start reading at `command`. `place` is where the tables are, `reading` one table on one reference, and `engines` the
table of engines. Each text is a template of `texts`, after `head`, which has what any reader needs. Names come from
strangers: `quoting` alone puts them into a language, and each filter of a template is one of its.
"""
