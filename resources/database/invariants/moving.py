"""Invariants of what moves work on: follow-ons are posted, and nothing waits for nobody (L7, L11, E5)."""

# ruff: noqa: S608 - every piece of a query is a constant of this package
from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant, Phase

_AFTER = Phase.AFTER_RECONCILER
_OPEN = "('queued', 'submitting', 'generating', 'retrieving', 'stored')"

MOVING = (
    Invariant(
        "follow_ons_are_posted",
        Heading.STUCK,
        "what a move or fact starts was posted in its transaction",
        """SELECT id AS subject, 'without its message ' || topic AS found FROM (
            SELECT a.id, t.topic FROM attempts a JOIN (SELECT 'retrieving' AS state,
                    'output_reported' AS topic
                UNION ALL SELECT 'stored', 'owned' UNION ALL SELECT 'indexed', 'owned'
                UNION ALL SELECT 'indexed', 'manifest_complete') t ON t.state = a.state
            EXCEPT SELECT subject_id, topic FROM outbox) x""",
    ),
    Invariant(
        "no_message_twice",
        Heading.ONE_OF_EACH,
        "a message has one row, whose id names its topic and subject, and is not both dead and delivered",
        """SELECT id AS subject, topic || ' of ' || subject_id AS found FROM outbox
            WHERE (delivered_at IS NOT NULL AND dead_at IS NOT NULL)
            OR SUBSTR(id, 1, LENGTH(topic) + LENGTH(subject_id) + 2) <> topic || ':' || subject_id || ':'""",
    ),
    Invariant(
        "no_lease_without_end",
        Heading.STUCK,
        "whoever holds a lease is named, and nobody holds one for longer than the longest",
        """SELECT id AS subject, COALESCE(lease_owner, 'nobody') || ' until ' || lease_until AS found
            FROM attempts WHERE (lease_until > 0) <> (lease_owner IS NOT NULL)
            OR lease_until > :now + 600000000""",
    ),
    Invariant(
        "outbox_drains",
        Heading.STUCK,
        "no message waits for long, and none was given up",
        """SELECT id AS subject, COALESCE(last_error, 'undelivered') AS found FROM outbox
            WHERE dead_at IS NOT NULL OR (delivered_at IS NULL AND next_try_at < :overdue)""",
        _AFTER,
    ),
    Invariant(
        "no_attempt_is_forgotten",
        Heading.STUCK,
        "an open attempt is leased, due later, or waits by name; what rests is not wanted",
        f"""SELECT a.id AS subject, a.state || ', due ' || COALESCE('' || COALESCE(a.next_action_at,
                a.next_poll_at), 'never') AS found
            FROM attempts a JOIN renditions r ON r.id = a.rendition JOIN slots s ON s.id = r.slot
            WHERE a.state IN {_OPEN} AND a.parked_reason IS NULL AND a.lease_until < :now
            AND NOT (a.state = 'stored' AND (r.selected_attempt <> a.id
                OR COALESCE(s.wanted_rendition, '') <> r.id))
            AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.resumed_at IS NULL)
            AND COALESCE(a.next_action_at, a.next_poll_at, 0) < :overdue""",
        _AFTER,
    ),
    Invariant(
        "no_result_is_waited_for_in_vain",
        Heading.STUCK,
        "nobody waits for a result past the time at which the provider surely deleted it",
        """SELECT id AS subject, 'generating past its purge horizon' AS found FROM attempts
            WHERE state = 'generating' AND purge_horizon_at < :overdue""",
        _AFTER,
    ),
    Invariant(
        "no_revision_is_forgotten",
        Heading.STUCK,
        "no revision waits for long to be judged or for its receipt",
        """SELECT id AS subject, state || ', due ' || COALESCE(next_action_at, receipt_due_at) AS found
            FROM revisions WHERE next_action_at < :overdue OR receipt_due_at < :overdue""",
        _AFTER,
    ),
    Invariant(
        "what_is_wanted_is_shown",
        Heading.STUCK,
        "an output that may be shown is, and nothing of it is due",
        """SELECT a.id AS subject, 'wanted and indexed, and its slot shows '
                || COALESCE(s.published_rendition, 'nothing') AS found
            FROM attempts a JOIN renditions r ON r.selected_attempt = a.id
            JOIN slots s ON s.id = r.slot AND s.wanted_rendition = r.id
            JOIN objects o ON o.id = a.object AND o.state IN ('live', 'marked')
            JOIN campaign_settings c ON c.campaign = a.campaign AND c.publish = 'auto' AND c.number =
                (SELECT MAX(number) FROM campaign_settings WHERE campaign = a.campaign)
            WHERE a.state = 'indexed' AND a.parked_reason IS NULL AND s.published_object IS NULL
            AND a.cancel_wanted_at IS NULL
            AND s.version = 0 AND a.lease_until < :now AND COALESCE(a.next_action_at, 0) < :overdue
            AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.kind = 'acceptance' AND d.subject_id = a.id)
            AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.resumed_at IS NULL)""",
        _AFTER,
    ),
)
