"""``yodel check``: the usual mistakes, found before they cost an hour.  Each finding says what to do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from yodel.domain.auth_to_local import NO_MATCHING_RULE, NoMatchingRule
from yodel.domain.queues.pools import NATIVE
from yodel.domain.shuffle.words import endpoints_of
from yodel.errors import InvalidValue, Unavailable, YodelError
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.host.endpoints import TcpEndpoints
from yodel.host.tickets import OwnTicket
from yodel.kube.client import KubeClient, check_reachable, open_kube
from yodel.kube.groups import require_kinds
from yodel.kube.node_status import KubeNodeStatuses
from yodel.kube.pod_driver import DriverLimits, PodDriver
from yodel.kube.retrying import RetryLimits
from yodel.local.cluster_files import closed_parents
from yodel.local.options import LocalOptions
from yodel.local.port_choice import HOST, STANDARD, is_free
from yodel.rm_rpc.asking import node_managers_by_ticket
from yodel.services.nodes.node_managers import NETWORK_IS_TRUSTED
from yodel.services.nodes.pod_trials import LOWER_CLASSES, NOT_KNOWN, tried
from yodel.settings.rm import Settings
from yodel.store.engine import parsed_url
from yodel.store.errors import SchemaNotAtHead
from yodel.store.schema import HEAD_REVISION, look
from yodel.store.stored_queues import stored_queues
from yodel.wiring.from_settings import accounts, lacking_for_colocation, os_users, pod_profiles
from yodel.wiring.kerberos import auth_to_local, kerberos_of

JAVA_MINIMUM = 17
PROBE_TIMEOUT_S = 20
ENDPOINT_QUEUES_SHOWN_MAX = 200
DISK_MINIMUM_MIB = 512
NODES_NAMED_MAX = 20
DISK_COMFORTABLE_MIB = 5 * 1024
KUBERNETES_PATIENCE = RetryLimits(attempts=2, total_s=5.0, wait_initial_s=0.2, wait_max_s=0.5)


class Verdict(Enum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    name: str
    verdict: Verdict
    text: str


async def run_checks(settings: Settings, *, is_running: bool = False) -> AsyncIterator[Finding]:
    """Yield one finding for each requirement of ``yodel serve``, as it is checked.  ``is_running``: a ResourceManager
    serves here.

    In a pod its ports are the ResourceManager's own, and containers have the Java of their image.
    """
    if not settings.own_pod_name:
        for finding in _machine_findings(settings, is_running=is_running):
            yield finding
    for finding in await kerberos_findings(settings):
        yield finding
    for finding in _store_path_findings(settings):
        yield finding
    store = await _store_finding(settings)
    yield store
    yield await _kubernetes_finding(settings)
    yield await _queues_finding(settings)
    yield await _colocation_finding(settings)
    yield node_managers_finding(settings)
    if store.verdict is Verdict.OK:
        for finding in await _shuffle_findings(settings):
            yield finding


def _machine_findings(settings: Settings, *, is_running: bool) -> Iterator[Finding]:
    for name, port in (
        ("client port", settings.client_port),
        ("scheduler port", settings.scheduler_port),
        ("tracker port", settings.tracker_port),
        ("admin port", settings.admin_port),
        ("web port", settings.webapp_port),
        *((("probe port", settings.probe_port),) if settings.probe_port is not None else ()),
    ):
        yield port_finding(name, settings.bind_host, port, is_running=is_running)
    yield java_finding()


async def principal_checks(settings: Settings, principal: str) -> AsyncIterator[Finding]:
    """Yield whom a principal is to this ResourceManager: the short name with its rule, then the account; and how its
    address answers a client with a ticket."""
    try:
        rules = await asyncio.to_thread(auth_to_local, settings, settings.security.principal)
        found = rules.short_name(principal)
    except InvalidValue as error:
        yield Finding(name="principal", verdict=Verdict.FAILED, text=f"{principal} is nobody: {error}")
        return
    how = f"by the rule {found.rule}" if found.rule else "as it is"
    yield Finding(name="principal", verdict=Verdict.OK, text=f"{principal} is the user {found.name}, {how}")
    yield await _account_finding(settings, found.name)
    if settings.security.authentication == "kerberos":
        yield await _address_finding(settings)


async def _account_finding(settings: Settings, user: str) -> Finding:
    if settings.user_mode == "single":
        text = f'containers of {user} run as the one user of user_mode = "single"'
        return Finding(name="account", verdict=Verdict.OK, text=text)
    try:
        account = await asyncio.to_thread(os_users(settings, accounts(settings)).posix_user, user)
    except YodelError as error:
        return Finding(name="account", verdict=Verdict.FAILED, text=str(error))
    text = f"containers of {user} run with uid {account.uid} and gid {account.gid}"
    return Finding(name="account", verdict=Verdict.OK, text=text)


async def _address_finding(settings: Settings) -> Finding:
    """Call the address that clients know as they do, with a ticket of the ResourceManager's own principal."""
    where = f"{settings.host}:{settings.client_port}"
    try:
        kerberos = await asyncio.to_thread(kerberos_of, settings)
        assert kerberos is not None
        assert settings.security.keytab is not None
        ticket = await asyncio.to_thread(OwnTicket, kerberos.principal, settings.security.keytab)
        nodes = await node_managers_by_ticket(settings.host, settings.client_port, ticket, os.urandom(16))
        text = f"{where} accepts a ticket of {kerberos.principal}, and answers: {nodes} nodes"
        return Finding(name="address", verdict=Verdict.OK, text=text)
    except Unavailable as error:
        text = f"{error}; if the ResourceManager is running, clients cannot reach it by the setting host"
        return Finding(name="address", verdict=Verdict.WARNING, text=text)
    except (YodelError, RemoteFault) as error:
        verdict, text = Verdict.FAILED, f"{where} refuses a ticket of {settings.security.principal}: {error}"
        if NO_MATCHING_RULE in str(error):  # it need not be anybody's user
            verdict, text = Verdict.OK, f"{where} accepts tickets, and maps {settings.security.principal} to no user"
        return Finding(name="address", verdict=verdict, text=text)


