"""Invariants of the ledger: lines sum to postings, postings to months, months to statements (SPEC §13.8).

All sums are over integers: `amount_nano` is each amount's floor in billionths, whichever digits follow.
"""

from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant

LEDGER = (
    Invariant(
        "posting_is_its_lines",
        Heading.LEDGER,
        "a posting has as many lines as it says, and they add up to its amount",
        """SELECT p.id AS subject, p.lines || ' lines, found ' || COUNT(l.number) || ', ' || p.amount_nano
                || ' billionths, found ' || COALESCE(SUM(l.amount_nano), 0) AS found
            FROM ledger_postings p LEFT JOIN ledger_lines l ON l.posting = p.id
            GROUP BY p.id, p.lines, p.amount_nano
            HAVING p.lines <> COUNT(l.number) OR p.amount_nano <> COALESCE(SUM(l.amount_nano), 0)""",
    ),
    Invariant(
        "closed_month_is_as_it_was",
        Heading.LEDGER,
        "a closed month has the postings that it had, with the lines and the amount that they had",
        """SELECT m.id AS subject, COUNT(p.id) || ' postings of ' || m.postings || ', '
                || COALESCE(SUM(p.amount_nano), 0) || ' billionths of ' || m.amount_nano AS found
            FROM periods m LEFT JOIN ledger_postings p ON p.period = m.id WHERE m.closed_at IS NOT NULL
            GROUP BY m.id, m.postings, m.lines, m.amount_nano
            HAVING m.postings <> COUNT(p.id) OR m.lines <> COALESCE(SUM(p.lines), 0)
            OR m.amount_nano <> COALESCE(SUM(p.amount_nano), 0)
            OR m.postings IS NULL OR m.lines IS NULL OR m.amount_nano IS NULL""",
    ),
    Invariant(
        "statement_sums_to_its_month",
        Heading.LEDGER,
        "what a closed month states, line by line, adds up to what it states as a whole",
        """SELECT m.id AS subject, 'states ' || m.shown || ', lines ' || COALESCE(SUM(s.shown), 0) AS found
            FROM periods m LEFT JOIN statement_lines s ON s.period = m.id WHERE m.closed_at IS NOT NULL
            GROUP BY m.id, m.shown HAVING m.shown IS NULL OR m.shown <> COALESCE(SUM(s.shown), 0)
            UNION ALL SELECT s.period, 'states lines and is not closed' FROM statement_lines s
            JOIN periods m ON m.id = s.period WHERE m.closed_at IS NULL""",
    ),
    Invariant(
        "a_correction_names_a_closed_month",
        Heading.LEDGER,
        "money of another month stands as a correction of a closed one, and no other money does",
        """SELECT p.id AS subject, 'stands in ' || p.period || ', corrects ' || p.corrects AS found
            FROM ledger_postings p LEFT JOIN periods m ON m.id = p.corrects
            WHERE (p.corrects <> '' AND (m.closed_at IS NULL OR m.closed_at > p.at OR p.period <= p.corrects))
            OR (p.corrects = '' AND p.id NOT LIKE p.period || '-%')
            OR (p.corrects <> '' AND p.id NOT LIKE p.corrects || '-%')""",
    ),
    Invariant(
        "an_amount_has_its_price",
        Heading.LEDGER,
        "a line without a price says why and has no amount, one with a price has an amount",
        """SELECT posting || '/' || number AS subject, 'sku ' || sku || ', amount '
                || COALESCE(amount, 'none') AS found FROM ledger_lines
            WHERE (amount IS NULL) <> (unit_price IS NULL) OR (amount IS NULL) <> (sku = '')
            OR (amount IS NULL AND (reason = '' OR amount_nano <> 0))""",
    ),
)
