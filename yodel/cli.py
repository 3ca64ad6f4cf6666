"""The ``yodel`` command line.  Commands, no logic: each reads its options and calls what does the work.

A command imports what it needs when it runs: loading everything takes seconds of CPU, and ``yodel local`` starts two
processes of this program.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from yodel import __version__
from yodel.client import colocation, commands, invoking, queue_commands, queue_windows, spark_lines
from yodel.errors import InvalidValue, YodelError

if TYPE_CHECKING:
    from yodel.settings.rm import Settings
    from yodel.wiring.checks import Finding

EXIT_FAILED, EXIT_MISCONFIGURED = 1, 2
COMPLETE_VARIABLE = "_YODEL_COMPLETE"
MARKS = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}
app = invoking.Commands(
    name="yodel",
    help="A YARN ResourceManager whose containers are Kubernetes pods.\n\n"
    "Try it on this machine with [bold]yodel local[/bold]; run it for real with [bold]yodel migrate[/bold] and "
    "[bold]yodel serve[/bold]; if something does not work, run [bold]yodel check[/bold].  See what is running with "
    "[bold]yodel app[/bold], [bold]yodel node[/bold] and [bold]yodel queue[/bold].\n\n"
    "Example: yodel local --dir /tmp/yodel --ports auto",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def whole_number(text: str, *, show_default: bool | str = True) -> Any:
    """An option whose refusal names the value: Typer's own says only what it expected."""
    return typer.Option(help=text, show_default=show_default, metavar="N", parser=_whole_number)


def _whole_number(text: str | int) -> int:
    """Raises typer.BadParameter.  Typer sends defaults, which are numbers already, through here too."""
    from yodel.domain.numerals import plain

    try:
        return int(text if isinstance(text, int) else plain(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r}; expected an integer") from None


def _say_version(is_asked: bool) -> None:
    if is_asked:
        _print_version()
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version of Yodel and of Python."
        ),
    ] = False,
) -> None: ...


app.add_typer(commands.applications)
app.add_typer(commands.nodes)
app.add_typer(commands.pools)
app.add_typer(colocation.colocation)
app.add_typer(queue_windows.queues)


def _plural(name: str, group: typer.Typer, list_all: Callable[..., None]) -> None:
    """Add a group under its plural name, as users of kubectl type it; without a further word it lists."""

    def listing(context: typer.Context, server: invoking.Server = None, as_json: invoking.AsJson = False) -> None:
        if context.invoked_subcommand is None:
            list_all(server=server, as_json=as_json)

    app.add_typer(group, name=name, callback=listing, invoke_without_command=True, no_args_is_help=False, hidden=True)


_plural("apps", commands.applications, commands.list_applications)
_plural("nodes", commands.nodes, commands.list_nodes)
_plural("pools", commands.pools, commands.list_pools)
_plural("queues", queue_windows.queues, queue_commands.list_queues)


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


class PortChoice(StrEnum):
    standard = "standard"
    auto = "auto"


class DialectChoice(StrEnum):
    native = "native"
    koordinator = "koordinator"


INSTALLED_CONFIG = Path("/etc/yodel/rm.toml")
"""Where image and chart have the settings: what is asked in the pod is of the ResourceManager that serves there."""
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with settings; YODEL_… variables override it.",
        show_default=f"{INSTALLED_CONFIG}, where there is one",
    ),
]
ReadyFd = Annotated[int | None, typer.Option(hidden=True, help="Write a line here once requests are served.")]


def main() -> None:
    """The console script."""
    if COMPLETE_VARIABLE in os.environ:  # a shell asks what may come next
        from typer._completion_classes import completion_init

        completion_init()
    app()


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="The shell to complete commands in.")]) -> None:
    """Print a shell completion script for the commands and options of yodel.

    Example: source <(yodel completion bash)

    Example, for fish: yodel completion fish > ~/.config/fish/completions/yodel.fish
    """
    from typer._completion_shared import get_completion_script

    print(get_completion_script(prog_name="yodel", complete_var=COMPLETE_VARIABLE, shell=shell.value))


