"""Invariants of objects: owned bytes are there, verified, used, and nothing else lies around (R1, D1, C2)."""

# ruff: noqa: S608 - every piece of a query is a constant of this package
from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant, Phase, Seen

_STORE = frozenset({Seen.STORE})
HOUR = 3_600 * 1_000_000
#: Microseconds in which an import must have ended; what lies longer was left by a writer that died.
IMPORT_WINDOW = 24 * HOUR
#: Two hourly reconciliations, the second in case the first one's store did not answer (SPEC §13.9).
RECONCILED_WITHIN = 2 * HOUR

OWNING = (
    Invariant(
        "owned_bytes_are_there",
        Heading.PUBLICATION,
        "the bytes of every object that serves lie under its key, in its size",
        """SELECT o.id AS subject, o.key || ' has ' || COALESCE('' || s.size_bytes, 'no') || ' bytes' AS found
            FROM objects o LEFT JOIN object_seen s ON s.key = o.key AND s.is_temporary = 0
            WHERE o.state IN ('live', 'marked') AND o.created_at < :seen_at
            AND (s.key IS NULL OR s.size_bytes <> o.size_bytes)""",
        needs=_STORE,
    ),
    Invariant(
        "owned_bytes_are_unchanged",
        Heading.PUBLICATION,
        "the bytes under an object's key are those that were verified, as far as they were read",
        """SELECT o.id AS subject, o.key || ' holds ' || s.sha256 AS found
            FROM objects o JOIN object_seen s ON s.key = o.key AND s.is_temporary = 0
            WHERE o.state IN ('live', 'marked') AND s.sha256 <> o.sha256""",
        needs=_STORE,
    ),
    Invariant(
        "stored_has_its_object",
        Heading.EVIDENCE,
        "an attempt that owns its video names an object of its tenant, and uses it; no other one names any",
        """SELECT a.id AS subject, a.state || ' with ' || COALESCE(a.object, 'nothing') AS found
            FROM attempts a LEFT JOIN objects o ON o.id = a.object AND o.tenant = a.tenant
            AND o.kind = 'rendition' LEFT JOIN object_uses u
            ON u.object = a.object AND u.user_kind = 'attempt' AND u.user_id = a.id
            WHERE (a.state IN ('stored', 'indexed') AND (o.id IS NULL OR u.object IS NULL))
            OR (a.state IN ('queued', 'submitting', 'generating', 'retrieving') AND a.object IS NOT NULL)""",
    ),
    Invariant(
        "one_attempt_an_object",
        Heading.ONE_OF_EACH,
        "no two attempts own the same object",
        """SELECT object AS subject, COUNT(*) || ' attempts' AS found FROM attempts
            WHERE object IS NOT NULL GROUP BY object HAVING COUNT(*) > 1""",
    ),
    Invariant(
        "indexed_has_its_manifest",
        Heading.EVIDENCE,
        "what is indexed was derived, has an entry, and every picture of its manifest serves and is used",
        """SELECT a.id AS subject, 'derived ' || COALESCE(a.derived_version, 'never') || ', pictures '
                || COUNT(p.id) AS found
            FROM attempts a JOIN objects o ON o.id = a.object
            LEFT JOIN index_entries e ON e.attempt = a.id AND e.object = a.object
            LEFT JOIN derivatives d ON d.tenant = a.tenant AND d.source_sha256 = o.sha256
            AND d.transform_version = a.derived_version
            LEFT JOIN objects p ON p.id = d.object AND p.state IN ('live', 'marked')
            LEFT JOIN object_uses u ON u.object = p.id AND u.user_kind = 'attempt' AND u.user_id = a.id
            WHERE a.state = 'indexed' AND o.state IN ('live', 'marked')
            GROUP BY a.id, a.derived_version, e.id
            HAVING a.derived_version IS NULL OR e.id IS NULL OR COUNT(d.name) = 0
            OR COUNT(p.id) <> COUNT(d.name) OR COUNT(u.object) <> COUNT(d.name)""",
    ),
    Invariant(
        "manifest_is_complete",
        Heading.EVIDENCE,
        "a manifest of the transform version in force has exactly that version's pictures",
        """SELECT a.id AS subject, 'lacks ' || w.name AS found
            FROM attempts a JOIN objects o ON o.id = a.object
            JOIN picture_wanted w ON w.transform_version = a.derived_version
            LEFT JOIN derivatives d ON d.tenant = a.tenant AND d.source_sha256 = o.sha256
            AND d.transform_version = a.derived_version AND d.name = w.name
            WHERE d.name IS NULL AND o.state IN ('live', 'marked')
            UNION ALL SELECT d.object, 'is no picture of ' || d.transform_version
            FROM derivatives d WHERE d.transform_version IN (SELECT transform_version FROM picture_wanted)
            AND d.name NOT IN (SELECT w.name FROM picture_wanted w
                WHERE w.transform_version = d.transform_version)""",
    ),
    Invariant(
        "picture_matches_its_object",
        Heading.EVIDENCE,
        "a row of a manifest names an object of its tenant and size that descends from its source",
        """SELECT d.object AS subject, d.name || ' of ' || d.source_sha256 AS found
            FROM derivatives d JOIN objects o ON o.id = d.object
            WHERE o.tenant <> d.tenant OR o.size_bytes <> d.size_bytes OR NOT EXISTS
                (SELECT 1 FROM object_parents p JOIN objects s ON s.id = p.parent
                WHERE p.object = d.object AND s.sha256 = d.source_sha256 AND s.tenant = d.tenant)""",
    ),
    Invariant(
        "source_set_is_owned",
        Heading.EVIDENCE,
        "a submitted revision has every source present, owned, used, and a hash of the set",
        """SELECT r.id AS subject, r.state || ', source ' || s.position || ' ' || s.standing AS found
            FROM revisions r JOIN revision_sources s ON s.revision = r.id
            LEFT JOIN source_assets a ON a.id = s.source_asset AND a.tenant = r.tenant
            LEFT JOIN object_uses u ON u.user_kind = 'revision' AND u.user_id = r.id AND u.object IN
                (SELECT x.id FROM objects x JOIN objects y ON y.key = x.key WHERE y.id = a.object)
            WHERE r.state IN ('moderating', 'approved', 'rejected') AND (s.standing <> 'present'
                OR a.id IS NULL OR u.object IS NULL OR r.asset_set_sha256 IS NULL)""",
    ),
    Invariant(
        "approval_was_decided",
        Heading.EVIDENCE,
        "an approved or rejected revision has its decision, and every wish of an approved one its rendition",
        """SELECT r.id AS subject, r.state || ' without a decision' AS found FROM revisions r
            WHERE r.state IN ('approved', 'rejected') AND NOT EXISTS (SELECT 1 FROM decisions d
                WHERE d.kind = 'moderation' AND d.subject_id = r.id AND d.verdict = r.state)
            UNION ALL SELECT w.id, 'approved, and names no rendition' FROM wishes w
            JOIN revisions r ON r.id = w.revision WHERE r.state = 'approved' AND w.rendition IS NULL""",
    ),
    Invariant(
        "purged_is_gone",
        Heading.PURGE,
        "a purged object has its time, and no bytes under its key unless a later object holds it",
        """SELECT o.id AS subject, o.key || ' is still readable' AS found
            FROM objects o JOIN object_seen s ON s.key = o.key AND s.is_temporary = 0
            WHERE o.state = 'purged' AND o.purged_at < :seen_at AND NOT EXISTS
                (SELECT 1 FROM objects n WHERE n.key = o.key AND n.state <> 'purged')
            UNION ALL SELECT id, 'purged at no time' FROM objects
            WHERE (state = 'purged') <> (purged_at IS NOT NULL)""",
        needs=_STORE,
    ),
    Invariant(
        "no_orphan_objects",
        Heading.LEFT_OVER,
        "every key in the store is an object's, or lies in the intake",
        """SELECT s.key AS subject, s.size_bytes || ' bytes that no object names' AS found
            FROM object_seen s WHERE s.is_temporary = 0 AND s.modified_at < :overdue
            AND s.key NOT LIKE 'intake/%' AND NOT EXISTS
                (SELECT 1 FROM objects o WHERE o.key = s.key AND o.state <> 'purged')""",
        Phase.AFTER_RECONCILER,
        _STORE,
    ),
    Invariant(
        "no_old_temporary_objects",
        Heading.LEFT_OVER,
        "what killed writes left is gone two reconciliations after an import could still have been running",
        f"""SELECT key AS subject, size_bytes || ' bytes, temporary' AS found FROM object_seen
            WHERE is_temporary = 1 AND modified_at < :now - {IMPORT_WINDOW + RECONCILED_WITHIN}""",
        Phase.AFTER_RECONCILER,
        _STORE,
    ),
)