async def kerberos_findings(settings: Settings) -> list[Finding]:
    """Check what Kerberos needs, and get and judge a ticket of one's own as a client's; nothing without Kerberos."""
    try:
        kerberos = await asyncio.to_thread(kerberos_of, settings)
        if kerberos is None:
            return []
        assert settings.security.keytab is not None
        ticket = await asyncio.to_thread(OwnTicket, kerberos.principal, settings.security.keytab)
        with contextlib.suppress(NoMatchingRule):  # it need not be anybody's user
            await kerberos.acceptor.accept(ticket.token)
    except YodelError as error:
        return [Finding(name="kerberos", verdict=Verdict.FAILED, text=str(error))]
    text = f"the KDC gives tickets for {kerberos.principal}, and the keytab's key opens them"
    return [Finding(name="kerberos", verdict=Verdict.OK, text=text)]


async def local_checks(directory: Path) -> AsyncIterator[Finding]:
    """Yield one finding for each requirement of ``yodel local --dir DIRECTORY``, as it is checked.  ``directory`` is
    absolute."""
    yield directory_finding(directory)
    yield reach_finding(directory)
    yield disk_finding(directory)
    yield local_ports_finding(is_running=(directory / "ready.json").exists())
    yield java_finding()


def directory_finding(directory: Path) -> Finding:
    """It can be made and written, and its name can be part of class paths and URLs."""
    try:
        LocalOptions(directory=directory)
    except InvalidValue as error:
        return Finding(name="directory", verdict=Verdict.FAILED, text=str(error))
    if directory.exists() and not directory.is_dir():
        text = f"{directory} is not a directory: choose another --dir"
        return Finding(name="directory", verdict=Verdict.FAILED, text=text)
    if not os.access(existing_part(directory), os.W_OK | os.X_OK):
        text = f"no permission to write {existing_part(directory)}: run as its owner, or choose another --dir"
        return Finding(name="directory", verdict=Verdict.FAILED, text=text)
    return Finding(name="directory", verdict=Verdict.OK, text=f"{directory} can be written")


