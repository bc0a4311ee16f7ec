"""lakegate: a file reaches the lake only if it passes its contract."""

__version__ = "0.1.0"
