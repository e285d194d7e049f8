"""Do one campaign's due work of one stage by command, and say how the part stands then (E3).

Belongs here: a backfill's share of work. Does not belong here: anything that makes work due again: what has
a result is never made or sent a second time.
"""

from __future__ import annotations

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part, Standing, standings
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.stages import run_lot
from resources.adapters import Adapters


def bring_campaign_forward(adapters: Adapters, campaign: str, stage: Stage, part: Part) -> Standing:
    """Raises UnknownSubject for a campaign that has no revision."""
    database = adapters.database
    relay_outbox(database)
    run_lot(adapters, stage, campaign)
    relay_outbox(database)
    with database.reading() as connection:
        found = standings(connection, [campaign], database.clock(connection), adapters.terms)
    for standing in found.get(campaign, ()):
        if standing.part is part:
            return standing
    raise UnknownSubject("campaign", campaign)
