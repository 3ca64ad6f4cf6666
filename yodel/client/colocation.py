"""``yodel colocation …`` and ``yodel node explain``: measured capacity is lent, or not, and why it is that much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from yodel.client.change_queues import DryRun, Reason, Since
from yodel.client.commands import nodes
from yodel.client.invoking import AsJson, Commands, NotDone, Server, run
from yodel.errors import InvalidValue, Unavailable

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen

colocation = Commands(
    name="colocation",
    help="Lend measured idle capacity of nodes to batch containers: enable, disable and inspect it.\n\n"
    "Example: yodel colocation on --preset koordinator",
)
PREFIX = "yodel.colocation."
VICTIM_HEADS = ("CONTAINER", "QUEUE", "SIZE", "REASON")
NODE_HEADS = ("KUBERNETES NODE", "STATE", "PUBLISHED", "REQUESTED", "REASON")
LIMITS_HEADS = ("KUBERNETES NODE", "LIMITS", "GROUPS", "CLEANED UP", "REASON")
LOOK_S = 1.0
WAIT_MAX_S = 3600
CONFIRMED, ENFORCED = "UNDONE", "ENFORCED"
GONE = ("OFF", "OTHER", "YIELDED")
"""States of nodes in whose status nothing is ours."""


@colocation.command("status")
def status(server: Server = None, as_json: AsJson = False) -> None:
    """Show whether colocation is enabled, its policy, the lent capacity, and each node that is not simply LENDING.

    Example: yodel colocation status
    """

    async def work(client: RmClient, screen: Screen) -> None:
        found = await client.get("/colocation")
        if as_json:
            screen.json(found)
        else:
            _tell(found, screen)

    run(server, work)


@colocation.command("on")
def switch_on(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="Policy options, e.g. cpu.kept-milli=2000; NAME= removes one."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="koordinator, katalyst-canonical, crane, … or static.")] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Resource names to publish; needed only if queues use several dialects.")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            help="Change no policy: publish on this node again, which is YIELDED or OTHER.", show_default=False
        ),
    ] = None,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Enable colocation.  Options that you do not give keep their current value.

    Example: yodel colocation on --preset crane cpu.kept-milli=2000 --reason "two cores for bursts"

    Example: yodel colocation on --node node-1
    """
    if node is not None and (words or preset or dialect or dry_run):
        raise typer.BadParameter("a node takes no policy", param_hint="--node")

    async def work(client: RmClient, screen: Screen) -> None:
        if node is not None:
            from yodel.client.commands import node_id, segment

            found, _ = await client.call("POST", f"/nodes/{segment(await node_id(client, node))}/publish")
            if as_json:
                screen.json(found)
            return
        said: dict[str, str | None] = {**_numbers(words or []), "enabled": "true"}
        said |= {name: value for name, value in (("preset", preset), ("dialect", dialect)) if value is not None}
        await _change(client, screen, said, reason, since, dry_run=dry_run, as_json=as_json)

    run(server, work)