@app.command()
def local(
    directory: Annotated[Path, typer.Option("--dir", help="Directory for all state; created if missing.")] = Path(
        ".yodel"
    ),
    nodes: Annotated[int, whole_number("Node agents to start, 1 to 50.")] = 1,
    ports: Annotated[
        PortChoice, typer.Option(help="YARN's standard ports (8032, 8088, …), or any free ones.")
    ] = PortChoice.standard,
    memory_mib: Annotated[
        int | None, whole_number("Memory of each node, MiB.", show_default="3/4 of the machine, at most 8192")
    ] = None,
    vcores: Annotated[int | None, whole_number("Virtual cores of each node.", show_default="8")] = None,
    minimum_allocation_mib: Annotated[int, whole_number("Containers are rounded up to multiples of this, MiB.")] = 1024,
    dialect: Annotated[
        DialectChoice | None,
        typer.Option(help="Resource names that pods request.", show_default="native; with --colocation koordinator"),
    ] = None,
    colocation: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="Lend the machine's measured idle capacity: koordinator, katalyst-canonical, crane, …  "
            "The node has the size of the machine, and a vcore is a tenth of a core.",
        ),
    ] = None,
    wait_s: Annotated[int, whole_number("How long the start may take on a busy machine, 1 to 600 seconds.")] = 600,
) -> None:
    """Run a whole cluster on this machine, in the foreground, until Ctrl-C.

    It writes DIR/hadoop-conf (point HADOOP_CONF_DIR at it), DIR/kubeconfig (for kubectl), DIR/logs and, when all is up,
    DIR/ready.json (addresses, ports and pids).  Containers are processes of this machine; if yodel runs as root they
    run as the submitting user, otherwise as you.  A later start with the same DIR keeps the applications and starts the
    next attempt of unfinished ones; to start from scratch, remove DIR.

    Example: yodel local --dir /tmp/yodel --nodes 2 --ports auto

    Then:    HADOOP_CONF_DIR=/tmp/yodel/hadoop-conf spark-submit --master yarn --deploy-mode cluster job.py
    """
    from yodel.local.options import LocalOptions, size_of
    from yodel.local.quickstart import run_local, stop_on_signals
    from yodel.telemetry import logs

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # what it is written to may be on the disk that is full
            print(text, flush=True)

    async def run() -> None:
        options = LocalOptions(
            directory=directory,
            nodes=nodes,
            ports=ports.value,
            **size_of(nodes, memory_mib, vcores, colocation),
            minimum_allocation_mib=minimum_allocation_mib,
            dialect=dialect.value if dialect is not None else "native" if colocation is None else "koordinator",
            colocation=colocation,
            wait_s=wait_s,
        )
        stop = asyncio.Event()
        stop_on_signals(stop)
        await run_local(options, stop, say)

    logs.configure("warning", "console" if sys.stderr.isatty() else "json")
    _run(run)


@app.command()
def serve(
    config: Config = None,
    migrate_first: Annotated[bool, typer.Option("--migrate", help="Bring the database up to date first.")] = False,
    ready_fd: ReadyFd = None,
) -> None:
    """Run the ResourceManager: Hadoop RPC on 8032, 8030, 8031, REST on 8088.

    It needs a database (store_url) and a Kubernetes cluster (kubeconfig, or in-cluster).  Stop it with SIGTERM:
    containers keep running, and the next start takes them over.

    Every setting can also be set as a variable: YODEL_CLIENT_PORT=18032 is client_port = 18032.

    Example: yodel serve --config /etc/yodel/rm.toml
    """
    from yodel.local.quickstart import stop_on_signals
    from yodel.serving.open_files import raise_limit
    from yodel.settings.rm import load
    from yodel.store.schema import migrate_if_behind
    from yodel.telemetry import logs
    from yodel.wiring.process import run_rm

    settings = _settings(config)
    logs.configure(settings.log_level, settings.log_format)
    raise_limit()

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        if migrate_first:
            await migrate_if_behind(settings.store_url)
        await run_rm(settings, stop, on_ready=lambda _: _say_ready(ready_fd), reload=lambda: load(_config_file(config)))

    _run(run)


@app.command(name="migrate")
def migrate_command(
    config: Config = None,
    store_url: Annotated[str | None, typer.Option(help="Database; overrides the settings.")] = None,
    wait_s: Annotated[
        int,
        whole_number("Change nothing; wait up to this long for another process to do it, seconds.", show_default=False),
    ] = 0,
    database_wait_s: Annotated[
        int, whole_number("Wait up to this long for a database that does not answer yet, seconds.", show_default=False)
    ] = 0,
) -> None:
    """Bring the database up to date.  Safe to run repeatedly, and while ResourceManagers are running.

    Example: yodel migrate --config /etc/yodel/rm.toml

    Example: yodel migrate --store-url postgresql+asyncpg://yodel@db/yodel
    """
    from yodel.store.schema import look, migrate_if_behind, wait_for_answer, wait_until_usable

    url = store_url or _settings(config).store_url

    async def run() -> None:
        if wait_s > 0:
            print(f"up to date ({await wait_until_usable(url, wait_s)})")
            return
        if database_wait_s > 0:
            await wait_for_answer(url, database_wait_s, lambda line: print(line, flush=True))
        done = await migrate_if_behind(url)
        found = await look(url)
        print("\n".join(f"applied {revision}" for revision in done) or f"up to date ({found.current})")

    _run(run)


