"""Patterns of JSON's lines, for Java and Python alike."""

HALF = r"\\u[dD][89a-fA-F]"
"""Half of a surrogate pair, in a line from which NO_HALF was replaced."""
NO_HALF = r"\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
NO_OBJECT = "it is not a JSON object"
HALF_PAIR = "it has half of a surrogate pair, such as \\ud83d"