@colocation.command("off")
def switch_off(
    now: Annotated[bool, typer.Option("--now", help="Also stop the containers that run on lent capacity.")] = False,
    grace_period: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=WAIT_MAX_S,
            help="With --now: wait this long first, and stop only the containers that are still running.",
        ),
    ] = 0,
    wait: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=WAIT_MAX_S,
            help="Wait until nothing is left: resource names in node statuses, limits of pods; print the commands "
            "for nodes where something remains (exit status 1).",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    reason: Reason = "",
    since: Since = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Disable colocation.  No new capacity is lent; published amounts shrink as batch pods end and are removed with the
    last one.  With --now the pods are stopped first (PREEMPTED).  Node agents remove the limits of batch pods.

    Example: yodel colocation off --wait 60 --reason "quarter's end"

    Example: yodel colocation off --now --grace-period 300 --wait 60
    """
    if grace_period and not now:
        raise typer.BadParameter("a grace period needs --now", param_hint="--grace-period")

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        try:
            await _change(client, screen, {"enabled": "false"}, reason, since, dry_run=dry_run, as_json=as_json)
        except Unavailable:
            if wait is not None and not as_json:
                _tell_lines_for_any_node(screen)
            raise
        if dry_run:
            return
        leaving = _Leaving(client, screen, await client.get("/colocation"), as_json=as_json)
        if now and not await leaving.wait(grace_period):
            await leaving.end_containers()
        found = leaving.found
        if wait is None and not as_json and found["node_list"]:
            screen.line("")
            screen.table(NODE_HEADS, [_node_row(node, found["units"]) for node in found["node_list"]])
        if wait is None and found["limits"]["nodes_by_limits_state"]:
            show.hint("Node agents are removing limits: see yodel colocation status, or wait for them with --wait.")
        if wait is not None and not await leaving.wait(wait):
            leaving.tell_what_is_left()
            raise NotDone

    run(server, work)


@colocation.command("measure")
def measure(
    service: Annotated[str, typer.Option("--service", metavar="URL", help="The service: a URL that answers GET.")],
    rate: Annotated[float, typer.Option("--rate", metavar="N", min=1, max=500, help="Requests a second.")],
    queue: Annotated[str, typer.Option("--queue", metavar="QUEUE", help="The queue whose batch runs meanwhile.")],
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", min=1, max=240, help="How long it may take.")
    ] = 15,
    stop_containers: Annotated[
        bool,
        typer.Option(
            "--stop-containers",
            help="Also measure without batch: stops all containers on lent capacity (PREEMPTED), once a round.",
        ),
    ] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Measure a service's latency with colocation off, on, and on with limits and quota, in turn.

    The service only gets requests. Properties of colocation are changed, and restored in the end; jobs of the queue
    have to be running, or waiting for capacity. Exit status 1 if no round counts.

    Example: yodel colocation measure --service http://shop.example/ --rate 50 --queue root.batch --stop-containers
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from dataclasses import asdict

        from yodel.client import measuring, show
        from yodel.client.service_load import ServiceLoad

        wanted = measuring.Wanted(queue=queue, rate=rate, minutes=minutes, stops_containers=stop_containers)
        async with ServiceLoad(service) as load:
            found = await measuring.measure(client, load, wanted, show.hint)
        if as_json:
            screen.json([asdict(one) for one in found])
        else:
            screen.table(measuring.HEADS, measuring.rows(found))
            for line in measuring.verdicts(found):
                screen.line(line)
        if all(one.problems for one in found):
            raise NotDone

    run(server, work)


@colocation.command("evict")
def evict(
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="host:port of its agent, the host alone, or its name in Kubernetes.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="CPU,MEMORY", help="What batch may keep on the node, e.g. 2,4Gi; nothing by default."
        ),
    ] = "0,0",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="End an eviction: the node may lend as before.")] = False,
    dry_run: DryRun = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Reclaim a node's lent capacity: preempt batch containers in order, with notice, and show which and why.

    No new container starts on the node until usage fits, and for a minute after that, or until --withdraw. A restart
    of the ResourceManager changes nothing about that.

    Example: yodel colocation evict node-1 --to 2,4Gi --dry-run
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client.commands import node_id, segment

        path = f"/nodes/{segment(await node_id(client, node))}/evict"
        if withdraw:
            await client.call("DELETE", path)
            return
        asked = {"dry_run": "true"} if dry_run else {}
        found, _ = await client.call("POST", path, params=asked, body=_left(to))
        if as_json:
            screen.json(found)
        else:
            _tell_victims(found, screen, is_dry_run=dry_run)

    run(server, work)


@nodes.command("explain")
def explain_node(
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="host:port of its agent, the host alone, or its name in Kubernetes.")
    ],
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Explain a node's lent capacity: what was measured, each term and step, what is published and what is requested.

    The terms add up to the input of the first step; the input of each further step is the result of the one before.

    Example: yodel node explain node-1
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client.commands import node_id, segment

        found = await client.get(f"/nodes/{segment(await node_id(client, node))}/capacity")
        if as_json:
            screen.json(found)
            return
        for line in explained(found):
            screen.line(line)

    run(server, work)


def explained(found: JsonObject) -> list[str]:
    """A node's capacity, line by line."""
    age = "" if found["age_ms"] is None else f", read {found['age_ms'] / 1000:.1f} s ago"
    lines = [f"{found['kubernetes_node']} is {found['state']}: {found['why']}."]
    if found["source"] is not None:
        lines.append(f"source: {found['source']}{age}, policy {found['policy_version']}")
    lines += [f"problem: {problem}" for problem in found["problems"]]
    if found["emergency"] is not None:
        lines.append(f"low memory: {found['emergency']['reason']}")
        lines += [f"  {container} was stopped because of it" for container in found["emergency"]["containers"]]
    for one in found["resources"]:
        lines += ["", *_resource_lines(one)]
    if found["pressure"] is not None:
        share, source = found["pressure"]["some_percent"], found["pressure"]["source"]
        lines += ["", f"CPU pressure of online pods: {share:.2f} % of the last 10 s ({source})"]
    if found["bounds"]:
        lines += ["", "limits of batch pods (-1: no limit)"]
        lines += [_bound_line(one) for one in found["bounds"]]
    lines += [f"{one['name']}: {one['amount']}" for one in found["counts"]]
    return lines


