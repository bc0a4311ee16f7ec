"""Spark in a run, imported by a run that is given some: `rows` of a data frame, and the audit's `engine` in a session,
on `tables` that no catalog of the session has. The engine is the Spark job's own, which a wheel installs, too.
"""
