"""A document as YAML for people, with a remark behind a line or comments before it. It knows no ODCS.

Names and values come from strangers' files: what is no plain word is quoted, and a comment stays on its line.
"""

from collections.abc import Mapping
from decimal import Decimal
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.error import CommentMark
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.tokens import CommentToken

from lakegate.audit.schema.lines import is_plain, quote
from lakegate.visibility import code_point, visible

_WIDTH = 2**31  # letters of a line, which is never broken


class _Representer(RoundTripRepresenter):
    """Texts are plain words or in double quotes, decimals have no exponent, and nothing refers to another's value."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - as it is called
        return True

    def text(self, value: str) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if is_plain(value) else '"')

    def decimal(self, value: Decimal) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:float", f"{value:f}")


_Representer.add_representer(str, _Representer.text)
_Representer.add_representer(Decimal, _Representer.decimal)


class _Emitter(Emitter):
    """It spells letters of a quoted text that could not be seen by their numbers."""

    def write_double_quoted(self, text: Any, split: Any = True) -> None:  # noqa: ARG002, FBT002 - as it is called
        self.write_indicator(quote(text), need_whitespace=True)


def dump(document: Any) -> str:
    """Return a document's text."""
    yaml, text = YAML(), StringIO()
    yaml.Representer, yaml.Emitter, yaml.width = _Representer, _Emitter, _WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(document, text)
    return text.getvalue()


def remark(owner: CommentedMap | CommentedSeq, at: str | int, text: str) -> None:
    """Put a remark behind the line of a word, or of an item in braces."""
    token = CommentToken(f" # {visible(text, code_point)}\n", CommentMark(0), None)
    if text:
        owner.ca.items[at] = [None, None, token, None] if isinstance(at, str) else [token, None, None, None]


def braces(values: Mapping[str, Any]) -> CommentedMap:
    """Return a mapping that is written within braces, on one line."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