def _bound_line(one: JsonObject) -> str:
    written, read = ("-" if one[name] is None else one[name] for name in ("written", "read"))
    whose = one["container"] or "all best-effort pods"
    line = f"  {whose} {one['file']}: decided {one['decided']}, written {written}, read {read}"
    back = f", overwritten and restored {one['overwrites']} times" if one["overwrites"] else ""
    return line + back + (f" ({one['why']})" if one["why"] else "")


def _resource_lines(one: JsonObject) -> list[str]:
    from yodel.translator.quantities import quantity

    own = "Mi" if one["resource"] == "memory_mib" else "m"
    lines = [one["name"]]
    if one["measured"]:
        figures = (f"{figure['name']} {quantity(figure['amount'], own)}" for figure in one["measured"])
        lines.append("  measured: " + ", ".join(figures))
    lines += [f"  {quantity(term['amount'], own, '+'):>16} {term['name']}: {term['why']}" for term in one["terms"]]
    if one["terms"]:
        lines.append(f"  {quantity(sum(term['amount'] for term in one['terms']), own):>16} sum")
    lines += [f"  {quantity(step['after'], step['unit']):>16} {step['name']}: {step['why']}" for step in one["steps"]]
    published = "none" if one["published"] is None else quantity(one["published"], one["unit"])
    lines.append(f"  {published:>16} published, {quantity(one['requested'], one['unit'])} requested by pods")
    if one["published"] != one["wanted"]:
        wanted = "none" if one["wanted"] is None else quantity(one["wanted"], one["unit"])
        lines.append(f"  {wanted:>16} to be published")
    return lines


