"""A reference into the catalog."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ref:
    """A branch's moving head, or one commit. The branch only names a commit to people: a commit outlives its branch,
    and a catalog finds it by its hash alone. Where no branch is known, its name is empty.
    """

    branch: str
    commit: str = ""  # a hash

    def __str__(self) -> str:
        return f"{self.branch}@{self.commit}" if self.commit else self.branch

    @classmethod
    def parse(cls, text: str) -> "Ref":
        """Read `branch` or `branch@hash`."""
        branch, _, commit = text.partition("@")
        return cls(branch, commit)
