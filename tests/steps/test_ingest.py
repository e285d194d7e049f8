"""I1, I2, I4: from a dropped file to a recorded revision, whatever people drop."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.domain.errors import BadDocument, NotAllowed, RevisionConflict, UnknownSubject
from pipeline.steps.produce.deliver import submit_brief
from pipeline.steps.produce.ingest import ingest_brief, ingest_lot, look_at_intake
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.private_folder import private_folder
from pipeline.steps.produce.source_set import submit_revision
from resources.database import schema
from resources.object_store.protocol import Stored
from tests.steps.author import CAMPAIGN, Author, picture

MEDIA = Path(__file__).parents[1] / "data" / "media"


def test_a_brief_is_stable_after_two_equal_looks_five_seconds_apart(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop()
    first = look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(4.9)
    second = look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(0.1)
    third = look_at_intake(author.database, author.intake.store)

    assert (first.briefs, second.briefs) == ((), ())
    assert third.briefs == ("intake/northwind/spring/brief.yaml",)
    assert third.files == 3


def test_a_file_that_grows_between_two_looks_begins_anew(author: Author) -> None:
    path = author.drop()
    look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(5)
    path.write_text(path.read_text() + "# more\n")
    grown = look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(5)

    assert grown.briefs == ()
    assert look_at_intake(author.database, author.intake.store).briefs != ()


def test_what_a_store_calls_whole_is_stable_at_once(author: Author) -> None:
    author.drop()

    class Whole:
        def list(self, prefix: str) -> list[Stored]:
            found = author.intake.store.list(prefix)
            return [Stored(one.key, one.size, one.modified_at, is_stable=True) for one in found]

    look = look_at_intake(author.database, Whole())  # type: ignore[arg-type]

    assert look.briefs == ("intake/northwind/spring/brief.yaml",)


def test_a_look_at_an_unchanged_intake_writes_nothing(author: Author) -> None:
    author.deliver()
    look_at_intake(author.database, author.intake.store)  # the receipts are new to it
    author.clock.pass_seconds(5)
    look_at_intake(author.database, author.intake.store)
    before = len(author.rows(schema.operations))

    look_at_intake(author.database, author.intake.store)

    assert len(author.rows(schema.operations)) == before


def test_a_whole_delivery_is_recorded_submitted_and_answered(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop()

    report = author.ingest()

    assert report.counts == {"new_revision": 1}
    revision = author.revision()
    assert (revision.state, revision.version, len(revision.asset_set_sha256)) == ("moderating", 1, 64)
    assert [row.variant for row in author.rows(schema.wishes)] == [
        "de-DE/16x9/6s", "de-DE/1x1/6s", "en-GB/16x9/6s", "en-GB/1x1/6s",
    ]  # fmt: skip
    receipt = author.receipt()
    assert (receipt["campaign"], receipt["revision"], receipt["state"]) == (CAMPAIGN, 1, "moderating")
    assert {one["word"] for one in receipt["variants"]} == {"moderating"}
    assert receipt["faults"] == []


def test_originals_are_kept_by_hash_and_cleaned_pictures_beside_them(author: Author) -> None:
    folder = author.folder()
    shutil.copy(MEDIA / "exif_6.jpg", folder / "depot.jpg")
    picture(folder / "van.png")
    author.drop()
    author.ingest()

    [asset] = [row for row in author.rows(schema.source_assets) if row.media_type == "image/jpeg"]
    original = author.root / f"northwind/sources/{asset.sha256}"
    assert original.read_bytes() == (MEDIA / "exif_6.jpg").read_bytes()
    [upright] = [row for row in author.rows(schema.derivatives) if row.source_sha256 == asset.sha256]
    assert (upright.width, upright.height) == (asset.facts["display_width"], asset.facts["display_height"])
    assert (author.root / f"northwind/derivatives/{asset.sha256}/upright-1/upright.jpg").exists()
    uses = {row.user_id for row in author.rows(schema.object_uses)}
    assert uses == {f"{CAMPAIGN}/r1"}


def test_the_same_bytes_under_two_names_are_one_source_asset(author: Author) -> None:
    folder = author.folder()
    shutil.copy(picture(folder / "depot.jpg"), folder / "van.png")
    author.drop()
    author.ingest()

    assert author.revision().state == "moderating"
    assert len(author.rows(schema.source_assets)) == 1


def test_the_same_delivery_again_changes_nothing(author: Author) -> None:
    author.deliver()
    tables = (schema.revisions, schema.wishes, schema.attempts, schema.campaign_settings, schema.audit)
    before = {table.name: author.rows(table) for table in tables}
    author.clock.pass_seconds(60)
    author.touch(author.drop())

    report = author.ingest()

    assert report.counts == {"unchanged": 1}
    after = {table.name: author.rows(table) for table in tables if table is not schema.revisions}
    assert after == {name: rows for name, rows in before.items() if name != "revisions"}
    assert author.revision().entity_version == before["revisions"][0].entity_version


def test_it_waits_for_a_missing_image_and_goes_on_when_it_comes(author: Author) -> None:
    folder = author.folder()
    picture(folder / "depot.jpg")
    author.drop()
    author.ingest()
    waiting = author.receipt()
    picture(folder / "van.png")

    author.ingest()

    assert waiting["state"] == "uploaded"
    assert waiting["next_steps"] == ["put van.png beside the brief"]
    assert author.receipt()["state"] == "moderating"


def test_it_waits_for_an_image_that_still_grows(author: Author) -> None:
    folder = author.folder()
    picture(folder / "depot.jpg")
    author.drop()
    look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(5)
    picture(folder / "van.png")

    ingest_lot(author.intake)

    assert author.receipt()["next_steps"] == ["wait until van.png is copied whole"]
    author.clock.pass_seconds(5)
    ingest_lot(author.intake)
    assert author.revision().state == "moderating"


def test_a_refused_image_holds_its_revision_until_the_file_is_replaced(author: Author) -> None:
    folder = author.folder()
    picture(folder / "depot.jpg")
    (folder / "van.png").write_text("<html>not a picture</html>")
    author.drop()
    author.ingest()
    refused = author.receipt()
    idle = author.ingest()
    picture(folder / "van.png")
    author.clock.pass_seconds(1)
    author.touch(folder / "van.png")

    author.ingest()

    assert refused["state"] == "uploaded"
    assert refused["sources"][1]["reason"] == "not_an_image"
    assert refused["faults"][0].startswith("van.png: ")
    assert idle.results == (), "a refused picture is not looked at again"
    assert author.receipt()["state"] == "moderating"
    assert author.receipt()["faults"] == []


def test_an_image_replaced_before_the_submission_is_the_one_that_counts(author: Author) -> None:
    folder = author.folder()
    author.drop_images(folder)
    author.drop(submit="manual")
    author.ingest()
    first = author.revision().asset_set_sha256
    picture(folder / "depot.jpg", "green", (65, 48))

    author.ingest()

    assert author.revision().state == "uploaded"
    assert author.revision().asset_set_sha256 not in (None, first)


def test_an_image_changed_after_the_submission_is_told_and_not_taken(author: Author) -> None:
    author.deliver()
    before = author.revision().asset_set_sha256
    author.clock.pass_seconds(60)
    picture(author.folder() / "depot.jpg", "green", (65, 48))
    author.touch(author.drop())

    author.ingest()

    assert author.revision().asset_set_sha256 == before
    assert "raise `revision`" in author.receipt()["faults"][0]
    assert len(author.rows(schema.attempts)) == 4


def test_manual_submission_waits_for_the_command(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop(submit="manual")
    author.ingest()
    waiting = author.revision()

    submit_revision(author.database, waiting.id, actor="ada")

    assert waiting.state == "uploaded"
    assert author.receipt()["next_steps"] != []
    assert author.revision().state == "moderating"
    assert not submit_revision(author.database, waiting.id, actor="ada"), "twice is once"


def test_an_incomplete_set_cannot_be_submitted_by_command(author: Author) -> None:
    author.drop(submit="manual")
    author.ingest()

    with pytest.raises(NotAllowed, match=r"depot\.jpg \(missing\)"):
        submit_revision(author.database, author.revision().id, actor="ada")


def test_amending_manual_to_when_complete_submits_a_complete_set(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop(submit="manual")
    author.ingest()
    author.clock.pass_seconds(1)
    author.drop(submit="when_complete")

    report = author.ingest()

    assert report.counts == {"amended": 1}
    assert author.revision().state == "moderating"


REFUSED = {
    "broken_yaml": ("tenant: [", "line"),
    "empty": ("", "is empty"),
    "unknown_field": (None, "extra"),
    "zero_variants": (None, "variants.locales"),
    "key_characters": (None, "campaign"),
    "unknown_provider": (None, "generation.provider"),
    "unknown_model": (None, "generation.model"),
    "a_size_that_is_none": (None, "short_side"),
}
CHANGES = {
    "unknown_field": {"extra": 1},
    "zero_variants": {"variants": {"locales": [], "aspect_ratios": ["1:1"], "duration_seconds": [6]}},
    "key_characters": {"campaign": "spring/../depot"},
    "unknown_provider": {"generation": {"provider": "nobody", "model": "kenburns-1"}},
    "unknown_model": {"generation": {"provider": "local", "model": "other-9"}},
    "a_size_that_is_none": {
        "generation": {"provider": "local", "model": "kenburns-1", "settings": {"short_side": "big"}}
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_brief_leaves_only_its_receipt(author: Author, case: str) -> None:
    text, expected = REFUSED[case]
    path = author.drop(**CHANGES.get(case, {}))
    if text is not None:
        path.write_text(text)

    report = author.ingest()

    assert report.counts == {"refused": 1}
    assert expected in author.errors()
    assert "What to do:" in author.errors()
    for table in (schema.campaigns, schema.revisions, schema.wishes, schema.slots, schema.budgets):
        assert author.rows(table) == [], table.name
    assert {found.name for found in path.parent.iterdir()} == {"brief.yaml", "brief.errors.txt"}
    assert author.ingest().results == (), "a refused brief is not read again before it changes"


def test_a_corrected_brief_loses_its_errors(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop(extra=1)
    author.ingest()
    author.clock.pass_seconds(1)
    author.drop()

    author.ingest()

    assert author.receipt()["state"] == "moderating"
    assert not (author.folder() / "brief.errors.txt").exists()


def test_another_tenants_brief_is_refused(author: Author) -> None:
    folder = author.folder(tenant="acme")
    author.drop(folder=folder)

    author.ingest()

    assert "move the file to its tenant's folder" in author.errors(folder=folder)
    assert author.rows(schema.campaigns) == []


@pytest.mark.parametrize(
    "place", ["intake/northwind/brief.yaml", "intake/brief.yaml", "intake/northwind/a/b/x.yaml"]
)
def test_a_brief_in_the_wrong_place_is_told_the_right_one(author: Author, place: str) -> None:
    path = author.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    author.drop(path.name, folder=path.parent)

    author.ingest()

    said = path.with_name(f"{path.stem}.errors.txt").read_text()

    assert "intake/TENANT/FOLDER/NAME.yaml" in said
    assert "What to do: move it there" in said


def test_a_brief_of_another_ending_is_told_how_briefs_are_named(author: Author) -> None:
    author.drop("Spring.YML")

    author.ingest()

    said = (author.folder() / "Spring.errors.txt").read_text()

    assert "is not named as briefs are (got Spring.YML)" in said
    assert "What to do: give it a name that ends in .yaml" in said


def test_other_creative_content_under_a_known_revision_is_refused_and_loses_nothing(author: Author) -> None:
    author.deliver()
    before = author.rows(schema.revisions), author.rows(schema.campaign_settings)
    author.clock.pass_seconds(60)
    author.drop("other.yaml", copy={"en-GB": "Other words.", "de-DE": "Andere Worte."}, cost_center="X-1")

    report = author.ingest()

    assert report.counts == {"refused": 1}
    assert "raise `revision`" in author.errors("other")
    assert (author.rows(schema.revisions), author.rows(schema.campaign_settings)) == before


def test_an_unknown_revision_below_the_newest_is_refused(author: Author) -> None:
    author.deliver(revision=5)
    author.clock.pass_seconds(60)
    author.drop("older.yaml", revision=4)

    author.ingest()

    assert "revision 5 is newer" in author.errors("older")
    assert len(author.rows(schema.revisions)) == 1


def test_a_newer_revision_withdraws_one_that_is_not_decided(author: Author) -> None:
    author.drop(revision=1)
    author.ingest()
    author.clock.pass_seconds(60)
    author.drop("next.yaml", revision=2)

    author.ingest()

    assert (author.revision(1).state, author.revision(2).state) == ("withdrawn", "uploaded")
    reasons = [row.reason for row in author.rows(schema.audit) if row.to_state == "withdrawn"]
    assert reasons == ["newer_revision"]
    assert author.words(revision=1) == {"withdrawn"}


def test_an_amendment_is_a_row_from_now_on_and_frees_parked_work(author: Author) -> None:
    author.deliver()
    author.clock.pass_seconds(60)
    author.drop(cost_center="MKT-9", budget={"cap": "80.00", "currency": "EUR"})

    report = author.ingest()

    assert report.counts == {"amended": 1}
    first, second = author.rows(schema.campaign_settings)
    assert (first.cost_center, second.cost_center) == ("MKT-4410", "MKT-9")
    assert first.effective_from < second.effective_from
    assert first.tags_version == second.tags_version
    [budget] = author.rows(schema.budgets)
    assert budget.cap == 80_000_000
    topics = [(row.topic, row.subject_id) for row in author.rows(schema.outbox)]
    assert topics.count(("budget_freed", CAMPAIGN)) == 1


def test_a_changed_required_tag_raises_the_tags_version_and_a_free_one_does_not(author: Author) -> None:
    author.deliver()
    tags = {"asset_type": "marketing-video", "visibility": "public", "product": ["van"]}
    author.clock.pass_seconds(60)
    author.drop(tags=tags)
    author.ingest()
    author.clock.pass_seconds(60)
    author.drop(tags=tags | {"visibility": "internal"})
    author.ingest()

    assert [row.tags_version for row in author.rows(schema.campaign_settings)] == [1, 1, 2]


def test_the_settings_of_an_older_revision_do_not_come_back(author: Author) -> None:
    author.deliver(revision=1, cost_center="OLD")
    author.clock.pass_seconds(60)
    author.drop("two.yaml", revision=2, cost_center="NEW")
    author.ingest()
    author.clock.pass_seconds(60)
    author.touch(author.drop(revision=1, cost_center="OLD"))

    report = author.ingest()

    assert report.counts == {"unchanged": 1}
    assert [row.cost_center for row in author.rows(schema.campaign_settings)] == ["OLD", "NEW"]
    assert author.receipt()["next_steps"][0] == "revision 2 is newer; its settings hold"


def test_a_cap_never_falls_below_what_is_held(author: Author) -> None:
    author.deliver()
    author.database.run(lambda tx: tx.connection.execute(schema.budgets.update().values(held=10_000_000)))
    author.clock.pass_seconds(60)
    author.drop(budget={"cap": "9.00", "currency": "EUR"})

    author.ingest()

    assert "budget.cap" in author.errors()
    assert author.rows(schema.budgets)[0].cap == 50_000_000


def test_a_name_in_another_unicode_form_is_the_same_file(author: Author) -> None:
    folder = author.folder()
    picture(folder / "Du\u0308sseldorf 🚚.png")
    author.drop(sources=["D\u00fcsseldorf 🚚.png"])

    author.ingest()

    assert author.revision().state == "moderating"


def test_a_pause_of_intake_holds_it_and_loses_nothing(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop()
    pause = {"stage": "ingest", "provider": "*", "tenant": "northwind", "paused_by": "ada", "reason": "audit"}
    author.database.run(
        lambda tx: tx.connection.execute(schema.pauses.insert().values(paused_at=tx.now, **pause))
    )
    held = author.ingest()
    author.database.run(
        lambda tx: tx.connection.execute(schema.pauses.update().values(resumed_at=tx.now, resumed_by="ada"))
    )

    assert held.results == ()
    assert author.ingest().counts == {"new_revision": 1}


def test_many_deliveries_at_once_are_one(author: Author) -> None:
    author.drop_images(author.folder())
    path = author.drop()
    key = f"intake/northwind/spring/{path.name}"
    look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(5)
    look_at_intake(author.database, author.intake.store)
    outcomes: list[str] = []

    def work() -> None:
        outcomes.append(ingest_brief(author.intake, key).outcome)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["new_revision", *["unchanged"] * 5]
    assert len(author.rows(schema.revisions)) == 1
    assert author.revision().state == "moderating"
    assert len(author.rows(schema.source_assets)) == 2
    moves = [(row.to_state, row.version) for row in author.rows(schema.audit) if row.version is not None]
    assert moves == [("uploaded", 0), ("moderating", 1)]


def test_a_kill_between_recording_and_sources_is_made_good_by_the_next_lot(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    author.drop_images(author.folder())
    author.drop()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pipeline.steps.produce.ingest.settle_sources", killed)
        with pytest.raises(KeyboardInterrupt):
            author.ingest()
    assert author.revision().state == "uploaded"

    ingest_lot(author.intake)

    assert author.revision().state == "moderating"
    assert author.receipt()["state"] == "moderating"


def test_a_local_brief_is_submitted_with_its_images_and_answered_beside_it(
    author: Author, tmp_path: Path
) -> None:
    home = tmp_path / "desk"
    author.drop_images(home)
    path = author.drop("mine.yaml", folder=home)

    receipt = submit_brief(author.intake, path)
    again = submit_brief(author.intake, path)

    assert (receipt.outcome, receipt.state, again.outcome) == ("new_revision", "moderating", "unchanged")
    assert author.receipt("mine", folder=home)["state"] == "moderating"
    copies = [path.name for path in (author.root / "intake/northwind").rglob("*") if path.is_file()]
    assert sorted(copies) == sorted(["depot.jpg", "van.png", *[n for n in copies if n.startswith("brief-")]])
    assert len([name for name in copies if name.endswith(".yaml")]) == 1
    assert author.ingest().results == (), "the sensor finds nothing left to do"


def test_a_local_brief_whose_image_comes_later_goes_on_when_it_is_submitted_again(
    author: Author, tmp_path: Path
) -> None:
    home = tmp_path / "desk"
    picture(home / "depot.jpg")
    path = author.drop("mine.yaml", folder=home)
    first = submit_brief(author.intake, path)
    picture(home / "van.png")

    second = submit_brief(author.intake, path)

    assert (first.state, second.state) == ("uploaded", "moderating")


def test_a_refused_local_brief_is_named_and_leaves_nothing_else(author: Author, tmp_path: Path) -> None:
    home = tmp_path / "desk"
    home.mkdir()
    path = author.drop("mine.yaml", folder=home, extra=1)

    with pytest.raises(BadDocument):
        submit_brief(author.intake, path)

    assert "extra" in author.errors("mine", folder=home)
    assert not (author.root / "intake").exists()


def test_a_local_brief_that_conflicts_is_named(author: Author, tmp_path: Path) -> None:
    author.deliver()
    home = tmp_path / "desk"
    author.drop_images(home)
    path = author.drop("mine.yaml", folder=home, sources=["depot.jpg"])

    with pytest.raises(RevisionConflict):
        submit_brief(author.intake, path)
    with pytest.raises(UnknownSubject):
        submit_brief(author.intake, home / "none.yaml")

    assert "other creative content" in author.errors("mine", folder=home)


def test_a_lot_for_one_campaign_takes_up_its_sources_and_leaves_all_else_due(author: Author) -> None:
    author.drop()
    author.drop("other.yaml", campaign="autumn")
    author.ingest()
    author.drop_images(author.folder())
    author.drop("third.yaml", campaign="winter")
    look_at_intake(author.database, author.intake.store)
    author.clock.pass_seconds(5)

    report = ingest_lot(author.intake, campaign=CAMPAIGN)
    author.relay()
    judged = moderate_due(author.database, author.policy, author.rules, campaign="northwind.autumn")

    assert (report.campaigns, judged.results) == ((CAMPAIGN,), ())
    look = look_at_intake(author.database, author.intake.store)
    assert (look.briefs, look.revisions) == (
        ("intake/northwind/spring/third.yaml",),
        ("northwind.autumn/r1",),
    )


def test_what_a_killed_worker_left_in_the_spool_is_swept_and_a_living_ones_is_not(author: Author) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    left = author.intake.spool / f"intake-{ended.pid}-abc"
    (left / "original").mkdir(parents=True)

    with private_folder(author.intake.spool) as ours:
        ingest_lot(author.intake)

        assert ours.is_dir()
    assert list(author.intake.spool.iterdir()) == []


def test_a_spool_that_cannot_be_used_postpones_and_loses_nothing(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop()
    author.intake.spool.write_text("in the way")

    report = author.ingest()

    assert report.counts == {"postponed": 1}
    author.intake.spool.unlink()
    ingest_lot(author.intake)
    assert author.revision().state == "moderating"
