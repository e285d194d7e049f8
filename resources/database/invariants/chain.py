"""Invariants of the record: every move has its link, and every link is legal (SPEC §13.4, L1, L3, L7)."""

# ruff: noqa: S608 - every piece of a query is a constant of this package
from __future__ import annotations

from pipeline.domain.lifecycle import MOVES, kind_of
from resources.database.invariants.invariant import Heading, Invariant

_LEGAL = ", ".join(
    sorted(
        f"'{kind_of(source)}:{source}>{target}'" for source, targets in MOVES.items() for target in targets
    )
)
#: Every row with a chain: how often it moved, where it stands, its token and visible version.
_SUBJECTS = """
    SELECT 'attempt' AS kind, id, state, version, lease_token, entity_version FROM attempts
    UNION ALL SELECT 'revision', id, state, version, lease_token, entity_version FROM revisions
    UNION ALL SELECT 'object', id, state, version, 0, entity_version FROM objects
    UNION ALL SELECT 'slot', id, COALESCE(publication, ''), version, 0, entity_version FROM slots
"""
_MOVES = "SELECT * FROM audit WHERE version IS NOT NULL"

CHAIN = (
    Invariant(
        "moves_are_counted",
        Heading.CHAIN,
        "a row's version is the number of its moves in the audit",
        f"""SELECT s.id AS subject, s.kind || ' version ' || s.version || ', moves ' || COUNT(u.id) AS found
            FROM ({_SUBJECTS}) s
            LEFT JOIN audit u ON u.subject_kind = s.kind AND u.subject_id = s.id AND u.version > 0
            GROUP BY s.id, s.kind, s.version HAVING s.version <> COUNT(u.id)""",
    ),
    Invariant(
        "chain_has_no_gap",
        Heading.CHAIN,
        "versions follow each other without a gap, from the creation or the first move",
        f"""SELECT subject_id AS subject, subject_kind || ' version ' || version || ' after '
                || COALESCE(before, first - 1) AS found
            FROM (SELECT subject_kind, subject_id, version,
                    CASE WHEN subject_kind IN ('object', 'slot') THEN 1 ELSE 0 END AS first,
                    LAG(version) OVER (PARTITION BY subject_kind, subject_id ORDER BY version) AS before
                FROM ({_MOVES}) m) x
            WHERE version <> COALESCE(before, first - 1) + 1""",
    ),
    Invariant(
        "chain_links_up",
        Heading.CHAIN,
        "every move starts where the one before ended",
        f"""SELECT subject_id AS subject, subject_kind || ' version ' || version || ' from '
                || COALESCE(from_state, '') || ' after ' || COALESCE(before, '') AS found
            FROM (SELECT subject_kind, subject_id, version, from_state,
                    LAG(to_state) OVER (PARTITION BY subject_kind, subject_id ORDER BY version) AS before,
                    LAG(version) OVER (PARTITION BY subject_kind, subject_id ORDER BY version) AS prior
                FROM ({_MOVES}) m) x
            WHERE prior IS NOT NULL AND COALESCE(before, '') <> COALESCE(from_state, '')""",
    ),
    Invariant(
        "state_is_the_last_move",
        Heading.CHAIN,
        "a row stands where its last move led",
        f"""SELECT s.id AS subject, s.kind || ' is ' || s.state || ', moved to ' || COALESCE(u.to_state, '')
                AS found
            FROM ({_SUBJECTS}) s
            JOIN audit u ON u.subject_kind = s.kind AND u.subject_id = s.id AND u.version = s.version
            WHERE s.state <> COALESCE(u.to_state, '')""",
    ),
    Invariant(
        "moves_are_legal",
        Heading.CHAIN,
        "every move is in the table of moves",
        f"""SELECT subject_id AS subject, from_state || '>' || to_state AS found FROM ({_MOVES}) m
            WHERE subject_kind <> 'slot' AND from_state IS NOT NULL
            AND subject_kind || ':' || from_state || '>' || COALESCE(to_state, '') NOT IN ({_LEGAL})""",
    ),
    Invariant(
        "token_never_goes_back",
        Heading.CHAIN,
        "no change was made under an older lease than the change before it",
        """SELECT subject_id AS subject, 'token ' || lease_token || ' after ' || before AS found
            FROM (SELECT subject_id, lease_token, LAG(lease_token)
                    OVER (PARTITION BY subject_kind, subject_id ORDER BY entity_version) AS before
                FROM audit WHERE subject_kind IN ('attempt', 'revision')) x
            WHERE lease_token < before""",
    ),
    Invariant(
        "token_was_issued",
        Heading.CHAIN,
        "no change was made under a lease that was never given",
        f"""SELECT s.id AS subject, 'token ' || u.lease_token || ' of ' || s.lease_token AS found
            FROM ({_SUBJECTS}) s JOIN audit u ON u.subject_kind = s.kind AND u.subject_id = s.id
            WHERE u.lease_token > s.lease_token""",
    ),
    Invariant(
        "changes_name_actor_and_reason",
        Heading.CHAIN,
        "every change names its actor, its reason and its operation",
        """SELECT subject_id AS subject, subject_kind || ' change ' || id AS found FROM audit
            WHERE actor = '' OR reason = '' OR operation_id = ''""",
    ),
    Invariant(
        "visible_changes_are_audited",
        Heading.CHAIN,
        "an attempt's entity version is that of its last audited change",
        """SELECT a.id AS subject, 'at ' || a.entity_version || ', audited ' || MAX(u.entity_version) AS found
            FROM attempts a JOIN audit u ON u.subject_kind = 'attempt' AND u.subject_id = a.id
            GROUP BY a.id, a.entity_version
            HAVING a.entity_version <> MAX(u.entity_version) OR COUNT(*) <> a.entity_version + 1""",
    ),
)