@app.command(name="client-config")
def client_config(
    host: Annotated[str, typer.Option(help="Host name or address at which clients reach the ResourceManager.")] = "",
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Write the files to this directory instead of printing them.")
    ] = None,
    config: Config = None,
    client_port: Annotated[int | None, whole_number("Client port as seen from outside, if it is not 8032.")] = None,
    scheduler_port: Annotated[int | None, whole_number("Scheduler port, if it is not 8030.")] = None,
    tracker_port: Annotated[int | None, whole_number("Resource tracker port, if it is not 8031.")] = None,
    admin_port: Annotated[int | None, whole_number("Administration port, if it is not 8033.")] = None,
    webapp_port: Annotated[int | None, whole_number("Web port, if it is not 8088.")] = None,
    web_proxy: Annotated[
        str, typer.Option(help="host:port of the web proxy that serves ApplicationMasters' pages.")
    ] = "",
    default_fs: Annotated[str, typer.Option(help="fs.defaultFS: the shared file system.")] = "file:///",
    remote_app_log_dir: Annotated[str, typer.Option(help="Where node agents put aggregated logs.")] = "/tmp/logs",
    properties: Annotated[
        list[str] | None, typer.Option("--property", help="FILE:NAME=VALUE, an additional property; may be repeated.")
    ] = None,
    only: Annotated[str, typer.Option(metavar="FILE", help="Print only this file, for redirection.")] = "",
    queue: Annotated[
        str, typer.Option(metavar="QUEUE", help="Print this queue's shuffle settings, for your spark-defaults.conf.")
    ] = "",
    onto: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --queue: merge with the JVM options and class path of this file."),
    ] = None,
    server: invoking.Server = None,
) -> None:
    """Print or write core-site.xml, yarn-site.xml and mapred-site.xml for clients of a ResourceManager.

    With --queue it prints lines for a spark-defaults.conf instead, for drivers that run outside the cluster: the
    queue's shuffle settings, requested from the ResourceManager at --server.

    Ports and limits default to those of the settings.

    Example: yodel client-config --host rm.example.org --dir ~/yodel-conf

    Example: yodel client-config --queue root.etl --onto $SPARK_HOME/conf/spark-defaults.conf >>
    $SPARK_HOME/conf/spark-defaults.conf

    Example, behind NodePorts: yodel client-config --host node1 --client-port 30032 --scheduler-port 30030
    --webapp-port 30088 --default-fs hdfs://nn:8020
    """
    from yodel.local.client_config import write_hadoop_conf
    from yodel.translator.client_config import FILES, ClientConfig, client_files, site_xml, with_properties

    if queue:
        if host or directory is not None or only:
            text = "it can be combined only with --onto and --server; without it, --host is required"
            _misconfigured(f"Invalid --queue: {text}")
        spark_lines.print_lines(queue, server, onto)
        return
    if onto is not None:
        _misconfigured("Invalid --onto: it is used only with --queue")
    if not host:
        _misconfigured("Invalid --host: ''; expected the host at which clients reach the ResourceManager, or --queue")
    if only and (only not in FILES or directory is not None):
        _misconfigured(f"Invalid --only: {only!r}; expected one of {', '.join(FILES)}, and no --dir")
    rm = _settings(config)
    written_by = f"Written by yodel client-config --host {host}"
    wanted = ClientConfig(
        host=host,
        client_port=client_port or rm.client_port,
        scheduler_port=scheduler_port or rm.scheduler_port,
        tracker_port=tracker_port or rm.tracker_port,
        admin_port=admin_port or rm.admin_port,
        webapp_port=webapp_port or rm.webapp_port,
        minimum_mib=rm.minimum_allocation_mib,
        maximum_mib=rm.maximum_allocation_mib,
        maximum_vcores=rm.maximum_allocation_vcores,
        web_proxy=web_proxy,
        default_fs=default_fs,
        is_log_aggregation_enabled=rm.log_aggregation_enable,
        remote_app_log_dir=remote_app_log_dir,
    )
    try:
        files = with_properties(client_files(wanted), properties or ())
        if directory is not None:
            write_hadoop_conf(directory, files, written_by)
            print(f"export HADOOP_CONF_DIR={directory.absolute()}")
            return
        if only:
            print(site_xml(files[only], written_by), end="")
            return
        for name, values in files.items():
            print(f"==> {name} <==\n{site_xml(values, written_by)}")
    except InvalidValue as error:
        _misconfigured(str(error))
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED) from None


