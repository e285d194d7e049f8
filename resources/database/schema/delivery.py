"""What delivery logs say: files read, the names they came under, facts, set-aside lines, deletions seen.

Belongs here: the tables of `resources.database.delivery_logs`. Does not belong here: facts of the spine
(`usage_facts`), or anything with a price. A file's rows belong to every tenant that it speaks of: `*`.
"""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, count, metadata, micros, tenant, text

#: One file by its bytes. Its lines are events + duplicates + ignored + quarantined: no column may disagree.
delivery_files = sa.Table(
    "delivery_files",
    metadata,
    text("id", primary_key=True),  # SHA-256 of the bytes as they were delivered
    tenant(),
    text("verdict"),  # read, refused; a refused one has no facts and is looked at again by a newer reader
    text("reason"),  # of a refused one
    text("kind"),  # cloudfront, s3, generic, or empty where it could not be told
    text("name"),  # under which it was read first
    count("size_bytes", default=None),
    text("reader_version"),
    count("events"),
    count("duplicates"),
    count("ignored"),
    count("quarantined"),
    count("bytes_sent"),
    count("unattributed_bytes"),
    micros("first_at", null=True),  # of its events
    micros("last_at", null=True),
    sa.Column("hours", JsonText, nullable=False),  # hour (UTC microseconds) -> events, duplicates too
    sa.Column("reasons", JsonText, nullable=False),  # why lines were set aside -> lines
    sa.Column("identities", sa.LargeBinary, nullable=True),  # of its events: sorted, 8 bytes each
    micros("read_at"),
    sa.Index(None, "last_at"),
)

#: What lies in the place of the logs, so that only what is new or changed there is brought again.
delivery_names = sa.Table(
    "delivery_names",
    metadata,
    text("name", primary_key=True),
    tenant(),
    count("size_bytes", default=None),
    micros("modified_at"),
    text("file", sa.ForeignKey("delivery_files.id"), index=True),
    micros("seen_at"),
)

#: One row a file, UTC day, object, meter, region and class; integers, append-only (F1, F3).
delivery_facts = sa.Table(
    "delivery_facts",
    metadata,
    text("id", primary_key=True),  # a hash of the row's other columns without its quantity
    text("tenant", null=True),  # this and the next five: NULL where the bytes are nobody's
    text("campaign", null=True),
    text("rendition", null=True),
    text("object", null=True),
    text("cost_center", null=True),  # as it was at the time of the lines
    text("spend", null=True),  # live, test
    text("file", sa.ForeignKey("delivery_files.id"), index=True),
    text("provider"),  # cloudfront, s3, generic: the same bytes may pass two of them
    micros("day"),  # its first microsecond, UTC
    text("meter"),
    text("region"),  # as the log says it: three letters of an edge, a region's name, or empty
    text("scheme"),  # http, https, or empty
    text("traffic"),  # full, partial, head, not_modified, redirect, aborted, failed, other
    text("agent"),  # viewer, bot, cdn, unknown
    count("quantity", default=None),
    sa.Index(None, "day", "tenant"),
    sa.Index(None, "rendition", "meter"),
)

#: Lines that were not counted. What they say is not kept, as they hold people's addresses: the file has it.
delivery_quarantine = sa.Table(
    "delivery_quarantine",
    metadata,
    text("file", sa.ForeignKey("delivery_files.id")),
    count("line", default=None),  # from 1, as an editor counts; rows of Parquet likewise
    tenant(),
    text("reason"),
    text("field"),
    sa.PrimaryKeyConstraint("file", "line"),
)

#: The store's own word that bytes went: deletions and expiries in its log.
delivery_deletions = sa.Table(
    "delivery_deletions",
    metadata,
    text("id", primary_key=True),  # the line's identity
    text("tenant", null=True),
    text("object", null=True),
    text("bucket"),
    text("key"),
    text("store_version", null=True),
    text("operation"),
    count("status", null=True, default=None),
    micros("at"),
    text("file", sa.ForeignKey("delivery_files.id")),
    count("line", default=None),
    sa.Index(None, "key"),
)