def reach_finding(directory: Path) -> Finding:
    """Check the folders above: as root, containers run as their submitters, who have to enter every one of them."""
    if os.geteuid() != 0:
        text = "containers run as you, because yodel does not run as root"
        return Finding(name="other users", verdict=Verdict.OK, text=text)
    if closed := closed_parents(directory):
        text = (
            f"containers of other users cannot traverse {closed[0]}: chmod o+x {closed[0]}, or choose another --dir; "
            "root's own containers can"
        )
        return Finding(name="other users", verdict=Verdict.WARNING, text=text)
    return Finding(name="other users", verdict=Verdict.OK, text=f"their containers can reach {directory}")


def disk_finding(directory: Path) -> Finding:
    """Spark's shuffle files and localized archives are below the directory."""
    free_mib = shutil.disk_usage(existing_part(directory)).free // (1024 * 1024)
    if free_mib < DISK_MINIMUM_MIB:
        text = f"{free_mib} MiB free at {directory}, at least {DISK_MINIMUM_MIB} MiB needed: free space, or move --dir"
        return Finding(name="disk", verdict=Verdict.FAILED, text=text)
    if free_mib < DISK_COMFORTABLE_MIB:
        text = f"{free_mib} MiB free at {directory}: shuffle-heavy jobs may fill it"
        return Finding(name="disk", verdict=Verdict.WARNING, text=text)
    return Finding(name="disk", verdict=Verdict.OK, text=f"{free_mib} MiB free at {directory}")


def local_ports_finding(*, is_running: bool) -> Finding:
    """A taken standard port is a warning only: ``--ports auto`` goes around it."""
    taken = sorted(port for port in STANDARD.values() if not is_free(HOST, port))
    if taken and is_running:
        text = f"{', '.join(map(str, taken))} are in use, perhaps by the yodel local that is running here"
        return Finding(name="standard ports", verdict=Verdict.WARNING, text=text)
    if taken:
        text = f"{', '.join(map(str, taken))} are in use: use --ports auto (`ss -ltnp` shows the processes)"
        return Finding(name="standard ports", verdict=Verdict.WARNING, text=text)
    return Finding(name="standard ports", verdict=Verdict.OK, text="all are free")


def existing_part(path: Path) -> Path:
    """The path itself, or the nearest folder above it that is there."""
    return next(p for p in (path, *path.parents) if p.exists())


def port_finding(name: str, host: str, port: int, *, is_running: bool = False) -> Finding:
    """A taken port is a warning only where a ResourceManager runs."""
    if not is_free(host, port) and is_running:
        text = f"{host}:{port} is in use, perhaps by the ResourceManager that is running here"
        return Finding(name=name, verdict=Verdict.WARNING, text=text)
    if not is_free(host, port):
        text = f"{host}:{port} is in use or not on this machine; `ss -ltnp 'sport = :{port}'` shows the process"
        return Finding(name=name, verdict=Verdict.FAILED, text=text)
    return Finding(name=name, verdict=Verdict.OK, text=f"{host}:{port} is free")


