"""C4: whoever comes to need something at any step of its purge either keeps it or is told that it is gone."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, ReelwrightError
from pipeline.domain.renditions import derivative_key, source_key
from pipeline.domain.retention import Scope
from pipeline.steps.operate.retry import retry
from pipeline.steps.operate.roll_back import Target, roll_back
from pipeline.steps.produce.derive import Deriving
from pipeline.steps.retain import purge as purge_step
from pipeline.steps.retain import verify as verify_step
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.begin import begin_batch
from pipeline.steps.retain.hold import place
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.run import run
from resources.database import schema
from resources.database.database import Transaction
from resources.database.grants import issue_grant
from resources.database.legal_holds import NewHold, place_hold
from resources.database.objects import Use, hold_objects, use
from resources.database.retention_plans import due_items
from resources.database.source_sets import PRESENT, Judged, OwnedSource, record_judged
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, TENANT, TRANSFORMS, Vault

STEPS = ("planned", "approved", "marked", "due", "purging", "deleted", "purged")
#: From here on the transaction that decides has been.
TOO_LATE = ("purging", "deleted", "purged")
OPEN = f"{TENANT}.open"
PHOTO = b"photo of the depot"


class Scene:
    """v-0 was superseded by v-1, v-2 is shown by a campaign that ended, and so is its source due."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self.open = vault.campaign(OPEN, None)
        self.asset = vault.source(PHOTO)
        self.slot = vault.slot_of("v-0", OPEN)
        self.old = vault.video("v-0", b"old take", campaign=OPEN)
        vault.publish("v-0", campaign=OPEN)
        vault.video("v-1", b"new take", campaign=OPEN, slot=self.slot)
        vault.publish("v-1", campaign=OPEN, slot=self.slot)
        self.shown = vault.video("v-2", sources=[self.asset])
        vault.publish("v-2")
        rows.rendition(vault.database, f"{TENANT}.spring", "f-1", sources=[self.asset.partition("/")[2]])
        rows.attempt(vault.database, f"{TENANT}.spring", "f-1", state="failed", ended_at=vault.clock.at)
        self.picture = self.picture_of(self.old)
        self.twin = self._twin()
        self.source = self.object_of(source_key(*self.asset.split("/")))
        vault.pass_days(60)

    def _twin(self) -> str:
        """A video of equal bytes, published before its pictures were noted as its own."""
        twin = self.vault.video("t-1", b"old take", campaign=OPEN)
        self.vault.publish("t-1", campaign=OPEN)
        uses, parents = schema.object_uses, schema.object_parents
        mine = sa.delete(uses).where(uses.c.object == self.picture, uses.c.user_id == "t-1-a1")
        self.vault.run(lambda tx: tx.connection.execute(mine))
        made_of = sa.delete(parents).where(parents.c.parent == twin)
        self.vault.run(lambda tx: tx.connection.execute(made_of))
        return twin

    def object_of(self, key: str) -> str:
        """The unpurged one under *key*, if there is one."""
        found = [row for row in rows.rows(self.vault.database, schema.objects) if row.key == key]
        return str(min(found, key=lambda row: row.state == "purged").id)

    def picture_of(self, master: str) -> str:
        key = derivative_key(TENANT, self.vault.row(master).sha256, "tiny-1", "tiny", "webp")
        return self.object_of(key)

    # What others do; each returns the object that must be kept from then on.

    def roll_back(self) -> str:
        roll_back(
            self.vault.database, self.vault.index, self.slot, TENANT,
            to=Target(rendition="v-0"), actor="olive", reason="the old one was better",
        )  # fmt: skip
        return self.old

    def carry(self) -> str:
        self.vault.wants(self.slot, "v-0")
        return self.old

    def hold(self) -> str:
        placed = place(self.vault.retaining(), TENANT, Scope.RENDITION, "v-0", matter="H", reason="dispute")
        if placed.too_late or self.vault.state(self.old) == "purged":
            raise NotAllowed(self.old, "the hold came too late")
        return self.old

    def grant(self) -> str:
        self.vault.grant(self.shown, 365 * 86_400)
        return self.shown

    def upload(self) -> str:
        """The same photo for a campaign that runs on, as intake takes it up."""
        sha256 = hashlib.sha256(PHOTO).hexdigest()
        upright = derivative_key(TENANT, sha256, "upright-1", "upright", "jpg")
        original, cleaned = [
            self.vault.new(kind, key, content, None)
            for kind, key, content in (
                ("source", source_key(TENANT, sha256), PHOTO), ("derivative", upright, b"upright " + PHOTO)
            )
        ]  # fmt: skip
        name = f"{OPEN}/r1"
        if not any(row.id == name for row in rows.rows(self.vault.database, schema.revisions)):
            rows.insert(self.vault.database, schema.revisions, {
                "id": name, "tenant": TENANT, "campaign": OPEN, "number": 1, "creative": {},
                "creative_sha256": "c", "state": "uploaded", "submit_mode": "when_complete",
                "actor": "author", "created_at": self.vault.clock.at,
            })  # fmt: skip
            rows.insert(self.vault.database, schema.revision_sources, {
                "revision": name, "position": 0, "tenant": TENANT, "name": "photo.png", "standing": "growing",
            })  # fmt: skip
        revision = rows.read(self.vault.database, schema.revisions, name)
        judged = Judged(
            0, PRESENT, owned=OwnedSource(original, cleaned, "upright-1", "upright", 1, 1, "jpeg")
        )
        self.vault.run(lambda tx: record_judged(tx, revision, [judged]))
        return str(rows.read(self.vault.database, schema.source_assets, self.asset).object)

    def retry(self) -> str:
        retry(self.vault.database, "f-1", TENANT, actor="olive", reason="again")
        return self.source

    def late_result(self) -> str:
        """Another attempt brings equal bytes, and so shares the pictures."""
        self.vault.arrives("v-1", 2, b"old take", OPEN)
        return self.picture_of(self.old)

    def backfill(self) -> str:
        """A re-thumbnailing finds the manifest of equal bytes complete, and uses its pictures."""
        row = rows.read(self.vault.database, schema.attempts, "t-1-a1")
        source = self.vault.row(self.twin)
        deriving = Deriving(
            self.vault.database, self.vault.store, None, TRANSFORMS, self.vault.folder, "deriver"  # type: ignore[arg-type]
        )  # fmt: skip

        self.vault.run(lambda tx: deriving.record(tx, row, source, ()))
        return self.picture


