"""Port of tokens."""

from typing import Protocol


class Tokens(Protocol):
    """Identity of this process, as tokens that the catalog can verify."""

    def token(self) -> str:
        """Return a token that is valid for longer than any one call takes. Raise Misconfigured if none is given, and
        Retryable if the issuer does not answer and the last token has come to its end.
        """
