"""Invariants of purges: what is gone has its receipt, and the receipts follow each other (C3, SPEC §13.7)."""

from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant

PURGING = (
    Invariant(
        "purged_has_its_receipt",
        Heading.PURGE,
        "every purged object has its receipt, written as it was purged",
        """SELECT o.id AS subject, 'purged without a receipt' AS found FROM objects o
            WHERE o.state = 'purged' AND NOT EXISTS
                (SELECT 1 FROM retention_receipts r WHERE r.subject = o.id)""",
    ),
    Invariant(
        "receipt_is_of_what_was_purged",
        Heading.PURGE,
        "no object that serves has a receipt",
        """SELECT o.id AS subject, 'receipt ' || r.number || ', and it is ' || o.state AS found
            FROM retention_receipts r JOIN objects o ON o.id = r.subject WHERE o.state <> 'purged'""",
    ),
    Invariant(
        "receipts_follow_each_other",
        Heading.PURGE,
        "receipts are numbered without a gap, each names the one before, and the last is the known end",
        """SELECT '' || number AS subject, 'follows ' || COALESCE(before_number, 0) AS found
            FROM (SELECT number, previous, LAG(sha256) OVER (ORDER BY number) AS before_sha256,
                LAG(number) OVER (ORDER BY number) AS before_number FROM retention_receipts) x
            WHERE number <> COALESCE(before_number, 0) + 1 OR previous <> COALESCE(before_sha256, '')
            UNION ALL SELECT 'end', 'at ' || h.number || ', found ' || COALESCE(MAX(r.number), 0)
            FROM retention_heads h LEFT JOIN retention_receipts r ON 1 = 1 WHERE h.name = 'receipts'
            GROUP BY h.number HAVING h.number <> COALESCE(MAX(r.number), 0)
            UNION ALL SELECT r.subject, 'the last, and not the known end'
            FROM retention_heads h JOIN retention_receipts r ON r.number = h.number
            WHERE h.name = 'receipts' AND r.sha256 <> h.sha256""",
    ),
    Invariant(
        "marked_by_a_plan",
        Heading.PURGE,
        "what is marked or being purged was chosen by a plan that somebody approved",
        """SELECT o.id AS subject, o.state || ' by no approved plan' AS found FROM objects o
            WHERE o.state IN ('marked', 'purging') AND NOT EXISTS (SELECT 1 FROM retention_items i
                JOIN retention_approvals a ON a.plan = i.plan
                WHERE i.standing IN ('marked', 'purging')
                AND (i.subject = o.id OR (i.subject = o.key AND i.what = 'orphan_object')))""",
    ),
)
