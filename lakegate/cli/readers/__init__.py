"""Texts to paste into other engines, which read the tables of this installation.

Start reading at `command`. `place` is where the tables are, `reading` one table on one reference, and `engines` the
table of engines, each with the module that writes its text. Names come from strangers: `quoting` alone puts them into
a language, and a text has no other way to get one.
"""
