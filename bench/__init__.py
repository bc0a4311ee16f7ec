"""Measurements of the product as ratios within one run. They are not tests: `make bench` prints and records them."""
