"""The ``yodel`` command line.  Commands, no logic: each reads its options and calls what does the work."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from pydantic import ValidationError
from rich.console import Console

from yodel import __version__, checks
from yodel.app import run_rm
from yodel.errors import YodelError
from yodel.local.auth import prepare_credentials
from yodel.local.nodes import LocalNode
from yodel.local.quickstart import LocalOptions, default_memory_mib, run_local, stop_on_signals
from yodel.local.server import LocalKubernetesConfig, run_local_kubernetes
from yodel.local.supervisor import ChildFailed
from yodel.settings import Settings, load
from yodel.store.schema import current_and_head, migrate_if_behind
from yodel.telemetry import logs

EXIT_FAILED, EXIT_MISCONFIGURED = 1, 2
app = typer.Typer(
    name="yodel",
    help="A YARN ResourceManager whose containers are Kubernetes pods.\n\n"
    "Try it on this machine with [bold]yodel local[/bold]; run it for real with [bold]yodel serve[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
err = Console(stderr=True, highlight=False)


class PortChoice(StrEnum):
    standard = "standard"
    auto = "auto"


class Dialect(StrEnum):
    native = "native"
    koordinator = "koordinator"


Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings; YODEL_… variables override it.")
]
ReadyFd = Annotated[int | None, typer.Option(hidden=True, help="Write a line here once requests are served.")]


def main() -> None:
    """The console script."""
    app()


@app.command()
def local(
    directory: Annotated[Path, typer.Option("--dir", help="Where everything is kept; made when missing.")] = Path(
        ".yodel"
    ),
    nodes: Annotated[int, typer.Option(help="Node agents to start.")] = 1,
    ports: Annotated[
        PortChoice, typer.Option(help="YARN's standard ports (8032, 8088, …), or any free ones.")
    ] = PortChoice.standard,
    memory_mib: Annotated[int | None, typer.Option(help="Memory of each node, MiB.")] = None,
    vcores: Annotated[int, typer.Option(help="Virtual cores of each node.")] = 8,
    minimum_allocation_mib: Annotated[
        int, typer.Option(help="Containers are rounded up to multiples of this, MiB.")
    ] = 1024,
    dialect: Annotated[Dialect, typer.Option(help="Resources that pods ask for.")] = Dialect.native,
) -> None:
    """Run a whole cluster on this machine, in the foreground, until Ctrl-C.

    It writes DIR/hadoop-conf (point HADOOP_CONF_DIR at it), DIR/kubeconfig (for kubectl) and DIR/ready.json (addresses,
    ports and pids).  Containers are processes of this machine, run as the user who submits them when yodel is root.

    Example: yodel local --dir /tmp/yodel --nodes 2 --ports auto
    """
    memory = memory_mib if memory_mib is not None else default_memory_mib(nodes)

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        options = LocalOptions(
            directory=directory,
            nodes=nodes,
            ports=ports.value,
            memory_mib=memory,
            vcores=vcores,
            minimum_allocation_mib=minimum_allocation_mib,
            dialect=dialect.value,
        )
        await run_local(options, stop, lambda text: print(text, flush=True))

    logs.configure("warning", "console" if sys.stderr.isatty() else "json")
    _run(run)


@app.command()
def serve(
    config: Config = None,
    migrate_first: Annotated[bool, typer.Option("--migrate", help="Bring the database up to date first.")] = False,
    ready_fd: ReadyFd = None,
) -> None:
    """Run the ResourceManager: Hadoop RPC on 8032, 8030, 8031, REST on 8088.

    It needs a database (store_url) and a Kubernetes (kubeconfig, or in-cluster).  Stop it with SIGTERM: containers go
    on running, and the next start takes them over.

    Example: yodel serve --config /etc/yodel/rm.toml
    """
    settings = _settings(config)
    logs.configure(settings.log_level, settings.log_format)

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        if migrate_first:
            await migrate_if_behind(settings.store_url)
        await run_rm(settings, stop, on_ready=lambda _: _say_ready(ready_fd))

    _run(run)


@app.command(name="migrate")
def migrate_command(
    config: Config = None,
    store_url: Annotated[str | None, typer.Option(help="Database; overrides the settings.")] = None,
) -> None:
    """Bring the database up to date.  Safe to run twice, and while ResourceManagers run.

    Example: yodel migrate --store-url postgresql+asyncpg://yodel@db/yodel
    """
    url = store_url or _settings(config).store_url

    async def run() -> None:
        done = await migrate_if_behind(url)
        _, head = await current_and_head(url)
        print("\n".join(f"applied {revision}" for revision in done) or f"up to date ({head})")

    _run(run)


@app.command()
def check(config: Config = None) -> None:
    """Look for the usual mistakes and say how to mend each: ports, Java, permissions, database, Kubernetes.

    Exit status 0 when nothing stands in the way.
    """
    settings = _settings(config)

    async def run() -> None:
        failed = False
        async for result in checks.run_checks(settings):
            mark = {checks.Verdict.OK: "[green]ok[/]", checks.Verdict.WARNING: "[yellow]warning[/]"}.get(
                result.verdict, "[red]failed[/]"
            )
            Console(highlight=False).print(f"{mark}  {result.name}: {result.text}")
            failed = failed or result.verdict is checks.Verdict.FAILED
        if failed:
            raise typer.Exit(EXIT_FAILED)

    _run(run)


@app.command()
def version() -> None:
    """Print the version."""
    print(f"yodel {__version__}")


@app.command(name="local-kubernetes", hidden=True)
def local_kubernetes(config: Annotated[Path, typer.Option("--config")], ready_fd: ReadyFd = None) -> None:
    """The small Kubernetes of ``yodel local``; started by it."""
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
        stop_pods_on_exit=True,
    )
    logs.configure()

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await run_local_kubernetes(kubernetes, stop, on_ready=lambda _: _say_ready(ready_fd))

    _run(run)


def _settings(config: Path | None) -> Settings:
    try:
        return load(config)
    except (YodelError, ValidationError) as error:
        err.print(f"[red]error[/]: {error}", markup=True)
        raise typer.Exit(EXIT_MISCONFIGURED) from None


def _run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On uvloop; expected failures become one line and an exit status, bugs keep their traceback."""
    try:
        uvloop.run(_unwrapped(work()))
    except (YodelError, ChildFailed, OSError) as error:
        err.print(f"error: {error}", markup=False)
        raise typer.Exit(EXIT_FAILED) from None


async def _unwrapped(work: Awaitable[None]) -> None:
    """A task group's only failure, as itself."""
    try:
        await work
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1 and isinstance(group.exceptions[0], YodelError | OSError):
            raise group.exceptions[0] from None
        raise


def _say_ready(fd: int | None) -> None:
    if fd is not None:
        os.write(fd, b"ready\n")
        os.close(fd)