ACTIONS: dict[str, Callable[[Scene], str]] = {
    name: getattr(Scene, name)
    for name in ("roll_back", "carry", "hold", "grant", "upload", "retry", "late_result", "backfill")
}
#: A carried rendition whose bytes are gone is no refusal: its word is `expired`.
CARRIES = ("carry",)


def up_to(scene: Scene, step: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, approve, mark, wait, purge; *act* happens right after *step*."""
    vault = scene.vault
    made = plan(vault.retaining())
    assert {scene.old, scene.picture, scene.shown, scene.source} <= {one.subject for one in made.items}
    steps: dict[str, Callable[[], Any]] = {
        "planned": lambda: None,
        "approved": lambda: approve(vault.retaining(), made.id),
        "marked": lambda: run(vault.retaining()),
        "due": lambda: vault.pass_days(7),
    }
    for name, take in steps.items():
        take()
        if name == step:
            act()
    real = verify_step.delete_and_verify

    def watched(*arguments: Any) -> Any:
        if step == "purging":
            act()
        found = real(*arguments)
        if step == "deleted":
            act()
        return found

    monkeypatch.setattr(purge_step, "delete_and_verify", watched)
    run(vault.retaining())
    monkeypatch.setattr(purge_step, "delete_and_verify", real)
    if step == "purged":
        act()


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("step", STEPS)
def test_what_is_needed_at_any_step_is_kept_or_refused(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, step: str, action: str
) -> None:
    scene = Scene(vault)
    needed: list[str] = []

    def act() -> None:
        try:
            needed.append(ACTIONS[action](scene))
        except ReelwrightError:
            needed.append("")

    up_to(scene, step, act, monkeypatch)
    run(vault.retaining())
    again_is_fresh = action in ("upload", "late_result") and step == "purged"

    if step in TOO_LATE and not again_is_fresh and action not in CARRIES:
        assert needed == [""]
    elif step not in TOO_LATE or again_is_fresh:
        [kept] = needed
        assert vault.state(kept) in ("live", "marked")
        assert vault.store.sha256(vault.row(kept).key) == vault.row(kept).sha256
    assert vault.broken(ALWAYS) == []


Work = Callable[[Transaction], object]


def at_once(vault: Vault, first: Work, then: Callable[[], Any]) -> Any:
    """*then* begins while *first* is not committed yet, and must wait for it; its result."""
    inside, go_on = threading.Event(), threading.Event()
    found: list[Any] = []

    def slowly(tx: Transaction) -> None:
        first(tx)
        inside.set()
        go_on.wait(5)

    one = threading.Thread(target=lambda: vault.database.run(slowly))
    other = threading.Thread(target=lambda: found.append(then()))
    one.start()
    assert inside.wait(5)
    other.start()
    other.join(0.3)
    assert not found, "it did not wait"
    go_on.set()
    one.join(10)
    other.join(10)
    return found[0]


@pytest.fixture
def due(vault: Vault) -> Scene:
    """Everything is marked, and its grace is over."""
    scene = Scene(vault)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    return scene


def decide(scene: Scene) -> set[str]:
    """The transaction that decides; ids of what it begins to purge."""
    vault = scene.vault
    with vault.database.reading() as connection:
        items = due_items(connection, vault.clock.at, 100, ("", 0))
    begun = vault.database.run(lambda tx: begin_batch(vault.retaining(), tx, items))
    return {item.subject for item in (*begun.purging, *begun.waiting)}


def test_a_hold_that_is_not_committed_yet_is_waited_for(due: Scene) -> None:
    new = NewHold(TENANT, "H", Scope.RENDITION, "v-0", "olive", "dispute")
    going = at_once(due.vault, lambda tx: place_hold(tx, new), lambda: decide(due))

    assert due.old not in going
    assert due.shown in going
    assert due.vault.state(due.old) == "live"


def test_a_use_that_is_not_committed_yet_is_waited_for(due: Scene) -> None:
    def need(tx: Transaction) -> None:
        hold_objects(tx, [due.picture])
        use(tx, [Use(due.picture, "attempt", "t-1-a1", TENANT)])

    assert due.picture not in at_once(due.vault, need, lambda: decide(due))


def test_a_grant_that_is_not_committed_yet_is_waited_for(due: Scene) -> None:
    until = due.vault.clock.at + 60_000_000
    grant = lambda tx: issue_grant(tx, due.shown, issued_to="v", expires_at=until)  # noqa: E731
    at_once(due.vault, grant, lambda: decide(due))
    decide(due)

    assert due.vault.state(due.shown) == "marked"


def test_a_purge_that_is_not_committed_yet_makes_a_hold_say_that_it_came_too_late(due: Scene) -> None:
    vault = due.vault
    with vault.database.reading() as connection:
        items = due_items(connection, vault.clock.at, 100, ("", 0))
    placed = at_once(
        vault,
        lambda tx: begin_batch(vault.retaining(), tx, items),
        lambda: place(vault.retaining(), TENANT, Scope.RENDITION, "v-0", matter="H", reason="dispute"),
    )

    assert due.old in placed.too_late
    assert due.old not in placed.returned
