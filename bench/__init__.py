"""Measurements of the product, each a ratio within one run. They are no tests: `make bench` prints and records them."""