def java_finding() -> Finding:
    """Spark's and Hadoop's containers need a Java runtime on the node."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f" below JAVA_HOME={home}" if home else ""
        text = f"not found{where}: install one (apt-get install openjdk-17-jre-headless)"
        return Finding(name="java", verdict=Verdict.WARNING, text=text)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name="java", verdict=Verdict.WARNING, text=f"{java} does not run: {error}")
    first = next(iter((done.stderr or done.stdout).splitlines()), "(no version)")
    major = java_major(first)
    if major < JAVA_MINIMUM:
        text = f"{first} at {java}: Spark 4 needs {JAVA_MINIMUM} or later"
        return Finding(name="java", verdict=Verdict.WARNING, text=text)
    return Finding(name="java", verdict=Verdict.OK, text=f"{first} at {java}")


def java_major(line: str) -> int:
    """``openjdk version "17.0.15"`` is 17, ``java version "1.8.0_392"`` is 8; 0 when there is no number."""
    parts = line.split('"')[1].split(".") if line.count('"') >= 2 else []
    digits = [part for part in parts if part.isdigit()]
    if not digits:
        return 0
    return int(digits[1]) if digits[0] == "1" and len(digits) > 1 else int(digits[0])


def _store_path_findings(settings: Settings) -> list[Finding]:
    try:
        url = parsed_url(settings.store_url)
    except YodelError as error:
        return [Finding(name="database", verdict=Verdict.FAILED, text=str(error))]
    if not url.drivername.startswith("sqlite") or not url.database:
        return []
    directory = Path(url.database).parent
    if not os.access(existing_part(directory), os.W_OK | os.X_OK):
        text = f"no permission to write {directory}: run as its owner, or change store_url"
        return [Finding(name="database folder", verdict=Verdict.FAILED, text=text)]
    return [Finding(name="database folder", verdict=Verdict.OK, text=f"{directory} can be written")]


async def _store_finding(settings: Settings) -> Finding:
    try:
        url = parsed_url(settings.store_url)
        if url.drivername.startswith("sqlite") and not os.path.exists(str(url.database)):  # noqa: ASYNC240 - one stat
            text = f"{url.database} does not exist yet: run `yodel migrate`"  # asking its version would make the file
            return Finding(name="database", verdict=Verdict.FAILED, text=text)
        found = await look(settings.store_url)
    except (YodelError, OSError) as error:
        return Finding(name="database", verdict=Verdict.FAILED, text=str(error))
    if found.is_behind:
        text = f"schema is at {found.current or 'no revision'}, expected {HEAD_REVISION}: run `yodel migrate`"
        return Finding(name="database", verdict=Verdict.FAILED, text=text)
    if not found.is_usable:
        text = str(SchemaNotAtHead(found.current, HEAD_REVISION, found.oldest_head))
        return Finding(name="database", verdict=Verdict.FAILED, text=text)
    return Finding(name="database", verdict=Verdict.OK, text=f"schema is at {found.current}")


async def _kubernetes_finding(settings: Settings) -> Finding:
    try:
        async with await open_kube(settings.kubeconfig, settings.kube_context) as client:
            server_version = await check_reachable(client, KUBERNETES_PATIENCE)
    except (YodelError, OSError) as error:
        text = f"{error}; check that kubeconfig points to a running API server (try kubectl version)"
        return Finding(name="kubernetes", verdict=Verdict.FAILED, text=text)
    return Finding(name="kubernetes", verdict=Verdict.OK, text=f"API server answers, version {server_version}")


async def _queues_finding(settings: Settings) -> Finding:
    """Check what the queues' pods are to look like, and that the cluster knows the groups that they name."""
    try:
        found = pod_profiles(settings)
    except InvalidValue as error:
        return Finding(name="queues", verdict=Verdict.FAILED, text=str(error))
    names = ", ".join(kind.crd_name for kind in found.gang_kinds)
    try:
        async with await open_kube(settings.kubeconfig, settings.kube_context) as client:
            await require_kinds(client, found.gang_kinds, KUBERNETES_PATIENCE)
            answered = await tried(_pods(client, settings), found.all, is_compared=False)
    except InvalidValue as error:
        text = f"{error}; install the scheduler that defines it, or remove gang from the queues"
        return Finding(name="queues", verdict=Verdict.FAILED, text=text)
    except (YodelError, OSError) as error:
        text = f"cannot check whether pods can be created{f', in groups of {names}' if names else ''}: {error}"
        return Finding(name="queues", verdict=Verdict.WARNING, text=text)
    if answered.missing:
        text = f"pods cannot be created: {'; '.join(answered.missing)}; create it, or set another in queue_settings"
        return Finding(name="queues", verdict=Verdict.FAILED, text=text)
    if answered.untold:
        text = f"cannot check whether pods can be created: {'; '.join(answered.untold)}"
        return Finding(name="queues", verdict=Verdict.WARNING, text=text)
    text = f"pods can be created{f', in groups of {names}' if names else ''}"
    return Finding(name="queues", verdict=Verdict.OK, text=text)


def node_managers_finding(settings: Settings) -> Finding:
    """Report which NodeManagers may register, and what that means."""
    name, path = "NodeManagers", settings.nodes_include_path
    if settings.node_managers == "refused":
        return Finding(name=name, verdict=Verdict.OK, text='refused (node_managers = "refused")')
    if path is None:
        text = 'node_managers is "network": set nodes_include_path too, for only hosts in that file may register'
        return Finding(name=name, verdict=Verdict.FAILED, text=text)
    return Finding(name=name, verdict=Verdict.WARNING, text=f"hosts in {path} may register. {NETWORK_IS_TRUSTED}")


