"""The express lane beside Spark's and beside the article's own shape, on a local cloud of its own.

Events, functions and jobs are the deployed stack's. `place` is the cloud, `article` the shape, `files` what is
uploaded, and `usage` what processes take; the command is `__main__`.
"""
