"""Lanes: the ways that a job may take."""

from enum import StrEnum


class Lane(StrEnum):
    """Spark audits any batch, and the express lane small ones, in one Python process."""

    SPARK = "spark"
    EXPRESS = "express"

    @property
    def label(self) -> str:
        """Return the name as a sentence has it, before "lane" or "job"."""
        return "Spark" if self is Lane.SPARK else str(self)
