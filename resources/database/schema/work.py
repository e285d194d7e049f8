"""What is being done: attempts, sends, remote jobs, observations, lanes, lots."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import (
    JsonText,
    MicroMoney,
    RowNumber,
    count,
    lease,
    metadata,
    micros,
    tenant,
    text,
)

attempts = sa.Table(
    "attempts",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id")),
    text("rendition", sa.ForeignKey("renditions.id")),
    count("number", default=None),
    text("state"),
    count("version"),
    count("entity_version"),
    text("submission"),
    text("idempotency_key"),
    text("request_fingerprint"),
    text("provider"),
    text("model"),
    *lease(),
    count("lane_held"),  # 1 while it counts in its lanes (G10)
    micros("next_action_at", null=True),
    micros("next_poll_at", null=True),
    count("poll_count"),
    count("polls_metered"),
    text("last_observation", null=True),
    count("send_tries"),
    count("fetch_tries"),
    count("downloads"),  # fetches that may have brought bytes; from the second on they repeat
    count("work_tries"),  # derivation and indexing
    text("handle", null=True),
    micros("submitted_at", null=True),
    micros("deadline_at", null=True),
    micros("purge_horizon_at", null=True),
    micros("result_expires_at", null=True),
    micros("overdue_at", null=True),
    micros("cancel_wanted_at", null=True),
    micros("cancel_sent_at", null=True),
    micros("deselected_at", null=True),
    text("parked_reason", null=True),
    text("outcome_class", null=True),
    text("outcome_reason", null=True),
    text("object", null=True, index=True),
    text("refused_sha256", null=True),  # the same bytes refused twice end the attempt
    text("derived_version", null=True),  # transform version of its complete manifest
    sa.Column("quote", MicroMoney, nullable=False, server_default=sa.text("0")),
    text("currency"),
    text("spend"),  # live or test
    micros("created_at"),
    micros("ended_at", null=True),
    sa.UniqueConstraint("rendition", "number"),
    sa.UniqueConstraint("idempotency_key"),
    sa.Index(None, "state", "next_action_at"),
    sa.Index("ix_attempts_lane_queue", "provider", "tenant", "state", "next_action_at"),
    sa.Index("ix_attempts_poll", "next_poll_at"),
    sa.Index(None, "campaign"),
)

sends = sa.Table(
    "sends",
    metadata,
    text("attempt", sa.ForeignKey("attempts.id")),
    count("n", default=None),
    tenant(),
    text("idempotency_key"),
    micros("at"),
    micros("answered_at", null=True),
    text("result", null=True),  # accepted, refused, not_sent, unknown; NULL: no answer was recorded
    text("reason", null=True),
    sa.PrimaryKeyConstraint("attempt", "n"),
)

#: More than one for an attempt is evidence of a double start, and shows as such.
remote_jobs = sa.Table(
    "remote_jobs",
    metadata,
    text("provider", primary_key=True),
    text("handle", primary_key=True),
    tenant(),
    text("attempt", sa.ForeignKey("attempts.id"), index=True),
    text("found_by"),  # answer, look_up, listing, callback, verdict
    count("bound"),
    micros("at"),
)

observations = sa.Table(
    "observations",
    metadata,
    sa.Column("id", RowNumber, primary_key=True, autoincrement=True),
    tenant(),
    text("attempt", sa.ForeignKey("attempts.id"), index=True),
    text("handle"),
    text("standing"),
    text("word"),
    text("outcome_class", null=True),
    text("reason"),
    micros("at"),
)

lanes = sa.Table(
    "lanes",
    metadata,
    text("provider", primary_key=True),
    text("tenant", primary_key=True),  # * is the provider's own row, over all tenants
    count("in_flight"),
    count("cap", default=None),
    count("served_at"),
)

lots = sa.Table(
    "lots",
    metadata,
    text("stage"),
    count("number", default=None),
    text("run_id", null=True),
    micros("requested_at"),
    micros("started_at", null=True),
    micros("ended_at", null=True),
    count("items"),
    sa.Column("counts", JsonText, nullable=True),
    sa.PrimaryKeyConstraint("stage", "number"),
)
