"""One partition per campaign, never per job: a run costs seconds of CPU, a campaign has many videos."""

from __future__ import annotations

import dagster as dg

#: Keys are `tenant.campaign`; the intake sensor adds them from the database.
CAMPAIGNS = "campaigns"

campaigns = dg.DynamicPartitionsDefinition(name=CAMPAIGNS)
