"""Cost of the audit beside that of other engines: `python -m bench.audit`. See bench/README.md."""
