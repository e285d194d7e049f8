"""Settings: one small frozen value, from an optional file and the environment; none is needed.

Belongs here: names, defaults and where each value came from. Does not belong here: opening anything
(`resources.connect`).

A value comes from the environment (`REELWRIGHT_DATABASE_URL`), else from `reelwright.yaml` beside the
caller (or the file that REELWRIGHT_SETTINGS names), else from the default.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from pipeline.documents.index_url import IndexAddress, read_index_url
from pipeline.documents.reading import read_document
from pipeline.documents.store_url import read_store_url
from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadDocument, BadSettings
from pipeline.domain.renditions import INTAKE

PREFIX = "REELWRIGHT_"
FILE = "reelwright.yaml"

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
Port = Annotated[int, Field(ge=1, le=65_535)]
WindowUrl = Annotated[
    str, StringConstraints(pattern=r"^(https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[^\s?#\\]*)?)?$")
]


class Settings(BaseModel):
    """Where things are and who acts. Secrets are masked in `repr`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path = Path(".reelwright")  #: everything a run writes lies below it
    database_url: SecretStr = SecretStr("")  #: empty: SQLite below home
    allow_unsafe_database: bool = False  #: for a database that may be lost: PostgreSQL with fsync off
    store_url: str = ""  #: empty: a folder below home; else file:///PATH or s3://BUCKET (`store_url`)
    intake_folder: Path | None = None  #: beside a bucket: a folder for briefs, instead of its `intake/`
    index_url: str = "sql"  #: sql: in the same database; else https://[USER@]HOST/ALIAS (`index_url`)
    index_password: SecretStr = SecretStr("")  #: of the user in index_url
    providers: Path | None = None  #: provider list; None: the shipped one
    moderation: Path | None = None
    profile: Path | None = None
    transforms: Path | None = None
    price_cards: Path | None = None  #: a price card, or a folder of them; None: the shipped sample
    retention: Path | None = None  #: retention policy; None: the shipped one
    reports_folder: Path | None = None  #: where finance reports go, a folder a month; None: below home
    renderer_url: str = ""  #: where the local renderer listens, if not where the provider list says
    actor: Name = "operator"  #: who acts on the command line
    dagster_port: Port = 3000
    dagster_url: WindowUrl = ""  #: where people reach Dagster's window; empty: its port on this machine
    api_port: Port = 3001
    api_url: WindowUrl = ""  #: where people reach the HTTP API; empty: its port on this machine
    alerts: SecretStr = SecretStr("log")  #: log, https://…, or smtp+starttls://… (`resources.notify`)
    alert_from: str = ""  #: of e-mail
    alert_to: str = ""  #: of e-mail; several with commas
    alert_repeat_hours: Annotated[int, Field(ge=1, le=720)] = 12  #: until what persists is told again
    delivery_logs: str = ""  #: where delivery logs come in: file:///PATH or s3://BUCKET[/PREFIX]; empty: none
    delivery_paths: str = "/="  #: PATH=KEY, with commas: how paths of viewers begin, and their keys instead
    run_log_days: Annotated[int, Field(ge=1, le=3650)] = 14  #: runs of lots and their events
    delivered_days: Annotated[int, Field(ge=1, le=3650)] = 30  #: messages that were delivered

    @model_validator(mode="after")
    def _absolute(self) -> Self:
        object.__setattr__(self, "home", self.home.expanduser().absolute())
        return self

    @property
    def database(self) -> str:
        """The database's URL, secrets and all: for opening it, never for showing it."""
        return self.database_url.get_secret_value() or f"sqlite:///{self.home}/reelwright.db"

    @property
    def bucket(self) -> Bucket | None:
        """Where the objects lie in S3; None with a local store."""
        return read_store_url(self.store_url) if self.store_url.startswith("s3://") else None

    @property
    def objects(self) -> Path:
        """The folder of the local store; with a bucket one whose `intake/` people may drop briefs into."""
        if self.bucket is not None:
            return self.intake_folder or self.home / "objects"
        if not self.store_url:
            return self.home / "objects"
        scheme, _, path = self.store_url.partition("://")
        if scheme != "file" or not path.startswith("/"):
            raise BadSettings(
                "store_url", f"{self.store_url!r} is not a local store", "use file:///PATH or s3://BUCKET"
            )
        return Path(path)

    @property
    def index(self) -> IndexAddress | None:
        """Where the tag index is; None: in the same database."""
        return read_index_url(self.index_url)

    @property
    def intake(self) -> str:
        """Where briefs are dropped, in words that a person can follow."""
        is_in_bucket = self.bucket is not None and self.intake_folder is None
        return f"{self.bucket}/{INTAKE}" if is_in_bucket else str(self.objects / INTAKE)

    @property
    def spool(self) -> Path:
        return self.home / "spool"

    @property
    def reports(self) -> Path:
        return self.reports_folder or self.home / "reports"

    @property
    def dagster_window(self) -> str:
        """The base of links into Dagster's window, without a slash at its end."""
        return self.dagster_url.rstrip("/") or f"http://127.0.0.1:{self.dagster_port}"

    @property
    def api_window(self) -> str:
        """The base of links to the HTTP API, without a slash at its end."""
        return self.api_url.rstrip("/") or f"http://127.0.0.1:{self.api_port}"


def read_settings(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Settings from *environment* and the settings file; raises `BadSettings` that names the setting."""
    environment = os.environ if environment is None else environment
    path = Path(environment.get(f"{PREFIX}SETTINGS") or (folder or Path.cwd()) / FILE)
    written = _from_file(path, is_named=f"{PREFIX}SETTINGS" in environment)
    named = {
        name: environment[PREFIX + name.upper()]
        for name in Settings.model_fields
        if environment.get(PREFIX + name.upper())
    }
    try:
        return Settings(**({"actor": _login()} | written | named))
    except ValueError as error:
        raise _bad(error, named, path) from error


def _from_file(path: Path, *, is_named: bool) -> dict[str, Any]:
    if not path.is_file():
        if is_named:
            raise BadSettings(f"{PREFIX}SETTINGS", f"{path} is no file", "name a YAML file, or unset it")
        return {}
    try:
        read = read_document(Settings, path.read_bytes(), name=str(path))
    except BadDocument as error:
        raise BadSettings(str(path), "; ".join(map(str, error.faults)), error.remedy) from error
    return {name: getattr(read, name) for name in read.model_fields_set}


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"


def _bad(error: ValueError, named: Mapping[str, str], path: Path) -> BadSettings:
    first: Any = error.errors()[0] if hasattr(error, "errors") else {"loc": ("settings",), "msg": error}
    setting = ".".join(map(str, first["loc"])) or "settings"
    source = f"{PREFIX}{setting.upper()}" if setting in named else f"{path}: {setting}"
    return BadSettings(source, str(first["msg"]), f"correct or remove {source}")
