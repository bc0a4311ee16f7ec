"""Overview: the lines of `status`, each of files of one batch in the same state. It changes nothing.

Begin with `line`. `flights` makes the lines of open attempts, which say how far each is and what it waits for, and
`log` makes those of the decisions in main's log.
"""