@app.command()
def check(
    config: Config = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Check this machine for yodel local --dir DIR instead.")
    ] = None,
    principal: Annotated[
        str | None, typer.Option("--principal", help="Show only which user and account this Kerberos principal is.")
    ] = None,
) -> None:
    """Find common problems and show how to fix them: ports, Java, permissions, disk, Kerberos, database, Kubernetes.

    Exit status 0 if no check failed; warnings do not count.

    Example, before yodel serve: yodel check --config /etc/yodel/rm.toml

    Example, before yodel local: yodel check --dir /tmp/yodel

    Example, with Kerberos: yodel check --config /etc/yodel/rm.toml --principal alice@EXAMPLE.COM
    """
    from yodel.telemetry import logs
    from yodel.wiring import checks

    logs.configure("error", "console")  # the findings say it all
    if principal is not None and directory is not None:
        _misconfigured("Invalid --principal: it is for yodel serve, and --dir for yodel local; expected one of them")
    if config is not None and directory is not None:
        _misconfigured("Invalid --dir: it is for yodel local, and --config for yodel serve; expected only one of them")

    async def run() -> None:
        if directory:
            findings = checks.local_checks(directory.absolute())
        elif principal is not None:
            findings = checks.principal_checks(_settings(config), principal)
        else:
            findings = _serve_checks(_settings(config))
        if await _print_findings(findings):
            raise typer.Exit(EXIT_FAILED)

    _run(run)


@app.command()
def version() -> None:
    """Print the version of Yodel and of Python, for a bug report.

    Example: yodel version
    """
    _print_version()


@app.command(name="local-kubernetes", hidden=True)
def local_kubernetes(config: Annotated[Path, typer.Option("--config")], ready_fd: ReadyFd = None) -> None:
    """The small Kubernetes of ``yodel local``; started by it."""
    from yodel.local.auth import prepare_credentials
    from yodel.local.nodes import LocalNode
    from yodel.local.quickstart import stop_on_signals
    from yodel.local.server import LocalKubernetesConfig, run_local_kubernetes
    from yodel.telemetry import logs

    given = json.loads(config.read_text())
    data_dir = Path(given["data_dir"])
    credentials = prepare_credentials(data_dir)
    kubernetes = LocalKubernetesConfig(
        data_dir=data_dir,
        host=given["host"],
        port=given["port"],
        token=credentials.token,
        tls_certificate=credentials.tls_certificate,
        tls_key=credentials.tls_key,
        nodes=tuple(LocalNode(**node) for node in given["nodes"]),
        priority_classes=given["priority_classes"],
        stop_pods_on_exit=True,
        stop_grace_s=given["stop_grace_s"],
    )
    logs.configure()

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await run_local_kubernetes(kubernetes, stop, on_ready=lambda _: _say_ready(ready_fd))

    _run(run)


def _print_version() -> None:
    print(f"yodel {__version__} (Python {sys.version.split()[0]})")


def _settings(config: Path | None) -> Settings:
    from yodel.settings.rm import load

    try:
        return load(_config_file(config))
    except InvalidValue as error:
        _misconfigured(str(error))


def _config_file(said: Path | None) -> Path | None:
    return INSTALLED_CONFIG if said is None and os.access(INSTALLED_CONFIG, os.R_OK) else said


def _misconfigured(text: str) -> NoReturn:
    print(f"error: {text}", file=sys.stderr)
    raise typer.Exit(EXIT_MISCONFIGURED)


async def _serve_checks(settings: Settings) -> AsyncIterator[Finding]:
    """Yield the findings about what ``yodel serve`` needs, and if one runs already, about nodes that may have limits
    left."""
    from yodel.client.server import find_server
    from yodel.wiring import checks

    here = f"http://localhost:{settings.webapp_port}"
    url = find_server(None, {"YODEL_SERVER": here, **os.environ}, ()).url
    limits = await colocation.limits_of(url)
    async for finding in checks.run_checks(settings, is_running=limits is not None and url == here):
        yield finding
    if limits is not None:
        yield checks.limits_finding([one["kubernetes_node"] for one in limits["node_list"] if one["undo_lines"]])
    if limits is not None and limits["others_pods"]:
        yield checks.others_finding(limits["others_pods"], limits["others_nodes"])


async def _print_findings(findings: AsyncIterator[Finding]) -> bool:
    """Print findings as they come; return True if one of them is a failure."""
    failed = False
    async for finding in findings:
        print(f"{MARKS[finding.verdict.value]}  {finding.name}: {finding.text}", flush=True)
        failed = failed or finding.verdict.value == "failed"
    return failed


def _run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the work on uvloop; expected failures become one line and an exit status, bugs keep their traceback."""
    import uvloop

    try:
        uvloop.run(_unwrapped(work()))
    except InvalidValue as error:
        _misconfigured(str(error))
    except (YodelError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED) from None


async def _unwrapped(work: Awaitable[None]) -> None:
    """The first of a task group's failures as itself, when all of them are expected ones."""
    try:
        await work
    except BaseExceptionGroup as group:
        expected, bugs = group.split((YodelError, OSError, asyncio.CancelledError))
        if expected is None or bugs is not None:
            raise
        error: BaseException = expected
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def _say_ready(fd: int | None) -> None:
    if fd is not None:
        os.write(fd, b"ready\n")
        os.close(fd)
