"""Invariants of budgets, holds, lanes, meters: counters equal what they count (SPEC §13.6, G7, G10, F1)."""

# ruff: noqa: S608 - every piece of a query is a constant of this package
from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant

_IN_FLIGHT = "state IN ('submitting', 'generating') AND submission IN ('unknown', 'accepted')"

MONEY = (
    Invariant(
        "budget_equals_its_holds",
        Heading.MONEY,
        "held and settled of a budget are the sums of its holds",
        """SELECT b.campaign AS subject, 'held ' || b.held || ', settled ' || b.settled AS found
            FROM budgets b LEFT JOIN holds h ON h.campaign = b.campaign
            GROUP BY b.campaign, b.held, b.settled
            HAVING b.held <> COALESCE(SUM(CASE WHEN h.state = 'open' THEN h.amount ELSE 0 END), 0)
            OR b.settled <> COALESCE(SUM(h.settled_amount), 0)""",
    ),
    Invariant(
        "cap_is_kept",
        Heading.MONEY,
        "holds and settlements never pass the highest cap that the campaign had",
        """SELECT b.campaign AS subject, (b.held + b.settled) || ' over ' || b.cap AS found
            FROM budgets b WHERE b.held + b.settled > b.cap AND b.held + b.settled > COALESCE(
                (SELECT MAX(s.budget_cap) FROM campaign_settings s WHERE s.campaign = b.campaign), 0)
            AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.kind = 'budget' AND d.verdict = 'approved'
                AND d.subject_id = b.campaign)""",
    ),
    Invariant(
        "hold_lasts_as_long_as_the_job",
        Heading.MONEY,
        "a hold is open while its attempt may cost something, and closed after",
        """SELECT a.id AS subject, a.state || ' with a hold that is ' || h.state AS found
            FROM attempts a JOIN holds h ON h.attempt = a.id
            WHERE (h.state = 'open') <> (a.state IN ('submitting', 'generating'))""",
    ),
    Invariant(
        "settled_amount_fits",
        Heading.MONEY,
        "a released hold costs nothing, a settled one at most what was held, in the budget's currency",
        """SELECT h.attempt AS subject, h.state || ' at ' || h.settled_amount || ' ' || h.currency AS found
            FROM holds h JOIN budgets b ON b.campaign = h.campaign
            WHERE h.settled_amount > h.amount OR h.amount < 0 OR h.settled_amount < 0
            OR (h.state <> 'settled' AND h.settled_amount <> 0)
            OR (h.amount > 0 AND h.currency <> b.currency)""",
    ),
    Invariant(
        "lane_equals_its_attempts",
        Heading.MONEY,
        "a lane counts the attempts that hold a place in it",
        """SELECT l.provider || ' ' || l.tenant AS subject, 'counts ' || l.in_flight || ', holds '
                || COUNT(a.id) AS found
            FROM lanes l LEFT JOIN attempts a ON a.provider = l.provider AND a.lane_held = 1
            AND (l.tenant = '*' OR a.tenant = l.tenant)
            GROUP BY l.provider, l.tenant, l.in_flight HAVING l.in_flight <> COUNT(a.id)""",
    ),
    Invariant(
        "in_flight_holds_a_place",
        Heading.MONEY,
        "what is in flight holds a place, and beside it only what is claimed to be sent",
        f"""SELECT id AS subject, state || ' ' || submission || ', place ' || lane_held AS found FROM attempts
            WHERE (lane_held = 0 AND {_IN_FLIGHT})
            OR (lane_held = 1 AND NOT ({_IN_FLIGHT})
                AND NOT (submission = 'not_sent' AND state IN ('queued', 'submitting')
                    AND lease_until > 0))""",
    ),
    Invariant(
        "polls_are_metered",
        Heading.MONEY,
        "status requests in the meters are the polls that were counted as metered",
        """SELECT a.id AS subject, 'metered ' || a.polls_metered || ', facts ' || COALESCE(SUM(f.quantity), 0)
                AS found
            FROM attempts a LEFT JOIN usage_facts f ON f.attempt = a.id AND f.meter = 'status_requests'
            GROUP BY a.id, a.polls_metered, a.poll_count
            HAVING a.polls_metered <> COALESCE(SUM(f.quantity), 0) OR a.polls_metered > a.poll_count""",
    ),
    Invariant(
        "bytes_are_metered_as_owned",
        Heading.MONEY,
        "bytes metered for an object are its size, once",
        """SELECT o.id AS subject, f.meter || ' ' || SUM(f.quantity) || ' of ' || o.size_bytes AS found
            FROM objects o JOIN usage_facts f ON f.object = o.id
            AND f.meter IN ('retrieved_bytes', 'repeated_download_bytes')
            GROUP BY o.id, o.size_bytes, f.meter HAVING SUM(f.quantity) <> o.size_bytes OR COUNT(*) > 1""",
    ),
    Invariant(
        "only_possible_starts_are_taken_back",
        Heading.MONEY,
        "no meter but that of possible starts ever goes down, and no sum of it below zero",
        """SELECT attempt AS subject, meter || ' ' || SUM(quantity) AS found FROM usage_facts
            GROUP BY attempt, meter
            HAVING SUM(quantity) < 0 OR (meter <> 'starts_unconfirmed' AND MIN(quantity) < 0)""",
    ),
)
