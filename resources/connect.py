"""Settings in, one frozen set of adapters out: the one place that opens things.

Used by command line, API, Dagster resources and tests. Refuses by name what is unsafe to start on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pipeline.documents.delivery_paths import read_delivery_logs, read_delivery_paths
from pipeline.documents.moderation_policy import default_moderation_policy, read_moderation_policy
from pipeline.documents.price_card import DEFAULT as PRICE_CARD
from pipeline.documents.price_card import default_price_card, read_price_card, together
from pipeline.documents.provider_list import default_provider_list, read_provider_list
from pipeline.documents.retention_policy import default_retention_policy, read_retention_policy
from pipeline.documents.settings import Settings
from pipeline.documents.target_profile import default_target_profile, read_target_profile
from pipeline.documents.transform_set import default_transform_set, read_transform_set
from pipeline.domain.delivery import PathRules, path_rules
from pipeline.domain.errors import BadSettings
from pipeline.domain.provider_terms import ProviderList, ProviderTerms
from pipeline.domain.rating import PriceCards
from pipeline.domain.retention import RetentionPolicy
from pipeline.domain.storage_price import StoragePrice, of_card
from resources.adapters import Adapters
from resources.database.database import Database
from resources.database.engine import READ_ONLY
from resources.database.migrate import require_current
from resources.database.safety import require_safe
from resources.media import Sandbox
from resources.notify.channels import notifier
from resources.notify.protocol import Outlet, Window
from resources.object_store.beside import IntakeBeside
from resources.object_store.local import LocalStore
from resources.object_store.protocol import ObjectStore
from resources.providers.registry import adapters as provider_adapters
from resources.tag_index.protocol import TagIndex
from resources.tag_index.sql import SqlTagIndex

if TYPE_CHECKING:
    from resources.tag_index.opensearch_rebuild import IndexRebuild

Document = TypeVar("Document", covariant=True)


class _Reader(Protocol[Document]):
    """How every document is read: parsed and checked as a whole."""

    def __call__(self, text: bytes, *, name: str) -> Document: ...


def connect(settings: Settings) -> Adapters:
    """Open everything that *settings* name; raises `BadSettings`, `BadDocument` or `SchemaMismatch`."""
    terms = provider_terms(settings)
    database = Database.at(settings.database)
    try:
        require_safe(database, allow_unsafe=settings.allow_unsafe_database)
        require_current(database)
        return _around(database, settings, terms)
    except BaseException:
        database.close()
        raise


def _around(database: Database, settings: Settings, terms: Mapping[str, ProviderTerms]) -> Adapters:
    settings.spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Adapters(
        database=database,
        store=object_store(settings),
        index=tag_index(settings, database),
        sandbox=Sandbox(),
        providers=provider_adapters(terms.values()),
        terms=terms,
        profile=read_or_default(settings.profile, default_target_profile, read_target_profile),
        transforms=read_or_default(settings.transforms, default_transform_set, read_transform_set),
        moderation=read_or_default(
            settings.moderation,
            default_moderation_policy,
            read_moderation_policy,
        ),
        spool=settings.spool,
        prices=price_cards(settings),
        delivery_logs=delivery_log_store(settings),
        delivery_rules=delivery_rules(settings),
    )


@contextmanager
def connected(settings: Settings) -> Iterator[Adapters]:
    """`connect`, and everything closed at the end."""
    adapters = connect(settings)
    try:
        yield adapters
    finally:
        adapters.close()


def object_store(settings: Settings) -> ObjectStore:
    """Raises `BadSettings` for a bucket that overwrites what it was told to keep."""
    if settings.bucket is None:
        return _folder(settings)
    try:
        from resources.object_store.s3 import S3Store  # costs half a second, which a folder need not pay
    except ImportError as error:
        problem = f"{settings.bucket} needs boto3, which is not installed"
        raise BadSettings("store_url", problem, "install reelwright[production]") from error
    store = S3Store.opened(settings.bucket)
    return IntakeBeside(store, LocalStore(settings.objects)) if settings.intake_folder else store


def _folder(settings: Settings) -> LocalStore:
    if settings.intake_folder is not None:
        problem = "a store that is a folder has its own intake"
        raise BadSettings("intake_folder", problem, "remove it, or name a bucket as `store_url`")
    return LocalStore(settings.objects)


def delivery_log_store(settings: Settings) -> ObjectStore | None:
    """Where delivery logs come in; a bucket is only read, so nothing is proven of it."""
    place = read_delivery_logs(settings.delivery_logs)
    if place is None or isinstance(place, Path):
        return None if place is None else LocalStore(place)
    try:
        from resources.object_store.s3 import S3Store  # as above
    except ImportError as error:
        raise _not_installed("delivery_logs", "boto3") from error
    return S3Store(place)


def delivery_rules(settings: Settings) -> PathRules:
    paths = read_delivery_paths(settings.delivery_paths)
    bucket = settings.bucket
    return path_rules(paths) if bucket is None else path_rules(paths, bucket.name, bucket.prefix)


def tag_index(settings: Settings, database: Database) -> TagIndex:
    """Raises `IndexMismatch` for an alias or mapping that is not as this release writes it."""
    address = settings.index
    if address is None:
        return SqlTagIndex(database.engine, database.engine.execution_options(**READ_ONLY))
    try:
        from resources.tag_index.opensearch import OpenSearchTagIndex  # as heavy, and as optional
    except ImportError as error:
        raise _not_installed("index_url", "opensearch-py") from error
    password = settings.index_password.get_secret_value()
    return OpenSearchTagIndex.opened(address.server, address.user, password, address.alias)


def index_rebuild(settings: Settings) -> IndexRebuild:
    """What `reelwright rebuild` works on; it needs no index that can be used."""
    address = settings.index
    if address is None:
        problem = "`sql` has no index beside the database that could be rebuilt"
        raise BadSettings("index_url", problem, "`reelwright backfill index --all` tells it everything again")
    try:
        from resources.tag_index.opensearch_rebuild import IndexRebuild
    except ImportError as error:
        raise _not_installed("index_url", "opensearch-py") from error
    password = settings.index_password.get_secret_value()
    return IndexRebuild.opened(address.server, address.user, password, address.alias)


def _not_installed(setting: str, package: str) -> BadSettings:
    return BadSettings(setting, f"needs {package}, which is not installed", "install reelwright[production]")


def alert_outlet(settings: Settings) -> Outlet:
    """Where alerts go; raises `BadSettings` for a channel that cannot be used as it is written."""
    windows = {Window.DAGSTER: settings.dagster_window, Window.API: settings.api_window}
    channel = notifier(
        settings.alerts.get_secret_value(), sender=settings.alert_from, recipients=settings.alert_to
    )
    return Outlet(channel, windows, settings.alert_repeat_hours * 3600.0)


def retention_policy(settings: Settings) -> RetentionPolicy:
    return read_or_default(settings.retention, default_retention_policy, read_retention_policy)


def storage_price(settings: Settings) -> StoragePrice | None:
    """What retention prices bytes by: the card that holds today."""
    card = price_cards(settings).on(datetime.now(UTC).date())
    return None if card is None else of_card(card)


def provider_terms(settings: Settings) -> Mapping[str, ProviderTerms]:
    """The provider list with secrets put in; the local renderer where settings say it listens."""
    read: ProviderList = read_or_default(settings.providers, default_provider_list, read_provider_list)
    terms = {name: replace(one, secret=_secret(one)) for name, one in read.providers.items()}
    if settings.renderer_url and "local" in terms:
        terms["local"] = replace(terms["local"], base_url=settings.renderer_url)
    return terms


def price_cards(settings: Settings) -> PriceCards:
    """Every card, none of which holds on a day with another; raises `BadSettings` or `BadDocument`."""
    path = settings.price_cards
    if path is None:
        return together({PRICE_CARD: default_price_card()})
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not files:
        raise BadSettings("price_cards", f"{path} holds no card", "put a card there as NAME.yaml")
    return together({str(file): read_or_default(file, default_price_card, read_price_card) for file in files})


def _secret(terms: ProviderTerms) -> str:
    if not terms.secret_env:
        return ""
    found = os.environ.get(terms.secret_env, "")
    if not found:
        raise BadSettings(
            terms.secret_env, f"provider {terms.name} needs it and it is not set", f"set {terms.secret_env}"
        )
    return found


def read_or_default(path: Path | None, default: Callable[[], Document], read: _Reader[Document]) -> Document:
    """The document at *path*, or the shipped one."""
    if path is None:
        return default()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadSettings(str(path), f"cannot be read: {error.strerror}", "name a readable file") from error
    return read(text, name=str(path))
