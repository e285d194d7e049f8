"""Invariants of what people see: slots, publications, selections, the index (SPEC §13.1, §13.2, T1, T6)."""

from __future__ import annotations

from resources.database.invariants.invariant import Heading, Invariant, Phase, Seen

_INDEX = frozenset({Seen.INDEX})

SHOWING = (
    Invariant(
        "what_is_shown_serves",
        Heading.PUBLICATION,
        "a slot shows an object whose bytes serve, as its attempt verified it",
        """SELECT s.id AS subject, COALESCE(o.state, 'no object') || ', attempt ' || COALESCE(a.state, 'none')
                AS found
            FROM slots s LEFT JOIN publications p ON p.id = s.publication
            LEFT JOIN objects o ON o.id = s.published_object
            LEFT JOIN attempts a ON a.id = p.attempt AND a.object = s.published_object
            WHERE s.published_object IS NOT NULL AND (o.id IS NULL OR o.state NOT IN ('live', 'marked')
                OR a.id IS NULL OR a.state <> 'indexed')""",
    ),
    Invariant(
        "slot_shows_its_newest_publication",
        Heading.PUBLICATION,
        "what a slot shows is its newest publication, and the only open one",
        """SELECT s.id AS subject, COALESCE(s.publication, 'nothing') || ', newest ' || COALESCE(p.id, 'none')
                AS found
            FROM slots s LEFT JOIN publications p ON p.slot = s.id AND p.number = s.version
            WHERE (s.version > 0 AND p.id IS NULL)
            OR COALESCE(s.published_object, '') <> COALESCE(p.object, '')
            OR COALESCE(s.published_rendition, '') <> COALESCE(p.rendition, '')
            OR (p.object IS NOT NULL AND s.publication <> p.id)
            OR (p.object IS NULL AND s.publication IS NOT NULL) OR p.until_at IS NOT NULL""",
    ),
    Invariant(
        "one_publication_a_slot",
        Heading.ONE_OF_EACH,
        "a slot has at most one open publication, and a publication for each of its moves",
        """SELECT s.id AS subject, COUNT(p.id) || ' moves of ' || s.version AS found
            FROM slots s LEFT JOIN publications p ON p.slot = s.id GROUP BY s.id, s.version
            HAVING COUNT(p.id) <> s.version OR COUNT(p.id) - COUNT(p.until_at) > 1""",
    ),
    Invariant(
        "one_selected_attempt",
        Heading.ONE_OF_EACH,
        "a rendition has one selected attempt, the newest selection's; every other one is deselected",
        """SELECT r.id AS subject, 'selected ' || COALESCE(r.selected_attempt, 'none') || ', also '
                || COALESCE(a.id, COALESCE(n.attempt, 'no selection')) AS found
            FROM renditions r
            LEFT JOIN selections n ON n.rendition = r.id AND n.number =
                (SELECT MAX(number) FROM selections WHERE rendition = r.id)
            LEFT JOIN attempts a ON a.rendition = r.id AND a.id <> r.selected_attempt
                AND a.deselected_at IS NULL
            WHERE a.id IS NOT NULL OR n.attempt IS NULL OR n.attempt <> COALESCE(r.selected_attempt, '')""",
    ),
    Invariant(
        "what_is_shown_was_selected",
        Heading.ONE_OF_EACH,
        "only what was selected of its rendition is published, in its rendition's own slot",
        """SELECT p.id AS subject, 'shows ' || p.attempt AS found
            FROM publications p LEFT JOIN renditions r ON r.id = p.rendition
            WHERE p.attempt IS NOT NULL AND (COALESCE(r.slot, '') <> p.slot OR NOT EXISTS
                (SELECT 1 FROM selections n WHERE n.rendition = p.rendition AND n.attempt = p.attempt))""",
    ),
    Invariant(
        "what_was_declined_is_not_shown",
        Heading.PUBLICATION,
        "no slot shows an output whose newest decision is a decline",
        """SELECT s.id AS subject, 'shows ' || p.attempt || ', declined' AS found
            FROM slots s JOIN publications p ON p.id = s.publication
            JOIN decisions d ON d.subject_id = p.attempt AND d.kind = 'acceptance' AND d.verdict = 'decline'
            AND d.id = (SELECT MAX(id) FROM decisions
                WHERE subject_id = p.attempt AND kind = 'acceptance')""",
    ),
    Invariant(
        "wish_and_rendition_share_a_slot",
        Heading.ONE_OF_EACH,
        "a wish names a rendition of its own slot, and a wanted rendition is of the slot that wants it",
        """SELECT w.id AS subject, 'names ' || w.rendition AS found
            FROM wishes w JOIN renditions r ON r.id = w.rendition WHERE r.slot <> w.slot
            UNION ALL SELECT s.id, 'wants ' || s.wanted_rendition
            FROM slots s LEFT JOIN renditions r ON r.id = s.wanted_rendition
            WHERE s.wanted_rendition IS NOT NULL AND COALESCE(r.slot, '') <> s.id""",
    ),
    Invariant(
        "what_is_shown_counts_as_usable",
        Heading.EVIDENCE,
        "a batch item whose rendition is shown has the time from which it was usable",
        """SELECT i.wish AS subject, 'usable and not noted' AS found
            FROM batch_items i JOIN slots s ON s.published_rendition = i.rendition
            WHERE i.usable_at IS NULL""",
    ),
    Invariant(
        "what_is_shown_is_found",
        Heading.PUBLICATION,
        "the index shows whatever a slot shows, under the required tags of its publication",
        """SELECT s.id AS subject, COALESCE('index says ' || i.required_tags, 'not in the index') AS found
            FROM slots s JOIN publications p ON p.id = s.publication
            LEFT JOIN index_entries e ON e.rendition = s.published_rendition AND e.object = s.published_object
            LEFT JOIN index_seen i ON i.tenant = e.tenant AND i.entry_id = e.id
            WHERE p.from_at < :seen_at AND (i.entry_id IS NULL
                OR (i.required_tags <> p.tags AND e.synced_version = e.version))""",
        needs=_INDEX,
    ),
    Invariant(
        "index_says_nothing_of_its_own",
        Heading.PUBLICATION,
        "every entry of the index is one of ours, of its tenant and object, at a version that we know",
        """SELECT i.entry_id AS subject, i.tenant || ' ' || i.rendition || ' version ' || i.version AS found
            FROM index_seen i LEFT JOIN index_entries e ON e.id = i.entry_id
            WHERE e.id IS NULL OR e.tenant <> i.tenant OR e.rendition <> i.rendition OR e.object <> i.object
            OR i.version > e.version""",
        needs=_INDEX,
    ),
    Invariant(
        "entry_and_pointer_agree",
        Heading.PUBLICATION,
        "exactly the entry of what a slot shows is wanted as its current one",
        """SELECT e.id AS subject, e.standing || ', shown ' || COALESCE(s.published_object, 'nothing')
                AS found
            FROM index_entries e JOIN slots s ON s.id = e.slot
            WHERE (e.standing = 'current') <> (e.object = COALESCE(s.published_object, '')
                AND e.rendition = COALESCE(s.published_rendition, ''))""",
    ),
    Invariant(
        "index_says_what_it_should",
        Heading.PUBLICATION,
        "the index says of every output what it should say",
        """SELECT e.id AS subject, 'should be ' || e.standing || ' ' || e.version || ', is '
                || COALESCE(i.standing || ' ' || i.version, 'absent') AS found
            FROM index_entries e
            LEFT JOIN index_seen i ON i.tenant = e.tenant AND i.entry_id = e.id
            WHERE e.refused_reason IS NULL AND COALESCE(e.next_action_at, 0) < :overdue AND (
                (e.standing = 'tombstone' AND i.entry_id IS NOT NULL)
                OR (e.standing <> 'tombstone' AND (i.entry_id IS NULL OR i.version <> e.version
                    OR i.standing <> e.standing)))""",
        Phase.AFTER_RECONCILER,
        _INDEX,
    ),
)
