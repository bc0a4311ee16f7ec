"""Cleaning: files in the lake's table folders that nothing needs are found, and deleted once two runs agree.

Begin reading at `clean`, which only the command line calls: no function may delete from the lake. `needs` finds every
file that a reference, main's last days or an open attempt needs. `candidates` sorts a folder's files by that; it is
pure. `memory` is what one run leaves for the next.

A file is told by its place and never by a catalog's content ids: a kept branch and main may hold one place under two
ids. A file counts as unneeded only if a run at least a week ago has found it so, too. Files may move from a branch to
main while one run looks, but no work goes on for a week.
"""
