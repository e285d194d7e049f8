"""The kinds of values that several documents share: slugs, names, texts, locales, money.

Belongs here: one annotated type a kind, each with its refusal in plain words. Does not belong here: any
document's fields.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import langcodes
from langcodes.tag_parser import LanguageTagError
from pydantic import AfterValidator, BeforeValidator

from pipeline.documents.currencies import CURRENCIES
from pipeline.documents.reading import refusal
from pipeline.domain.renditions import RECEIPT_ENDINGS

MAX_LOCALE_CHARACTERS = 35
MAX_CAP = Decimal(10**9)

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SLUG_FORM = "a-z 0-9 and single dashes between them, at most 63 characters"


def _slug(text: str) -> str:
    if len(text) > 63 or not _SLUG.fullmatch(text):
        raise refusal("is not a slug", SLUG_FORM)
    return text


def canonical_locale(text: str) -> str:
    """*text* as canonical BCP 47 (`pt_BR` is `pt-BR`); ValueError for what names no language."""
    try:
        tag = langcodes.standardize_tag(text)
        known = langcodes.tag_is_valid(tag) and not tag.startswith(("x-", "und", "mul"))
    except LanguageTagError as error:
        raise ValueError(f"not a locale: {text!r}") from error
    if not known or len(tag) > MAX_LOCALE_CHARACTERS:
        raise ValueError(f"not a locale: {text!r}")
    return str(tag)


def _locale(text: str) -> str:
    try:
        return canonical_locale(text)
    except ValueError as error:
        raise refusal("is not a language that BCP 47 knows", "e.g. en-GB, pt-BR, zh-Hant-TW") from error


def locale_key(text: str) -> str:
    """Checks and keeps the spelling, for mappings whose keys must be compared before they merge."""
    _locale(text)
    return text


def _printable(text: str, allowed_controls: str = "") -> bool:
    return all(
        unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"} or character in allowed_controls
        for character in text
    )


def line_of_text(limit: int) -> AfterValidator:
    """One line for people: NFC, trimmed, not blank, no control character; otherwise kept as written."""

    def check(text: str) -> str:
        line = unicodedata.normalize("NFC", text).strip()
        if not line:
            raise refusal("is blank", f"1 to {limit} characters")
        if len(line) > limit:
            raise refusal("is too long", f"1 to {limit} characters")
        if not _printable(line):
            raise refusal("holds a control character or line break", "one line of printable text")
        return line

    return AfterValidator(check)


def lines_of_text(limit: int) -> AfterValidator:
    """Text for people that may break lines."""

    def check(text: str) -> str:
        body = unicodedata.normalize("NFC", text).strip()
        if not body:
            raise refusal("is blank", f"1 to {limit} characters")
        if len(body) > limit:
            raise refusal(f"is too long ({len(body)} characters)", f"1 to {limit} characters")
        if not _printable(body, "\n"):
            raise refusal("holds a control character", "printable text and line breaks")
        return body

    return AfterValidator(check)


def file_name(text: str) -> str:
    """The name of one file in the same folder, NFC; any name a file system holds but no path."""
    name = unicodedata.normalize("NFC", text)
    if not name.strip() or name in {".", ".."} or "/" in name or "\\" in name:
        raise refusal("is not the name of a file beside the brief", "a file name without a folder")
    if not _printable(name):
        raise refusal("holds a control character or line break", "printable characters")
    if len(name.encode()) > 255:
        raise refusal("is too long", "255 bytes")
    if name.lower().endswith(RECEIPT_ENDINGS):
        raise refusal("is the name of a receipt", "the name of an image")
    return name


def _amount(value: Any) -> Decimal:
    """Text or a plain number, as written; never through a binary float."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,6})?", value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise refusal("is not an amount", 'e.g. "50.00"')
    amount = Decimal(value)
    if not 0 < amount <= MAX_CAP or amount != amount.quantize(Decimal("0.000001")):
        raise refusal(
            "is not an amount that can be kept", f"more than 0, up to {MAX_CAP}, at most six decimals"
        )
    return amount


def _date(value: Any) -> date:
    try:
        return datetime.strptime(value, "%Y-%m-%d").date()  # noqa: DTZ007 a date has no zone
    except (TypeError, ValueError) as error:
        raise refusal("is not a date", "YYYY-MM-DD") from error


def _currency(text: str) -> str:
    if text not in CURRENCIES:
        raise refusal("is not a currency", "an ISO 4217 code, e.g. EUR, USD, GBP")
    return text


def spelled(pattern: str, allowed: str) -> AfterValidator:
    """Text of exactly the form of *pattern*; *allowed* says it in words."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise refusal("has another form", allowed)
        return text

    return AfterValidator(check)


Slug = Annotated[str, AfterValidator(_slug)]
Locale = Annotated[str, AfterValidator(_locale)]
LocaleKey = Annotated[str, AfterValidator(locale_key)]
Day = Annotated[date, BeforeValidator(_date)]
FileName = Annotated[str, AfterValidator(file_name)]
Amount = Annotated[Decimal, BeforeValidator(_amount)]
Currency = Annotated[str, AfterValidator(_currency)]
#: A code from another system (cost centre): kept as written.
Code = Annotated[
    str,
    spelled(
        r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,62}", "a letter or digit, then letters, digits . _ / : -, at most 63"
    ),
]
#: A provider's name for one of its models.
ModelName = Annotated[
    str,
    spelled(
        r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,126}",
        "a letter or digit, then letters, digits . _ / : @ -, at most 127",
    ),
]
#: A reason code or rule id: stable, for machines.
ReasonCode = Annotated[str, spelled(r"[a-z][a-z0-9_]{0,62}", "a-z, then a-z 0-9 _, at most 63 characters")]
