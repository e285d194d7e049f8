"""The report as one HTML page that needs nothing but itself: no script, no font, no request.

Belongs here: the document, its head and its foot, the order of sections. Does not belong here: what a section
says (`sections`), drawings (`charts`), sums (`pipeline.domain.statement`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from html import escape

from pipeline.domain.statement import Statement
from resources.reports import sections
from resources.reports.charts import patterns
from resources.reports.look import STYLE
from resources.reports.markup import SHOWN_ROWS, moment, share

#: Nothing may be loaded from anywhere, even by a name that somebody gave a campaign.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(statement: Statement) -> str:
    """The whole document."""
    title = f"Finance report {statement.month}"
    body = "".join(part(statement) for part in _SECTIONS)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<style>{STYLE}</style></head>"
        f'<body class="{"provisional" if statement.ledger.watermark.is_provisional else "closed"}">'
        f"{patterns()}{_watermark(statement)}<main>{body}</main></body></html>\n"
    )


def _watermark(statement: Statement) -> str:
    """Across every printed page, behind the words."""
    word = "PROVISIONAL" if statement.ledger.watermark.is_provisional else "CLOSED"
    return f'<div class="watermark" aria-hidden="true">{word}</div>'


def _head(statement: Statement) -> str:
    mark = statement.ledger.watermark
    if mark.is_provisional:
        state = f"Provisional <span>({mark.status})</span>"
        says = "This month is not closed. Late delivery logs, prices and tiers may still move these numbers."
    else:
        state = "Closed"
        says = (
            f"Closed on {moment(mark.closed_at)} by {mark.closed_by}. Nothing of it changes any more: what"
            f" comes late is a correction in a later month. Statement {mark.statement_sha256}."
        )
    return (
        f'<header><p class="state">{state}</p>'
        f"<h1>Finance report {statement.month}</h1><p>{escape(says)}</p></header>"
    )


def _figures(statement: Statement) -> str:
    ledger = statement.ledger
    not_billed = sum((part.shown for part in statement.not_billed), Decimal(0))
    every = statement.all_videos
    each = every.per_video
    wasted = statement.waste / statement.billed if statement.billed else None
    figures = [
        (
            "billed",
            sections.amount(statement, statement.billed),
            "live spend of all tenants, corrections with it",
        ),
        ("of it corrections", sections.amount(statement, statement.corrections), "of closed months"),
        (
            "waste",
            sections.amount(statement, statement.waste),
            f"{share(wasted)} of what is billed: failed, lost, superseded",
        ),
        (
            "per published video",
            sections.amount(statement, each) if each is not None else "no figure",
            f"{sections.amount(statement, every.spent)} by {every.videos:,} videos",
        ),
        ("test and sandbox", sections.amount(statement, not_billed), "counted, not billed, in no total"),
        (
            "without a price",
            f"{len(ledger.unpriced):,} {'entry' if len(ledger.unpriced) == 1 else 'entries'}",
            "not zero: not in any total" if ledger.unpriced else "every unit has a price",
        ),
    ]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{value}<small>{escape(words)}</small></dd></div>"
        for name, value, words in figures
    )
    return f'<dl class="figures">{cells}</dl>{_samples(statement)}'


def _samples(statement: Statement) -> str:
    samples = [card.version for card in statement.around.cards if card.is_sample]
    if not samples:
        return ""
    return (
        f'<p class="warning">Priced by a sample card ({escape(", ".join(samples))}): public list prices,'
        " not what you pay. Put your own in its place.</p>"
    )


def _made(statement: Statement) -> str:
    ledger, mark = statement.ledger, statement.ledger.watermark
    cards = [
        f"{card.version} (from {card.effective_from}; {card.source})" for card in statement.around.cards
    ] or list(ledger.cards)
    stored = (
        f"measured for every day before {mark.stored_until}" if mark.stored_until else "nothing to measure"
    )
    rounding = (
        f"once a stated line, to {ledger.places} places, {ledger.halves.replace('_', ' ')}; by largest"
        " remainder, so that lines add up to their rounded sum"
    )
    facts = [
        ("Lines", f"{ledger.line_count:,}, newest posting {moment(mark.rated_at)}"),
        ("Exact sum", f"{ledger.exact:f} {ledger.currency}, live and test"),
        ("Storage", stored),
        ("Price cards", "; ".join(cards) or "none"),
        ("Rounding", rounding),
        ("Days", "UTC, midnight to midnight; a month from its first midnight to the next month's"),
        ("Bytes", "GB is 10⁹ and GiB 2³⁰; each price names its own"),
        ("Tiers", "cumulative over the month and shared pro rata: one more campaign moves what others pay"),
        ("Long tables", f"show {SHOWN_ROWS} rows here; all are in report.xlsx, all digits in lines.csv"),
    ]
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>" for name, words in facts)
    return sections.section("How these numbers were made", f'<dl class="facts">{rows}</dl>')


_SECTIONS: Iterable[Callable[[Statement], str]] = (
    _head,
    _figures,
    sections.who,
    sections.what,
    sections.per_video,
    sections.waste,
    sections.forecast,
    sections.budget,
    sections.open_questions,
    sections.moves,
    sections.invoices,
    sections.apart,
    _made,
)