async def _change(
    client: RmClient,
    screen: Screen,
    said: dict[str, str | None],
    reason: str,
    since: int | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    from yodel.client import queue_edits

    body = {"scheduler": {PREFIX + name: value for name, value in said.items()}, "reason": reason}
    found = await queue_edits.change(client, "PATCH", "/queues", body, since=since, is_dry_run=dry_run)
    queue_edits.tell(screen, found, as_json=as_json)


async def limits_of(server: str) -> JsonObject | None:
    """Return the known state of limits; None: no ResourceManager there reports it."""
    from yodel.client.api import RmClient, caller
    from yodel.errors import YodelError

    try:
        async with RmClient(server, caller()) as client:
            limits: JsonObject = (await client.get("/colocation"))["limits"]
    except YodelError:
        return None
    return limits


class _Leaving:
    """Colocation that is off, until nothing is left of it: names in the status of nodes, or limits of batch pods."""

    def __init__(self, client: RmClient, screen: Screen, found: JsonObject, *, as_json: bool) -> None:
        self._client, self._screen, self._as_json = client, screen, as_json
        self.found = found
        """As the ResourceManager told it last."""
        self._is_ending = False
        self._told: set[str] = set()
        self._published = _published(found)

    async def wait(self, seconds: int) -> bool:
        """Print each node when it is done; return True if all were in time."""
        import asyncio
        import contextlib
        import time

        end_s = time.monotonic() + seconds
        while True:
            self._tell_what_is_done()
            left_s = end_s - time.monotonic()
            if self._is_done or left_s <= 0:
                return self._is_done
            await asyncio.sleep(min(LOOK_S, left_s))
            with contextlib.suppress(Unavailable):  # another one may take over meanwhile
                if self._is_ending:  # a pod that waited for room may have found it
                    await self._client.post("/colocation/end-containers", {})
                self.found = await self._client.get("/colocation")

    async def end_containers(self) -> None:
        from yodel.client import show

        self._is_ending = True
        ended = await self._client.post("/colocation/end-containers", {})
        show.hint(f"Stopping {show.counted(ended['containers'])}.")
        self.found = await self._client.get("/colocation")

    def tell_what_is_left(self) -> None:
        if self._as_json:
            return
        nodes = [node for node in self.found["node_list"] if node["state"] not in GONE]
        limits = [node for node in self.found["limits"]["node_list"] if node["limits_state"] != CONFIRMED]
        for line in (*_unpublishing(nodes), *undoing(limits)):
            self._screen.line(line)
        if not self.found["node_counts"]:
            self._screen.line("The ResourceManager has not seen any Kubernetes node yet.")
        if (more := self._standing - len(nodes)) > 0:
            self._screen.line(f"{more} more nodes still publish resources.")
        if (more := self._unconfirmed - len(limits)) > 0:
            self._screen.line(f"{more} more nodes have not confirmed.")

    @property
    def _is_done(self) -> bool:
        """A ResourceManager that has just started has not seen the nodes yet."""
        return bool(self.found["node_counts"]) and not self._standing and not self._unconfirmed

    @property
    def _standing(self) -> int:
        return sum(count for state, count in self.found["node_counts"].items() if state not in GONE)

    @property
    def _unconfirmed(self) -> int:
        counts = self.found["limits"]["nodes_by_limits_state"]
        return sum(count for state, count in counts.items() if state != CONFIRMED)

    def _tell_what_is_done(self) -> None:
        before, self._published = self._published, _published(self.found)
        if self._as_json:
            return
        for name in before - self._published:
            self._screen.line(f"{name}: nothing is published anymore.")
        for node in self.found["limits"]["node_list"]:
            if node["limits_state"] == CONFIRMED and node["kubernetes_node"] not in self._told:
                self._told.add(node["kubernetes_node"])
                self._screen.line(f"{node['kubernetes_node']}: cleaned up at {_confirmed(node)}.")


def _published(found: JsonObject) -> set[str]:
    return {node["kubernetes_node"] for node in found["node_list"] if node["published"]}


def _tell_lines_for_any_node(screen: Screen) -> None:
    """Nobody can say which nodes they are for."""
    from yodel.translator.undo_lines import undo_lines, unpublish_lines

    screen.line("No ResourceManager answers. To remove published resources from node statuses, with kubectl:")
    for line in unpublish_lines():
        screen.line(f"  {line}")
    screen.line("To remove limits, as root on each node where batch pods may have had them:")
    for line in undo_lines(""):
        screen.line(f"  {line}")


def _unpublishing(nodes: list[JsonObject]) -> list[str]:
    """Return the commands for nodes with names left in their status."""
    from yodel.translator.undo_lines import unpublish_line

    lines = [f"{node['kubernetes_node']}: {node['why']}." for node in nodes]
    found = [unpublish_line(node["kubernetes_node"], node["published"]) for node in nodes if node["published"]]
    if found:
        lines += ["With kubectl, once no batch pod is left there:", *(f"  {line}" for line in found)]
    return lines


def undoing(limits: list[JsonObject]) -> list[str]:
    """Return the commands for nodes that have not confirmed, each once for all nodes that need it."""
    lines = [f"{node['kubernetes_node']}: {node['why']}." for node in limits]
    nodes: dict[tuple[str, ...], list[str]] = {}
    for node in limits:
        if node["undo_lines"]:
            nodes.setdefault(tuple(node["undo_lines"]), []).append(node["kubernetes_node"])
    for undo_lines, names in nodes.items():
        lines += [f"As root on {', '.join(names)}:", *(f"  {line}" for line in undo_lines)]
    return lines


def _left(text: str) -> JsonObject:
    """Raises InvalidValue."""
    from yodel.translator.quantities import parse_milli

    cpu, comma, memory = text.partition(",")
    try:
        cpu_milli, memory_mib = parse_milli(cpu.strip()), parse_milli(memory.strip()) // (1000 << 20)
    except InvalidValue:
        comma = ""
    if not comma or min(cpu_milli, memory_mib) < 0:
        raise InvalidValue("--to", text[:200], "cores and memory, e.g. 2,4Gi or 500m,512Mi")
    return {"cpu_milli": cpu_milli, "memory_mib": memory_mib}


def _tell_victims(found: JsonObject, screen: Screen, *, is_dry_run: bool) -> None:
    from yodel.client import show

    if found["victims"]:
        screen.table(VICTIM_HEADS, [_victim_row(victim) for victim in found["victims"]])
    verb = "would be" if is_dry_run else "will be"
    count, notice_s = len(found["victims"]), found["notice_s"]
    show.hint(f"{show.counted(count)} on {found['kubernetes_node']} {verb} stopped in {notice_s} s.")
    if not found["fits"]:
        show.hint("That is not enough: pods that are not Yodel's use more, and are not stopped.")


def _victim_row(victim: JsonObject) -> list[str]:
    """Under VICTIM_HEADS."""
    from yodel.client.show import amount

    return [victim["container"], victim["queue"], amount(victim["capability"]), victim["why"]]


def _numbers(words: list[str]) -> dict[str, str | None]:
    """Raises InvalidValue."""
    found: dict[str, str | None] = {}
    for word in words:
        name, is_said, value = word.partition("=")
        if not is_said or not name or name in ("enabled", *found):
            raise InvalidValue("argument", word[:200], "an option of the policy as NAME=VALUE, each once")
        found[name] = value or None
    return found


def _tell(found: JsonObject, screen: Screen) -> None:
    from yodel.client import show

    counts = ", ".join(f"{count} {state}" for state, count in sorted(found["node_counts"].items()))
    facts = {
        "Colocation": "on" if found["enabled"] else "off",
        "Preset": found["preset"] or "",
        "Policy": found["policy_version"] or "",
        "Published as": ", ".join(found["names"]),
        "Lent": _lent(found["lent"]),
        "Published": _amounts(found["published"], found["units"]),
        "Nodes": counts,
        "Patches": str(found["patches"]),
        "Overwritten": str(found["overwrites"]),
    }
    if found["limits"]["nodes_by_limits_state"]:
        facts["Limits"] = ", ".join(
            f"{count} {state}" for state, count in sorted(found["limits"]["nodes_by_limits_state"].items())
        )
    if found["limits"]["others_pods"]:
        facts["Other pods"] = f"{found['limits']['others_pods']} share the quota"
    screen.facts(facts)
    if found["enabled"] and not found["names"]:
        show.hint("No queue uses the dialect that colocation is enabled for: nothing is published.")
    if found["node_list"]:
        screen.line("")
        screen.table(NODE_HEADS, [_node_row(node, found["units"]) for node in found["node_list"]])
    limits = [node for node in found["limits"]["node_list"] if node["limits_state"] != ENFORCED]
    if limits:
        screen.line("")
        screen.table(LIMITS_HEADS, [_limits_row(node) for node in limits])
    for agent in found["refused_agents"]:
        show.hint(f"Reports of {agent['id']} are ignored: {agent['why']}.")


def _node_row(node: JsonObject, units: JsonObject) -> list[str]:
    """Under NODE_HEADS."""
    name, state, why = node["kubernetes_node"], node["state"], node["why"]
    return [name, state, _amounts(node["published"], units), _amounts(node["requested"], units), why]


def _limits_row(node: JsonObject) -> list[str]:
    """Under LIMITS_HEADS."""
    groups = "-" if node["groups"] is None else str(node["groups"])
    return [node["kubernetes_node"], node["limits_state"], groups, _confirmed(node), node["why"]]


def _confirmed(node: JsonObject) -> str:
    from yodel.client import show

    return show.time(node["confirmed_ms"])


def _amounts(found: JsonObject, units: JsonObject) -> str:
    """Return the amounts of published names as text."""
    from yodel.translator.quantities import quantity

    return ", ".join(f"{name} {quantity(amount, units.get(name, ''))}" for name, amount in sorted(found.items()))


def _lent(found: JsonObject) -> str:
    from yodel.client.show import memory

    cores, mib = found.get("cpu_milli", 0) / 1000, found.get("memory_mib", 0)
    return f"{cores:g} cores, {memory(mib)}" if found else ""
