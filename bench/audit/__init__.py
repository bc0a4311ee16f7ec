"""The audit's cost beside that of other engines: `python -m bench.audit`. See bench/README.md."""