def _pods(client: KubeClient, settings: Settings) -> PodDriver:
    return PodDriver(client, settings.namespace, DriverLimits(retry=KUBERNETES_PATIENCE))


async def _colocation_finding(settings: Settings) -> Finding:
    """Check what is missing for colocation.  That is not a mistake: it is off unless it is wanted.

    Batch pods that would stay where services go are one, for what it takes to lend is there.
    """
    missing = lacking_for_colocation(settings)
    try:
        lent = [profile for profile in pod_profiles(settings).all if profile.dialect.name != NATIVE]
        async with await open_kube(settings.kubeconfig, settings.kube_context) as client:
            missing += await KubeNodeStatuses(client, KUBERNETES_PATIENCE).missing_rights()
            found = await tried(_pods(client, settings), lent)
    except (YodelError, OSError) as error:
        text = f"cannot check whether measured capacity can be lent: {error}"
        return Finding(name="colocation", verdict=Verdict.WARNING, text=text)
    if missing:
        text = f"measured capacity cannot be lent; missing: {'; '.join(missing)}"
        return Finding(name="colocation", verdict=Verdict.OK, text=text)
    if found.missing or found.not_below:
        why = f": {LOWER_CLASSES}" if found.not_below else ""
        text = f"measured capacity cannot be lent: {'; '.join((*found.missing, *found.not_below))}{why}"
        return Finding(name="colocation", verdict=Verdict.FAILED, text=text)
    if found.untold:
        text = f"{NOT_KNOWN}: {'; '.join(found.untold)}"
        return Finding(name="colocation", verdict=Verdict.WARNING, text=text)
    return Finding(name="colocation", verdict=Verdict.OK, text="measured capacity can be lent (yodel colocation on)")


def limits_finding(nodes: Sequence[str]) -> Finding:
    """``nodes`` are those where limits of batch pods may stand for which no agent answers."""
    if nodes:
        names = ", ".join(nodes[:NODES_NAMED_MAX]) + (", …" if len(nodes) > NODES_NAMED_MAX else "")
        text = (
            f"limits of batch pods may remain on nodes ({len(nodes)}) whose agent does not report: {names}; yodel "
            "colocation status shows why, and yodel colocation off --wait 0 what to run there"
        )
        return Finding(name="limits", verdict=Verdict.WARNING, text=text)
    text = "agents report for every node with limits of batch pods"
    return Finding(name="limits", verdict=Verdict.OK, text=text)


async def _shuffle_findings(settings: Settings) -> list[Finding]:
    """Check that the shuffle endpoints of queues accept connections from here; empty: no queue has any."""
    try:
        queues = await stored_queues(settings.store_url)
    except (YodelError, OSError) as error:
        text = f"cannot read the queues' shuffle properties: {error}"
        return [Finding(name="remote shuffle", verdict=Verdict.WARNING, text=text)]
    named: dict[tuple[str, int], list[str]] = {}
    for queue in queues:
        for endpoint in endpoints_of(queue.shuffle):
            named.setdefault(endpoint, []).append(queue.path)
    network = TcpEndpoints()
    answers = await asyncio.gather(*(network.answers(*endpoint) for endpoint in named))
    return [_endpoint_finding(*one, has_answered) for one, has_answered in zip(named.items(), answers, strict=True)]


def _endpoint_finding(endpoint: tuple[str, int], paths: list[str], has_answered: bool) -> Finding:
    address, of = f"{endpoint[0]}:{endpoint[1]}", ", ".join(paths)[:ENDPOINT_QUEUES_SHOWN_MAX]
    if has_answered:
        return Finding(name="remote shuffle", verdict=Verdict.OK, text=f"{address} of {of} answers")
    text = f"{address} of {of} does not answer: start it, or change yodel.remote-shuffle.endpoints"
    return Finding(name="remote shuffle", verdict=Verdict.WARNING, text=text)


def others_finding(pods: int, nodes: int) -> Finding:
    """Return a finding about pods that share the quota unintentionally."""
    text = (
        f"{pods} best-effort pods that are not Yodel's, on nodes ({nodes}), share the quota of batch pods; pods that "
        "request cpu do not (yodel node explain NODE counts them)"
    )
    return Finding(name="quota", verdict=Verdict.WARNING, text=text)
