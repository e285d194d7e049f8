"""Invariants of sends and remote jobs: one start an attempt, none lost (SPEC §13.3, §13.5, G2, G3)."""

# ruff: noqa: S608 - every piece of a query is a constant of this package
from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant, Phase, Seen

_PROVIDER = frozenset({Seen.PROVIDER})
_WITH_HANDLE = "('generating', 'retrieving', 'stored', 'indexed')"

SENDING = (
    Invariant(
        "handle_is_durable",
        Heading.EVIDENCE,
        "an attempt has a remote handle and an accepted submission from `generating` on, and not before",
        f"""SELECT id AS subject, state || ' with handle ' || COALESCE(handle, 'none') || ', ' || submission
                AS found
            FROM attempts
            WHERE (state IN {_WITH_HANDLE} AND (COALESCE(handle, '') = '' OR submission <> 'accepted'))
            OR (state IN ('queued', 'submitting') AND (handle IS NOT NULL OR submission = 'accepted'))""",
    ),
    Invariant(
        "intent_precedes_the_send",
        Heading.EVIDENCE,
        "what may have been sent has its key, its send, its hold and the time it was sent",
        """SELECT a.id AS subject, a.submission || ' after ' || COUNT(s.n) || ' sends' AS found
            FROM attempts a LEFT JOIN sends s ON s.attempt = a.id LEFT JOIN holds h ON h.attempt = a.id
            WHERE a.submission <> 'not_sent'
            GROUP BY a.id, a.submission, a.idempotency_key, a.send_tries, a.submitted_at, h.attempt
            HAVING COUNT(s.n) <> a.send_tries OR COUNT(s.n) = 0 OR a.idempotency_key = ''
            OR a.submitted_at IS NULL OR h.attempt IS NULL""",
    ),
    Invariant(
        "one_key_an_attempt",
        Heading.SENDING,
        "an attempt is sent under its one key, however often",
        """SELECT s.attempt AS subject, 'sent under ' || s.idempotency_key AS found
            FROM sends s JOIN attempts a ON a.id = s.attempt WHERE s.idempotency_key <> a.idempotency_key""",
    ),
    Invariant(
        "provider_saw_one_key",
        Heading.SENDING,
        "the provider has an attempt under its one key",
        """SELECT r.reference AS subject, 'the provider has it under ' || r.idempotency_key AS found
            FROM remote_seen r JOIN attempts a ON a.id = r.reference
            WHERE r.idempotency_key <> a.idempotency_key""",
        needs=_PROVIDER,
    ),
    Invariant(
        "one_remote_job_an_attempt",
        Heading.SENDING,
        "an attempt started one remote job, unless a person said that the first was never taken",
        """SELECT r.reference AS subject, COUNT(*) || ' remote jobs' AS found FROM remote_seen r
            WHERE NOT EXISTS (SELECT 1 FROM decisions d WHERE d.subject_id = r.reference
                AND d.kind = 'verdict' AND d.verdict = 'not_accepted')
            GROUP BY r.reference HAVING COUNT(*) > 1""",
        needs=_PROVIDER,
    ),
    Invariant(
        "no_second_send_without_proof",
        Heading.SENDING,
        "only what carries one key to a provider that honours it, or was proven not taken, is sent again",
        """SELECT a.id AS subject, COUNT(DISTINCT s.n) || ' sends, proofs ' || COUNT(DISTINCT u.id)
                AS found
            FROM attempts a JOIN sends s ON s.attempt = a.id
            JOIN provider_class c ON c.provider = a.provider AND c.class <> 'K'
            LEFT JOIN audit u ON u.subject_kind = 'attempt' AND u.subject_id = a.id AND u.reason = 'not_sent'
            GROUP BY a.id HAVING COUNT(DISTINCT s.n) > COUNT(DISTINCT u.id) + 1""",
    ),
    Invariant(
        "no_remote_job_is_lost",
        Heading.SENDING,
        "every remote job is bound to its attempt, kept as evidence, or its attempt says `unknown`",
        """SELECT r.handle AS subject, 'carries ' || r.reference || ', which is '
                || COALESCE(a.state || ' ' || a.submission, 'no attempt') AS found
            FROM remote_seen r LEFT JOIN attempts a ON a.id = r.reference
            WHERE a.id IS NULL OR (COALESCE(a.handle, '') <> r.handle AND a.submission <> 'unknown'
                AND NOT EXISTS (SELECT 1 FROM remote_jobs j
                    WHERE j.provider = r.provider AND j.handle = r.handle AND j.attempt = a.id))""",
        needs=_PROVIDER,
    ),
    Invariant(
        "one_bound_job_an_attempt",
        Heading.SENDING,
        "the handle of an attempt is its one bound remote job",
        """SELECT a.id AS subject, COUNT(j.handle) || ' bound' AS found
            FROM attempts a LEFT JOIN remote_jobs j ON j.attempt = a.id AND j.bound = 1
            GROUP BY a.id, a.handle
            HAVING COUNT(j.handle) <> CASE WHEN a.handle IS NULL THEN 0 ELSE 1 END
            OR COALESCE(MAX(j.handle), '') <> COALESCE(a.handle, '')""",
    ),
    Invariant(
        "one_start_a_handle",
        Heading.MONEY,
        "exactly one generation start is metered for an accepted attempt, and none for another",
        """SELECT a.id AS subject, a.submission || ', starts ' || COALESCE(SUM(f.quantity), 0) AS found
            FROM attempts a LEFT JOIN usage_facts f ON f.attempt = a.id AND f.meter = 'generation_starts'
            GROUP BY a.id, a.submission
            HAVING COALESCE(SUM(f.quantity), 0) <> CASE WHEN a.submission = 'accepted' THEN 1 ELSE 0 END
            OR COUNT(f.id) > 1""",
    ),
    Invariant(
        "no_unconfirmed_start_of_what_is_known",
        Heading.MONEY,
        "starts that were booked as possible are taken back once it is known what became of them",
        """SELECT a.id AS subject, a.submission || ', unconfirmed ' || SUM(f.quantity) AS found
            FROM attempts a JOIN usage_facts f ON f.attempt = a.id AND f.meter = 'starts_unconfirmed'
            WHERE a.submission <> 'unknown' GROUP BY a.id, a.submission HAVING SUM(f.quantity) <> 0""",
    ),
    Invariant(
        "what_awaits_a_verdict_is_booked",
        Heading.MONEY,
        "a lost submission that only a person can settle is metered as a possible start",
        """SELECT a.id AS subject, 'unconfirmed ' || COALESCE(SUM(f.quantity), 0) AS found
            FROM attempts a LEFT JOIN usage_facts f ON f.attempt = a.id AND f.meter = 'starts_unconfirmed'
            WHERE a.submission = 'unknown' AND a.parked_reason = 'awaiting_verdict'
            GROUP BY a.id HAVING COALESCE(SUM(f.quantity), 0) < 1""",
    ),
    Invariant(
        "what_a_provider_names_is_bound",
        Heading.SENDING,
        "a lost submission is bound once the provider names its job",
        """SELECT a.id AS subject, 'the provider names ' || r.handle AS found
            FROM attempts a JOIN remote_seen r ON r.reference = a.id
            JOIN provider_class c ON c.provider = a.provider AND c.class IN ('K', 'L')
            WHERE a.state = 'submitting' AND a.submission = 'unknown' AND a.submitted_at < :overdue""",
        Phase.AFTER_RECONCILER,
        _PROVIDER,
    ),
)
