"""Example data to try lakegate with. Nothing that ships imports it."""
