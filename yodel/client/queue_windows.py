"""``yodel queue window …``: when a queue may hold less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from yodel.client.change_queues import DryRun, Reason, Since, send
from yodel.client.change_queues import queues as queues
from yodel.client.invoking import AsJson, Commands, Server, run
from yodel.domain.numerals import plain

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen

windows = Commands(
    name="window",
    help="Schedules on which a queue has a lower maximum.\n\nExample: yodel queue window list root.etl",
)
queues.add_typer(windows)
Path = Annotated[str, typer.Argument(metavar="QUEUE", help="A queue's path, or its name if that is unique.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The window's name.")]


def _whole(text: str | int) -> int:
    """Parse ASCII digits.  Typer passes defaults, which are numbers already, through here too."""
    try:
        return int(text if isinstance(text, int) else plain(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r}; expected an integer") from None


def _decimal(text: str | float) -> float:
    try:
        return float(text if isinstance(text, int | float) else plain(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r}; expected a number") from None


HEADS = ("WINDOW", "CRON", "ZONE", "SECONDS", "MAXIMUM", "STOP_NEW_BEFORE", "STAGES", "NOW")


@windows.command("ls", hidden=True)
@windows.command("list")
def list_windows(path: Path, server: Server = None, as_json: AsJson = False) -> None:
    """List the windows of a queue, and which are open.

    Example: yodel queue window list root.etl
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client.queue_edits import segment

        items = (await client.get(f"/queues/{segment(path)}/windows"))["items"]
        if as_json:
            screen.json(items)
        else:
            screen.table(HEADS, [window_row(item) for item in items])

    run(server, work)


@windows.command("add")
def add_window(
    path: Path,
    name: Name,
    cron: Annotated[str, typer.Argument(metavar="CRON", help="When it opens: five crontab(5) fields, quoted.")],
    duration: Annotated[int, typer.Option(help="How long it stays open, seconds.", parser=_whole, metavar="N")],
    maximum: Annotated[
        float,
        typer.Option(
            help="The queue's maximum while it is open, in percent of the parent's maximum.",
            parser=_decimal,
            metavar="PERCENT",
        ),
    ],
    time_zone: Annotated[str, typer.Option(help="Time zone of CRON, e.g. Europe/Berlin.")] = "UTC",
    stop_new_before: Annotated[
        int,
        typer.Option(help="Start no new containers this long before it opens, seconds.", parser=_whole, metavar="N"),
    ] = 0,
    stages: Annotated[
        int,
        typer.Option(
            help="Number of steps in which excess usage is preempted; 0: do not preempt.", parser=_whole, metavar="N"
        ),
    ] = 4,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Create a window.

    Example: yodel queue window add root.etl office "0 8 * * 1-5" --duration 36000 --maximum 20
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client.queue_edits import segment

        body = {
            "name": name,
            "cron": cron,
            "time_zone": time_zone,
            "duration_s": duration,
            "maximum_capacity_percent": maximum,
            "stop_new_before_s": stop_new_before,
            "give_back_stages": stages,
            "reason": reason,
        }
        return "POST", f"/queues/{segment(path)}/windows", body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@windows.command("remove")
def remove_window(
    path: Path,
    name: Name,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Remove a window.

    Example: yodel queue window remove root.etl office
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import queue_edits

        address = f"/queues/{queue_edits.segment(path)}/windows/{queue_edits.segment(name)}"
        params = {"reason": reason} if reason else {}
        found = await queue_edits.change(
            client, "DELETE", address, None, since=since, is_dry_run=dry_run, params=params
        )
        queue_edits.tell(screen, found, as_json=as_json)

    run(server, work)


def window_row(window: JsonObject) -> list[str]:
    """Under HEADS."""
    from yodel.client.show_queues import window_now

    return [
        window["name"],
        window["cron"],
        window["time_zone"],
        str(window["duration_s"]),
        f"{window['maximum_capacity_percent']:g}%",
        str(window["stop_new_before_s"]),
        str(window["give_back_stages"]),
        window_now(window),
    ]
