"""The asset checks: what must hold, looked at on a schedule over the whole database (E5).

Belongs here: which asset shows which check, and how a result reads. Does not belong here: any look
(`steps.operate.checks`), or when they run (`sensors.schedules`).

Materializations that lots store in bulk run no checks, so these stand by themselves: one op evaluates those
that are asked for, over all campaigns, and tells of errors.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import dagster as dg

from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.units import money
from pipeline.steps.answer.standing import Part
from pipeline.steps.operate.checked import CheckResult, CheckRow, Severity
from pipeline.steps.operate.checks import CHECKS, Name, run_check
from pipeline.steps.operate.tell_checks import tell_check
from resources.dagster_resources import Adapters, Operating

ON: Mapping[Name, Part] = MappingProxyType(
    {
        Name.PUBLISH: Part.TAG_INDEX,
        Name.REVISIONS: Part.TAG_INDEX,
        Name.OBJECTS: Part.RENDITIONS,
        Name.MANIFESTS: Part.THUMBNAILS,
        Name.ATTEMPTS: Part.GENERATION_ATTEMPTS,
        Name.MONEY: Part.GENERATION_ATTEMPTS,
        Name.AUDIT: Part.GENERATION_ATTEMPTS,
        Name.PURGES: Part.RENDITIONS,
    }
)
SEVERITIES = {Severity.ERROR: dg.AssetCheckSeverity.ERROR, Severity.WARN: dg.AssetCheckSeverity.WARN}

ROW_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("subject", description="id of what is wrong"),
        dg.TableColumn("campaign", description="its partition"),
        dg.TableColumn("severity", description="error: a promise is broken; warn: it waits too long"),
        dg.TableColumn("why", description="what does not hold, and what was found"),
        dg.TableColumn("next", description="what happens next, or what to do"),
        dg.TableColumn("at_risk", description="what may have been paid for and is not owned"),
    ]
)


def _about(name: Name) -> str:
    return (
        f"{CHECKS[name].says[0].upper()}{CHECKS[name].says[1:]}. **When it fails:** {CHECKS[name].remedy}."
        " A row of `rows` is one thing that is wrong, the worst first, at most twenty."
    )


@dg.multi_asset_check(
    name="system_checks",
    description="What must hold over all campaigns, read from the database, the store and the tag index.",
    specs=[
        dg.AssetCheckSpec(str(name), asset=str(part), description=_about(name)) for name, part in ON.items()
    ],
    can_subset=True,
)
def system_checks(
    context: dg.AssetCheckExecutionContext,
    adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
) -> Iterator[dg.AssetCheckResult]:
    asked = {key.name for key in context.selected_asset_check_keys}
    with as_dagster_failures():
        for name in ON:
            if name in asked:
                result = run_check(adapters, name)
                tell_check(adapters.database, operating.outlet, result, page_of(name))
                yield _evaluation(result, ON[name])


def page_of(name: Name) -> str:
    return f"/assets/{ON[name]}?view=checks&checkDetail={name}"


def _evaluation(result: CheckResult, part: Part) -> dg.AssetCheckResult:
    records = [dg.TableRecord(_record(row)) for row in result.rows]
    return dg.AssetCheckResult(
        asset_key=str(part),
        check_name=result.name,
        passed=result.passed,
        severity=SEVERITIES[result.severity],
        description=result.says if result.passed else f"{result.count} rows; {result.remedy}",
        metadata={
            "count": dg.MetadataValue.int(result.count),
            "rows": dg.MetadataValue.table(records=records, schema=ROW_COLUMNS),
            "remedy": dg.MetadataValue.text(result.remedy),
            "looked_at": dg.MetadataValue.text("; ".join(result.looked_at)),
        },
    )


def _record(row: CheckRow) -> dict[str, str]:
    return {
        "subject": row.subject,
        "campaign": row.campaign,
        "severity": str(row.severity),
        "why": row.reason,
        "next": row.next_action,
        "at_risk": f"{money(row.cost_at_risk)} {row.currency}" if row.cost_at_risk else "",
    }
