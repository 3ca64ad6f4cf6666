"""``yodel-nm`` and ``python -m nm_plugin``: run the node agent of this machine."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import structlog
import typer

from nm_plugin.app import NodeAgent
from nm_plugin.capacity.bounds import StaleMount
from nm_plugin.from_settings import node_token
from nm_plugin.host.address import address_in
from nm_plugin.rpc.tracker import ShutdownOrdered
from nm_plugin.settings import Settings, load
from yodel.errors import InvalidValue
from yodel.serving.open_files import raise_limit
from yodel.telemetry import logs

EXIT_MISCONFIGURED = 2
EXIT_SHUTDOWN_ORDERED = 3
EXIT_STALE_MOUNT = 4


def main() -> None:
    """The console script."""
    typer.run(run)


def run(
    config: Annotated[Path | None, typer.Option(help="TOML file with settings")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="name=value, overrides file and environment")] = None,
) -> None:
    """Serve this node until SIGTERM; containers go on without the agent."""
    try:
        settings = load(config, _overrides(set_ or []))
        if settings.host_cidr:
            settings = settings.model_copy(update={"host": address_in(settings.host_cidr)})
        node_token(settings)  # a secret that cannot be used is told now, not at the first connection
    except InvalidValue as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_MISCONFIGURED) from None
    logs.configure(settings.log_level, settings.log_format)
    raise_limit()
    try:
        asyncio.run(serve(settings))
    except ShutdownOrdered as error:
        structlog.get_logger(__name__).error("shutdown_ordered", reason=str(error))
        raise typer.Exit(EXIT_SHUTDOWN_ORDERED) from None
    except StaleMount as error:
        structlog.get_logger(__name__).error("stale_mount", reason=str(error))
        raise typer.Exit(EXIT_STALE_MOUNT) from None


async def serve(settings: Settings) -> None:
    """Until SIGTERM or SIGINT.  Raises ShutdownOrdered, StaleMount."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await NodeAgent(settings).run()
    except asyncio.CancelledError:
        structlog.get_logger(__name__).info("node_agent_stopped")


def _overrides(pairs: list[str]) -> dict[str, str]:
    """Raises InvalidValue."""
    result = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or name not in Settings.model_fields:
            raise InvalidValue("--set", pair, "name=value with the name of a setting")
        result[name] = value
    return result


if __name__ == "__main__":
    main()
