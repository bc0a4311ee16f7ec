"""Values that cross the wire: a plan within a job, and a report. `codec` makes JSON of them.

Start reading at `plan`. A `job` holds it with the files to append, whose `files` format and `limits` it names.
"""
