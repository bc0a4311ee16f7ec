"""Difference of two states of a table, by its data files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakegate.audit.data_files.statistics import DataFileStatistics


@dataclass(frozen=True, kw_only=True)
class DataFiles:
    """Data files with what their manifests say of them; `entries` are the engine's own objects, by path."""

    statistics: Mapping[str, DataFileStatistics] = field(default_factory=dict)
    entries: Mapping[str, Any] = field(default_factory=dict)

    def but(self, paths: Collection[str]) -> "DataFiles":
        """Return them without those at these paths."""
        return DataFiles(
            statistics={path: statistics for path, statistics in self.statistics.items() if path not in paths},
            entries={path: entry for path, entry in self.entries.items() if path not in paths},
        )


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two states of a table: the data files that only the later one has, and those that only the earlier one has."""

    new_files: DataFiles = field(default_factory=DataFiles)
    lost_files: DataFiles = field(default_factory=DataFiles)
    deletes: bool = False  # whether files came that delete rows, or such went as may still have hidden some
