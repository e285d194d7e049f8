"""From a YAML text to a checked document: every fault at once, each with its field, line and allowed values.

Belongs here: the way every document is read, and the base that they share. Does not belong here: any one
document's fields, or file access (the caller hands over the text it found).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from pipeline.documents.yaml_source import Place, Source, dotted, read_source
from pipeline.domain.errors import BadDocument, Fault


class Document(BaseModel):
    """Base of everything that people write: unknown fields are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_alias=True, hide_input_in_errors=True)


M = TypeVar("M", bound=BaseModel)


def read_document(model: type[M], text: str | bytes, *, name: str) -> M:
    """*text* as *model*; BadDocument names every fault of the YAML and of the fields at once."""
    source = read_source(text, name=name)
    try:
        document = model.model_validate(source.value)
    except ValidationError as error:
        faults = [_fault(model, source, details) for details in error.errors(include_url=False)]
        raise BadDocument(name, _in_order(source.faults + faults)) from error
    if source.faults:
        raise BadDocument(name, _in_order(source.faults))
    return document


def shipped(name: str) -> str:
    """The text of a default that comes with the package, e.g. `moderation_policy.yaml`."""
    return (resources.files("pipeline.documents") / "defaults" / name).read_text(encoding="utf-8")


def refusal(problem: str, allowed: str = "") -> PydanticCustomError:
    """What a field's validator raises: one sentence without the field's name, and what may stand there."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "allowed": allowed})


def _in_order(faults: list[Fault]) -> list[Fault]:
    return sorted(dict.fromkeys(faults), key=lambda fault: (fault.line or 0, fault.field))


def _fault(model: type[BaseModel], source: Source, details: ErrorDetails) -> Fault:
    place = _place(source, details)
    mark = source.marks.get(place)
    near = mark or next(
        source.marks[place[:n]] for n in range(len(place), -1, -1) if place[:n] in source.marks
    )
    problem, allowed = _words(model, details)
    written = mark.written if mark and place else ""
    return Fault(dotted(place), problem, near.line, written, allowed)


def _place(source: Source, details: ErrorDetails) -> Place:
    """The error's path without the parts that the author never wrote, but with a missing field's name."""
    place: Place = ()
    for part in details["loc"]:
        place = (*place, part) if (*place, part) in source.marks else place
    return (*place, details["loc"][-1]) if details["type"] == "missing" else place


def _words(model: type[BaseModel], details: ErrorDetails) -> tuple[str, str]:
    kind, facts = details["type"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return "is not a field here", _nearest(model, details["loc"])
    if kind == "refused":
        return str(facts["problem"]), str(facts["allowed"])
    if kind in _WORDS:
        problem, allowed = _WORDS[kind]
        return problem, allowed(facts)
    return details["msg"][:1].lower() + details["msg"][1:], ""


def _fixed(text: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _: text


#: pydantic's error types, and what the author is told instead.
_WORDS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = MappingProxyType(
    {
        "missing": ("is missing", _fixed("")),
        "string_type": ("is not text", _fixed("text; numbers, true, false and null in quotes")),
        "int_type": ("is not a whole number", _fixed("a whole number without quotes")),
        "int_parsing": ("is not a whole number", _fixed("a whole number")),
        "int_from_float": ("is not a whole number", _fixed("a whole number")),
        "bool_type": ("is neither true nor false", _fixed("true, false")),
        "bool_parsing": ("is neither true nor false", _fixed("true, false")),
        "list_type": ("is not a list", _fixed("[one, two] or one `- item` a line")),
        "tuple_type": ("is not a list", _fixed("[one, two] or one `- item` a line")),
        "dict_type": ("is not a mapping", _fixed("`name: value` pairs")),
        "mapping_type": ("is not a mapping", _fixed("`name: value` pairs")),
        "model_type": ("is not a mapping", _fixed("`name: value` pairs")),
        "model_attributes_type": ("is not a mapping", _fixed("`name: value` pairs")),
        "date_from_datetime_parsing": ("is not a date", _fixed("YYYY-MM-DD")),
        "date_parsing": ("is not a date", _fixed("YYYY-MM-DD")),
        "date_type": ("is not a date", _fixed("YYYY-MM-DD")),
        "enum": ("is not one of the allowed values", lambda facts: str(facts["expected"]).replace("'", "")),
        "literal_error": (
            "is not one of the allowed values",
            lambda facts: str(facts["expected"]).replace("'", ""),
        ),
        "greater_than_equal": ("is too small", lambda facts: f"{facts['ge']} or more"),
        "greater_than": ("is too small", lambda facts: f"more than {facts['gt']}"),
        "less_than_equal": ("is too large", lambda facts: f"{facts['le']} or less"),
        "less_than": ("is too large", lambda facts: f"less than {facts['lt']}"),
        "too_short": ("has too few items", lambda facts: f"{facts['min_length']} or more"),
        "too_long": ("has too many items", lambda facts: f"{facts['max_length']} or fewer"),
        "string_too_short": ("is too short", lambda facts: f"{facts['min_length']} characters or more"),
        "string_too_long": ("is too long", lambda facts: f"{facts['max_length']} characters or fewer"),
        "string_pattern_mismatch": ("has another form", lambda facts: f"the form {facts['pattern']}"),
    }
)


def _nearest(model: type[BaseModel], location: tuple[str | int, ...]) -> str:
    names = _field_names(model, location[:-1])
    near = difflib.get_close_matches(str(location[-1]), names, n=1, cutoff=0.6)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return hint + ", ".join(names)


def _field_names(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    inner: type[BaseModel] = model
    for part in path:
        fields = {_written_name(name, inner): field for name, field in inner.model_fields.items()}
        inner = next(_models(fields[str(part)].annotation), inner) if str(part) in fields else inner
    return [_written_name(name, inner) for name in inner.model_fields]


def _written_name(name: str, model: type[BaseModel]) -> str:
    return model.model_fields[name].alias or name


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
