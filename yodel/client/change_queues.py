"""Commands of ``yodel queue`` that change queues, tell what was changed, and read and write capacity-scheduler.xml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from yodel.client.invoking import AsJson, NotDone, Server, run
from yodel.client.queue_commands import queues as queues

if TYPE_CHECKING:
    from collections.abc import Callable

    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen

DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would change.")]
Reason = Annotated[str, typer.Option(help="Reason, recorded with the change.")]
Since = Annotated[
    int | None,
    typer.Option(
        "--since",
        metavar="VERSION",
        min=1,
        help="Only if the queues are at this version.",
        show_default="current version",
    ),
]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH [NAME=VALUE]...",
        help="A queue's path, then its properties; more queues may follow.  NAME= removes a property.",
    ),
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A capacity-scheduler.xml; - is standard input.")]


def send(
    server: str | None,
    make: Callable[[], tuple[str, str, JsonObject]],
    since: int | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Sends what ``make`` makes, a method, a path and a body, and tells what was changed."""

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import queue_edits

        method, path, body = make()
        found = await queue_edits.change(client, method, path, body, since=since, is_dry_run=dry_run)
        queue_edits.tell(screen, found, as_json=as_json)

    run(server, work)


@queues.command("set")
def set_queues(
    words: Words,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Change properties of queues; of several in one change if their capacities have to add up.

    Example: yodel queue set root.etl capacity=30 root.adhoc capacity=70 --reason "longer batch night"

    Example: yodel queue set root.etl maximum-capacity=50 --dry-run

    yodel.remote-shuffle.jar=@FILE is replaced by the file's absolute path and its SHA-256.
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client import queue_edits

        body = {"change": queue_edits.bodies(queue_edits.parsed(words)), "reason": reason}
        return "PATCH", "/queues", body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("create")
def create_queue(
    words: Words,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Create the first queue; the others are changed with it, so that capacities add up.

    Example: yodel queue create root.etl capacity=30 root.default capacity=70
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client import queue_edits

        first, *others = queue_edits.bodies(queue_edits.parsed(words), bare=1)
        body = {**first, "change": others, "reason": reason}
        return "POST", "/queues", body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("delete")
def delete_queue(
    words: Words,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Delete the first queue and all queues below it, which must be stopped and empty; the others are changed with it.

    Example: yodel queue set root.etl state=STOPPED

    Example: yodel queue delete root.etl root.default capacity=100
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client import queue_edits
        from yodel.errors import InvalidValue

        (path, own), *others = queue_edits.parsed(words)
        if own:
            raise InvalidValue("argument", next(iter(own)), f"no property of {path}, which is deleted")
        body = {"delete": [path], "change": queue_edits.bodies(others), "reason": reason}
        return "PATCH", "/queues", body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("move")
def move_queue(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The queue.")],
    to: Annotated[str, typer.Argument(metavar="NEW_PATH", help="Its new path; all queues below it move with it.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH NAME=VALUE...]...", help="Queues to change with it.")
    ] = None,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Move or rename a queue, which must be stopped and empty.

    Example: yodel queue move root.etl root.batch.etl root.batch.etl capacity=100
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client import queue_edits

        body = {"to": to, "change": queue_edits.bodies(queue_edits.parsed(words or [])), "reason": reason}
        address = f"/queues/{queue_edits.segment(path)}/move"
        return "POST", address, body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("history")
def queue_history(
    version: Annotated[
        int | None, typer.Argument(min=1, help="Show only this change, with all its properties.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many, newest first.")] = 20,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Show changes of the queues, newest first: version, time, author, properties and reason.

    Example: yodel queue history

    Example: yodel queue history 7
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import queue_edits

        if version is not None:
            found = await client.get(f"/queue-history/{version}")
            if as_json:
                screen.json(found)
            else:
                screen.table(queue_edits.CHANGE_HEADS, [queue_edits.change_row(one) for one in found["changes"]])
            return
        items = await client.items("/queue-history", {}, limit, page_limit=100)
        if as_json:
            screen.json(items)
        else:
            screen.table(queue_edits.HISTORY_HEADS, [queue_edits.history_row(item) for item in items])

    run(server, work)


@queues.command("revert")
def revert_queues(
    version: Annotated[int, typer.Argument(min=1, help="A version from yodel queue history.")],
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Restore the queues as they were at a version.  This is a new change, which can be reverted too.

    Example: yodel queue revert 6 --dry-run
    """

    def make() -> tuple[str, str, JsonObject]:

        address = f"/queue-history/{version}/revert"
        return "POST", address, {"reason": reason}

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("import")
def import_queues(
    file: File,
    dry_run: DryRun = False,
    leave_out_refused: Annotated[
        bool,
        typer.Option(
            "--leave-out-refused",
            help="Import the rest if properties are refused, and list the refused ones in the reason.",
        ),
    ] = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Replace the whole queue configuration with a capacity-scheduler.xml.  Each property is imported, converted or
    left out with a note, or refused with its line number; if one is refused nothing is changed, unless you give
    --leave-out-refused.

    Example: yodel queue import /etc/hadoop/conf/capacity-scheduler.xml --dry-run
    """

    def make() -> tuple[str, str, JsonObject]:
        from yodel.client import queue_edits

        if leave_out_refused:
            properties, why = queue_edits.without_refused(file, reason)
        else:
            properties, why = queue_edits.properties_in(file), reason
        body: JsonObject = {"properties": properties, "reason": why}
        return "PUT", "/queue-configuration", body

    send(server, make, since, dry_run=dry_run, as_json=as_json)


@queues.command("export")
def export_queues(server: Server = None, as_json: AsJson = False) -> None:
    """Print the whole queue configuration as a capacity-scheduler.xml, or as an object with --json.

    Example: yodel queue export > capacity-scheduler.xml
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.domain.queues.xml_file import text_of

        found = await client.get("/queue-configuration")
        if as_json:
            screen.json(found["properties"])
        else:
            print(text_of(found["properties"], f"Version {found['version']} of the queues"), end="")

    run(server, work)


@queues.command("diff")
def diff_queues(file: File, server: Server = None, as_json: AsJson = False) -> None:
    """Show how the queues differ from a capacity-scheduler.xml: BEFORE is the current value, AFTER the one in the file.
    Exit status 1 if they differ.

    Example: yodel queue diff capacity-scheduler.xml
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import queue_edits

        wanted = queue_edits.properties_in(file)
        found = queue_edits.differing((await client.get("/queue-configuration"))["properties"], wanted)
        if as_json:
            screen.json(found)
        else:
            screen.table(queue_edits.CHANGE_HEADS, [queue_edits.change_row(change) for change in found])
        if found:
            raise NotDone

    run(server, work)
