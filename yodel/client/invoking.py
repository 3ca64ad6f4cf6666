"""Shares what all commands of a ResourceManager have in common: options, choice of the server, handling of failures."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from yodel.errors import InvalidValue, NotFound, YodelError

if TYPE_CHECKING:
    from yodel.client.api import RmClient
    from yodel.client.show import Screen

EXIT_FAILED, EXIT_MISUSED = 1, 2
Function = TypeVar("Function", bound=Callable[..., Any])
WHERE = (
    "\n\nThe ResourceManager's address is taken from --server, $YODEL_SERVER, yarn-site.xml in $HADOOP_CONF_DIR, or "
    "your running yodel local, in this order; the default is http://localhost:8088.  Your user name is "
    "$HADOOP_USER_NAME, or your login."
)

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Web address of the ResourceManager.  Default: $YODEL_SERVER, $HADOOP_CONF_DIR, your yodel local, or "
        "http://localhost:8088.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _without_python_types(params: list[Any]) -> list[Any]:
    """Name an option's value after the option, where Typer would show ``<list[str]>``, or ``<bool>`` of a switch; an
    argument has its name already."""
    for param in params:
        if isinstance(param, TyperArgument):
            if not param.type_descriptor.is_choice:
                param.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
        elif param.metavar is None and param.is_flag:
            param.metavar = ""
        elif param.metavar is None and param.type_descriptor.is_ranged:
            param.metavar = "N"
        elif param.metavar is None and param.type_descriptor.annotation in (str, list[str]):
            param.metavar = param.opts[0].lstrip("-").upper()
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_python_types(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_python_types(super().get_params(ctx))


class Commands(typer.Typer):
    """A group of commands whose help is the docstring of each, with lines as long as the terminal is wide."""

    def __init__(self, **options: Any) -> None:
        super().__init__(no_args_is_help=True, rich_markup_mode="rich", cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            text = inspect.cleandoc(function.__doc__ or "")
            help_ = "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in text.split("\n\n"))
            return super(Commands, self).command(name, **{"help": help_, "cls": _Command, **options})(function)

        return register


class NotDone(Exception):
    """All has been said; the exit status is 1."""


def run(option: str | None, work: Callable[[RmClient, Screen], Coroutine[Any, Any, None]]) -> None:
    """Expected failures become one line with what to do, and an exit status; bugs keep their traceback."""
    from yodel.client.api import ApiRefused, RmClient, admin_token, caller
    from yodel.client.server import find_server
    from yodel.client.show import Screen, hint
    from yodel.errors import Unavailable
    from yodel.local import running

    asked = ""

    async def whole() -> None:
        nonlocal asked
        is_named = option is not None or "YODEL_SERVER" in os.environ
        server = find_server(option, os.environ, () if is_named else running.running_locals())
        # A token goes only to a server that was named for it: not to whatever runs on this machine.
        token = admin_token() if is_named else ""
        told = f"Server: {server.url} ({server.origin})"
        async with RmClient(server.url, caller(), token=token, changed=lambda: hint(told)) as client:
            asked = f"\n  {told}"
            await work(client, Screen())

    try:
        asyncio.run(whole())
    except (NotDone, KeyboardInterrupt):
        raise typer.Exit(EXIT_FAILED) from None
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has seen enough, and nothing is to be said about it at exit
        raise typer.Exit(EXIT_FAILED) from None
    except (YodelError, OSError) as error:
        hint(f"error: {error}{asked if isinstance(error, (ApiRefused, NotFound, Unavailable)) else ''}")
        is_misuse = isinstance(error, InvalidValue) or (isinstance(error, ApiRefused) and error.status == 400)
        raise typer.Exit(EXIT_MISUSED if is_misuse else EXIT_FAILED) from None
