"""A partition is a campaign or a day, never a job: a run costs seconds of CPU, a campaign has many videos."""

from __future__ import annotations

import dagster as dg

#: Keys are `tenant.campaign`; the intake sensor adds them from the database.
CAMPAIGNS = "campaigns"

campaigns = dg.DynamicPartitionsDefinition(name=CAMPAIGNS)

#: UTC months of account; the running one is among them.
months = dg.MonthlyPartitionsDefinition(start_date="2026-01-01", timezone="UTC", end_offset=1)

#: UTC days of usage. Of earlier ones facts may exist, no partition shows them.
days = dg.DailyPartitionsDefinition(start_date="2026-01-01", timezone="UTC")
