"""YAML as people write it, read strictly, with the place of every value kept.

Belongs here: text to plain values and marks, and every fault of the YAML itself. Does not belong here: what
the fields mean (`reading` and the documents).

Plain words mean what they say, as in YAML 1.2: only `true`, `false`, `null` and numbers are not text, so
`no` is Norwegian, `16:9` a ratio and `2027-03-31` text that a date field reads. Numbers with a fraction are
`Decimal`, so that money keeps its cents. Anchors, aliases, tags, merge keys and repeated keys are refused:
each of them makes a file mean something else than what its reader sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from pipeline.domain.errors import BadDocument, Fault

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12
MAX_SHOWN = 80

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands, and how it is written there."""

    line: int  #: 1-based
    written: str  #: at most 80 characters of the source, on one line


@dataclass(slots=True)
class Source:
    """A document as plain values (dict, list, str, bool, int, Decimal, None) with the mark of each."""

    value: Any = None
    marks: dict[Place, Mark] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def read_source(content: str | bytes, *, name: str) -> Source:
    """The one document in *content*; BadDocument when it is not readable, faults kept where it goes on."""
    text = _text(content, name)
    node = _compose(text, name)
    if node is None:
        raise BadDocument(name, [Fault("", "is empty", allowed="a mapping of fields to values")])
    if not isinstance(node, yaml.MappingNode):
        raise BadDocument(
            name, [Fault("", "is not a mapping", line=1, allowed="`field: value` on each line")]
        )
    source = Source()
    source.value = _Builder(text, source).build(node, ())
    return source


def _compose(text: str, name: str) -> yaml.Node | None:
    try:
        return _Loader(text).get_single_node()
    except (yaml.MarkedYAMLError, yaml.reader.ReaderError) as error:
        raise BadDocument(name, [_broken(error, text)]) from error
    except _TooDeep as error:
        problem = f"is nested deeper than {MAX_DEPTH} levels"
        raise BadDocument(name, [Fault("", problem, line=error.line)]) from error


def _text(content: str | bytes, name: str) -> str:
    size = len(content if isinstance(content, bytes) else content.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise BadDocument(
            name, [Fault("", "is too large", value=f"{size} bytes", allowed=f"{MAX_BYTES} bytes")]
        )
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        value = f"byte 0x{content[error.start]:02x}"
        raise BadDocument(name, [Fault("", "is not UTF-8", line, value, "text saved as UTF-8")]) from error


class _TooDeep(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


class _Loader(yaml.SafeLoader):
    """Composes nodes only; bounded in depth, because composing recurses."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep(self.peek_event().start_mark.line + 1)  # type: ignore[no-untyped-call]
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            raise yaml.composer.ComposerError(None, None, f"{sign}{event.anchor} is used", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


#: What PyYAML says, by a part of it, and what the author is told.
_BROKEN: Mapping[str, tuple[str, str]] = {
    "found character '\\t'": ("a tab stands where YAML allows only spaces", "indent with spaces"),
    "expected a single document": ("holds more than one document", "one document a file, no `---` inside"),
    "is used": ("anchors and aliases are not read", "each value written out where it is meant"),
    "special characters are not allowed": ("holds a control character", "printable text"),
}


def _broken(error: yaml.MarkedYAMLError | yaml.reader.ReaderError, text: str) -> Fault:
    said = " ".join(
        part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part
    )
    said = said or str(getattr(error, "reason", error))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    position = getattr(error, "position", None)
    line = mark.line + 1 if mark else text.count("\n", 0, position or 0) + 1
    value = _short(text.splitlines()[line - 1]) if line <= len(text.splitlines()) else ""
    for part, (problem, allowed) in _BROKEN.items():
        if part in said:
            return Fault("", problem, line, value, allowed)
    return Fault("", f"is not YAML: {said}", line, value)


class _Builder:
    """Nodes to plain values; faults are collected, so that one look names them all."""

    def __init__(self, text: str, source: Source) -> None:
        self._text = text
        self._source = source

    def build(self, node: yaml.Node, place: Place) -> Any:
        self._source.marks[place] = self._mark(node)
        self._refuse_tag(node, place)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*place, index)) for index, item in enumerate(node.value)]
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, place)
            if key in built:
                first = self._source.marks[(*place, key)].line
                self._fault(key_node, (*place, key), f"is written twice (first in line {first})", "one value")
            elif key is not None:
                built[key] = self.build(value_node, (*place, key))
        return built

    def _key(self, node: yaml.Node, place: Place) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._fault(node, place, "has a list or mapping as a field name", "text as a field name")
            return None
        if node.value == "<<" and not node.style:
            self._fault(node, place, "merge keys are not read", "each field written out where it is meant")
            return None
        return str(node.value)

    def _refuse_tag(self, node: yaml.Node, place: Place) -> None:
        written = self._text[node.start_mark.index : node.end_mark.index]
        if written.startswith("!"):
            self._fault(node, place, "YAML tags are not read", "the plain value")

    def _fault(self, node: yaml.Node, place: Place, problem: str, allowed: str) -> None:
        mark = self._mark(node)
        self._source.faults.append(Fault(dotted(place), problem, mark.line, mark.written, allowed))

    def _mark(self, node: yaml.Node) -> Mark:
        start, end = node.start_mark.index, node.end_mark.index
        return Mark(node.start_mark.line + 1, _short(self._text[start:end]))


def dotted(place: Place) -> str:
    """`variants.locales[1]`."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return path.removeprefix(".")


def _short(written: str) -> str:
    line = " ".join(written.split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"


#: Plain scalars that are not text, as in YAML 1.2's core schema.
_PLAIN: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]{1,40}"), int),
    (re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,2})?"), Decimal),
)


#: JSON writes characters past U+FFFF as two escapes, and JSON is YAML to those who generate briefs.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _joined(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    if getattr(node, "style", None):
        return _PAIR.sub(_joined, text)
    for pattern, read in _PLAIN:
        if pattern.fullmatch(text):
            return read(text)
    return text
