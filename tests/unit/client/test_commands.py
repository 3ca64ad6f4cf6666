"""The commands: what they print, where, and their exit statuses; bodies are those of a web side in memory."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from typer.testing import CliRunner, Result

from tests.support.api_rows import FAILED, GONE, MASTER, NODE, RUNNING, TASK, fill
from tests.support.rest_world import rest_world
from yodel import cli
from yodel.client import api, show_queues
from yodel.domain.ids import dns_name
from yodel.local import running

RUNNER = CliRunner(env={"TERM": "dumb", "COLUMNS": "200", "HADOOP_USER_NAME": "alice"})
COMMANDS = (
    "app list",
    "app show",
    "app why",
    "app kill",
    "app logs",
    "app watch",
    "node list",
    "node show",
    "pool list",
    "queue list",
    "queue tree",
    "queue show",
    "queue why",
    "queue set",
    "queue create",
    "queue delete",
    "queue move",
    "queue history",
    "queue revert",
    "queue import",
    "queue export",
    "queue diff",
)
UNKNOWN = "application_1_0009"


class Net:
    """Answers requests with what the web side in memory answers to them, each in a world of its own."""

    def __init__(self) -> None:
        self.asked: list[httpx2.Request] = []
        self.streams: list[str] = []
        self.logs: dict[str, str] = {}
        self.is_down, self.why_down = False, "refused"
        self.is_owner_of_all = False

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if self.is_down:
            raise httpx2.ConnectError(self.why_down, request=request)
        if request.url.path.endswith("/stream"):
            return httpx2.Response(200, text=self.streams.pop(0))
        if request.url.host == "node-1":
            return self._node(request.url.path)
        with contextlib.redirect_stderr(io.StringIO()):  # a server's log is elsewhere
            return await self._answer(request)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        async with rest_world() as world:
            await fill(world)
            if self.is_owner_of_all:
                await world.put(replace(FAILED, submission=replace(FAILED.submission, user="alice")))
            transport = httpx2.ASGITransport(app=world.app)
            answer = await transport.handle_async_request(request)
            kind = {"content-type": answer.headers["content-type"]}
            return httpx2.Response(answer.status_code, headers=kind, content=await answer.aread())

    def _node(self, path: str) -> httpx2.Response:
        if path in self.logs:
            return httpx2.Response(200, text=self.logs[path])
        found = {path.rpartition("/")[2] for path in self.logs if str(MASTER.id) in path}
        if not path.endswith(f"{MASTER.id}/logs"):
            return httpx2.Response(404)
        files = [{"fileName": name, "fileSize": "4"} for name in sorted(found)]
        return httpx2.Response(200, json={"containerLogsInfo": {"containerLogInfo": files}})


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    made = Net()
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setattr(running, "running_locals", list)  # whatever runs on this machine meanwhile
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=httpx2.MockTransport(made)))
    yield made
    assert all(request.url.params["user.name"] == "alice" for request in made.asked)


def run(*arguments: object) -> Result:
    return RUNNER.invoke(cli.app, [str(argument) for argument in arguments])


def lines(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def read(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: yodel {command}" in " ".join(result.output.split())
    assert "YODEL_SERVER" in result.output


def test_help_shows_examples_as_they_are_typed() -> None:
    assert "jq -r '.[].id'" in run("app", "list", "--help").output


def test_server_is_the_option_or_the_variable_or_this_machine(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    run("node", "list")
    monkeypatch.setenv("YODEL_SERVER", "http://other:1")
    run("node", "list")
    run("node", "list", "--server", "https://third")
    assert [str(request.url.copy_with(path="/", query=None)) for request in net.asked] == [
        "http://localhost:8088/",
        "http://other:1/",
        "https://third/",
    ]


@pytest.mark.parametrize("command", ["app list", "node list", f"app show {RUNNING.id}", f"app watch {RUNNING.id}"])
def test_unusable_server_is_a_misuse(net: Net, command: str) -> None:
    result = run(*command.split(), "--server", "rm:8088")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: Invalid --server: 'rm:8088'; expected a URL like http://rm-host:8088\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("app ls", "app list"),
        ("apps", "app list"),
        ("apps --json", "app list --json"),
        ("apps ls --limit 1", "app list --limit 1"),
        (f"apps show {RUNNING.id}", f"app show {RUNNING.id}"),
        ("nodes", "node list"),
        ("node ls", "node list"),
        ("pools", "pool list"),
        ("queues", "queue list"),
        ("queue ls", "queue list"),
        ("queue window ls root.default", "queue window list root.default"),
    ],
)
def test_what_users_of_kubectl_type_is_understood(net: Net, typed: str, meant: str) -> None:
    found, expected = run(*typed.split()), run(*meant.split())
    assert (found.exit_code, found.stdout) == (0, expected.stdout), found.output


def all_commands(group: Any, path: str = "yodel") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        yield from all_commands(command, f"{path} {name}") if hasattr(command, "commands") else ()


def test_lines_of_help_are_as_long_as_the_terminal_is_wide() -> None:
    found = dict(all_commands(typer.main.get_command(cli.app)))
    assert {"yodel local", "yodel queue window add", "yodel node explain", "yodel apps watch"} <= found.keys()
    broken = [path for path, command in found.items() if "\n" in command.help.replace("\n\n", "")]
    assert not broken


def test_help_lists_each_command_once() -> None:
    for words in ((), ("app",), ("queue",)):
        listed = run(*words, "--help").output
        assert not re.search(r"^│ (apps|nodes|pools|queues|ls) ", listed, re.M), listed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_given_a_script(shell: str) -> None:
    printed = run("completion", shell)
    assert (printed.exit_code, f"_YODEL_COMPLETE=complete_{shell}" in printed.stdout) == (0, True)
    assert run("completion", "tcsh").exit_code == 2


def test_bash_completes_commands_and_options() -> None:
    program = Path(sys.executable).with_name("yodel")
    script = f"""PATH={program.parent}:$PATH; source <(yodel completion bash)
        for line in "yodel queue se" "yodel app kill --re"; do
            COMP_WORDS=($line) COMP_CWORD=$(( $(wc -w <<< "$line") - 1 ))
            _yodel_completion yodel; echo "${{COMPREPLY[@]}}"
        done"""
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["set", "--reason"], done.stderr


def test_server_that_is_down_is_a_failure(net: Net) -> None:
    net.is_down = True
    result = run("app", "list")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: no answer from http://localhost:8088 (refused)\n  Is the ResourceManager")
    assert "Server: http://localhost:8088 (default; set --server, YODEL_SERVER or HADOOP_CONF_DIR)" in result.stderr


def test_errors_say_which_server_was_asked_and_who_named_it(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YODEL_SERVER", "http://other:1")
    assert "  Server: http://other:1 (from YODEL_SERVER)\n" in run("app", "show", UNKNOWN).stderr
    net.is_down = True
    assert "  Server: http://third (from --server)\n" in run("app", "list", "--server", "http://third").stderr


def test_server_is_that_of_the_only_yodel_local(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    one = running.RunningLocal(directory=Path("/a"), rest_url="http://here:5")
    two = running.RunningLocal(directory=Path("/b"), rest_url="http://here:6")
    monkeypatch.setattr(running, "running_locals", lambda: [one])
    run("node", "list")
    assert (net.asked[-1].url.host, net.asked[-1].url.port) == ("here", 5)
    monkeypatch.setattr(running, "running_locals", lambda: [one, two])
    result = run("node", "list")
    assert (result.exit_code, "http://here:5 (--dir /a), http://here:6 (--dir /b)" in result.stderr) == (2, True)


def test_words_of_an_error_steer_no_terminal(net: Net) -> None:
    net.is_down, net.why_down = True, "\x1b[2J\x9b31m"
    assert "(\ufffd[2J\ufffd31m)\n  Is the" in run("app", "list").stderr


def test_applications_are_listed(net: Net) -> None:
    head, failed, running = lines(run("app", "list"))
    assert head[0] == "APPLICATION"
    assert (failed[0], failed[4:6]) == (str(FAILED.id), ["FAILED", "FAILED"])
    assert (running[0], running[4:9]) == (str(RUNNING.id), ["RUNNING", "-", "0%", "2+1", "4 GiB"])


def test_applications_are_filtered(net: Net) -> None:
    found = read(run("app", "list", "--state", "running", "--user", "alice", "--queue", "default", "--json"))
    assert [app["id"] for app in found] == [str(RUNNING.id)]
    assert len(read(run("app", "list", "--limit", 1, "--json"))) == 1
    assert lines(run("app", "list", "--tag", "none"))[1:] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("app", "list", "--state", "walking"), "Input should be 'ACCEPTED', 'RUNNING'"),
        (("app", "list", "--queue", "none"), "Invalid queue: 'none'"),
        (("app", "show", "job_1"), "error: Invalid ApplicationId: 'job_1'; expected application_"),
        (("app", "kill", str(RUNNING.id), "../nodes"), "Invalid ApplicationId: '../nodes'"),
        (("app", "watch", "application_1_x"), "Invalid ApplicationId"),
        (("node", "list", "--state", "walking"), "Input should be 'NEW', 'RUNNING'"),
        (
            ("node", "show", "nope"),
            "Invalid NODE: 'nope'; expected the host of a node, or its name in Kubernetes, as in yodel node",
        ),
        (("app", "list", "--limit", "0"), "'--limit'"),
        (("app", "show"), "Missing argument"),
    ],
)
def test_misuse_is_told_and_ends_with_2(net: Net, arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["show", "kill", "logs", "watch"])
def test_unknown_application_is_a_failure(net: Net, command: str) -> None:
    net.streams = ["id: 0-1\n\n"]
    result = run("app", command, UNKNOWN)
    assert (result.exit_code, result.stdout) == (1, "")
    assert UNKNOWN in result.stderr


def test_application_says_why_it_waits(net: Net) -> None:
    result = run("app", "why", RUNNING.id)
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"{RUNNING.id} (RUNNING, queue root.default, user alice)",
            "Nothing is pending: every requested container has been allocated.",
        ],
    )
    assert json.loads(run("app", "why", RUNNING.id, "--json").stdout)["asks"] == []
    assert run("app", "why", UNKNOWN).exit_code == 1


def test_queue_says_why_it_waits(net: Net) -> None:
    result = run("queue", "why", "default")
    assert result.stdout.splitlines() == [
        "Nothing is pending in root.default: every requested container has been allocated."
    ]
    assert json.loads(run("queue", "why", "root.default", "--json").stdout)["path"] == "root.default"
    assert run("queue", "why", "root.nothing").exit_code == 1


def test_application_is_shown_with_its_containers(net: Net) -> None:
    shown = run("app", "show", RUNNING.id).stdout
    assert f"Application {RUNNING.id}" in shown
    assert f"{TASK.id}\tRUNNING\t-\tnode-1:8041\t2 GiB\t2\t{dns_name(TASK.id)}\tRunning" in shown
    assert "0/1 nodes are available" in shown
    found = read(run("app", "show", RUNNING.id, "--json"))
    assert (found["id"], len(found["containers"])) == (str(RUNNING.id), 4)


def test_kill_says_what_became_of_each(net: Net) -> None:
    assert run("app", "kill", RUNNING.id, "--reason", "why not").stdout.startswith(f"{RUNNING.id} KILL")
    assert json.loads(net.asked[-1].content) == {"diagnostics": "why not"}
    denied = run("app", "kill", FAILED.id)
    assert (denied.exit_code, "MODIFY_APP" in denied.stderr, "Ask the owner" in denied.stderr) == (1, True, True)


def test_kill_of_what_has_ended_says_so_and_is_no_success(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net, "is_owner_of_all", True)
    result = run("app", "kill", FAILED.id)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Server: http://localhost:8088 (default; set --server, YODEL_SERVER or HADOOP_CONF_DIR)\n"
        f"error: application {FAILED.id} has already finished (FAILED): nothing to kill\n"
    )
    both = run("app", "kill", FAILED.id, RUNNING.id)
    assert (both.exit_code, both.stdout.split()[0]) == (1, str(RUNNING.id))
    as_json = run("app", "kill", FAILED.id, "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)[0]["had_ended"]) == (1, True)


def test_logs_are_printed_and_what_is_missing_is_named(net: Net) -> None:
    base = f"/ws/v1/node/containers/{MASTER.id}/logs"
    net.logs = {f"{base}/stderr": "err\n", f"{base}/stdout": "out\n"}
    result = run("app", "logs", RUNNING.id)
    assert (result.exit_code, result.stdout) == (0, "err\nout\n")
    assert f"warning: {TASK.id}: node-1:8041 no longer has them" in result.stderr
    assert run("app", "logs", RUNNING.id, "--am", "--file", "stdout").stdout == "out\n"
    spelled = [str(one).replace("_0", "_") for one in (RUNNING.id, MASTER.id)]
    assert run("app", "logs", spelled[0], "--container", spelled[1], "--file", "stdout").stdout == "out\n"
    assert read(run("app", "logs", RUNNING.id, "--json"))[0]["container_id"] == str(MASTER.id)


def test_logs_that_are_nowhere_are_a_failure(net: Net) -> None:
    result = run("app", "logs", RUNNING.id)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"no logs of {RUNNING.id} found" in result.stderr


def test_watch_ends_with_the_application_and_as_it_did(net: Net) -> None:
    event = {"at_ms": 1, "kind": "container", "subject": "c", "before": None, "after": "PLANNED", "node_id": None}
    data = json.dumps({**event, "exit_status": None, "reason": ""})
    net.streams = [f"event: container\ndata: {data}\n\n"] * 2
    result = run("app", "watch", FAILED.id)
    assert (result.exit_code, result.stdout) == (1, f"{FAILED.id} FAILED FAILED it broke\n")
    assert json.loads(run("app", "watch", FAILED.id, "--json").stdout)["id"] == str(FAILED.id)


class _Stays(BaseHTTPRequestHandler):
    """An application that has failed, and an event stream that stays open."""

    ended = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        if not self.path.partition("?")[0].endswith("/stream"):
            body = json.dumps({"id": str(FAILED.id), "state": "FAILED", "final_status": "FAILED", "diagnostics": "no"})
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())
            return
        self.end_headers()
        self.ended.wait(20)

    def log_message(self, *_: object) -> None:
        pass


def test_watch_of_what_failed_ends_without_a_trace_while_the_stream_is_open() -> None:
    """The command runs as a process: what is said at its very end is a part of it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Stays) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [sys.executable, "-m", "yodel", "app", "watch", str(FAILED.id)]
        command += ["--server", f"http://127.0.0.1:{server.server_port}"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        _Stays.ended.set()
        server.shutdown()
    assert (result.returncode, result.stdout, result.stderr) == (1, f"{FAILED.id} FAILED FAILED no\n", "")


def test_watch_of_all_prints_lines_until_it_is_refused(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_: float) -> None:
        net.is_down = True

    data = '{"at_ms":1000,"kind":"node","subject":"n:1","before":"NEW","after":"LOST","node_id":"n:1",'
    data += '"exit_status":null,"reason":""}'
    net.streams = [f'event: gap\ndata: {{"reason": "started anew"}}\n\nevent: node\ndata: {data}\n\n']
    monkeypatch.setattr(asyncio, "sleep", at_once)
    result = run("app", "watch", "--kind", "node")
    assert (result.exit_code, result.stdout) == (1, "1970-01-01 00:00:01Z n:1 NEW → LOST\n")
    assert "note: started anew" in result.stderr
    assert net.asked[0].url.params.get_list("kind") == ["node"]


def test_pools_are_listed_with_what_is_free(net: Net) -> None:
    head, pool = lines(run("pool", "list"))
    assert head == ["POOL", "SIZE", "USED", "FREE", "NODES", "QUEUES", "RESOURCES"]
    assert pool[:4] == ["native", "8 GiB, 8 vcores", "6 GiB, 6 vcores", "2 GiB, 2 vcores"]
    assert pool[4:] == ["1", "root.default", "cpu, memory"]
    (shown,) = read(run("pool", "list", "--json"))
    assert shown["free"]["vcores"] == 2


def test_nodes_are_listed_with_what_they_lend(net: Net) -> None:
    head, node, gone = lines(run("node", "list"))
    assert head[2:5] == ["ALLOCATABLE", "USED", "FREE"]
    assert node[:5] == [str(NODE.id), "RUNNING", "8 GiB, 8 vcores", "4 GiB, 4 vcores", "4 GiB, 4 vcores"]
    assert (head[-2], node[-2], gone[-2]) == ("KUBERNETES NODE", "kube-1", "-")
    assert (gone[0], gone[-1]) == (str(GONE.id), "none: the node is LOST (silent)")
    assert [node["id"] for node in read(run("node", "list", "--state", "lost", "--json"))] == [str(GONE.id)]


@pytest.mark.parametrize("node", ["node-1", "node-1:8041", "kube-1"])
def test_node_is_shown_by_its_host_its_id_or_its_name_in_kubernetes(net: Net, node: str) -> None:
    shown = run("node", "show", node).stdout
    assert "Allocatable" in shown
    assert "Last heartbeat  2023-11-14 22:13:20Z" in shown
    assert f"{TASK.id}\tRUNNING\talice" in shown
    assert read(run("node", "show", node, "--json"))["id"] == str(NODE.id)


def test_queues_are_a_tree_with_what_each_may_hold(net: Net) -> None:
    head, *rows = lines(run("queue", "tree"))
    assert head[:5] == ["QUEUE", "STATE", "GUARANTEED", "MAXIMUM", "USED"]
    assert [row[0] for row in rows] == ["root", "root.default"]
    assert rows[1][2:5] == ["8 GiB, 8 vcores", "8 GiB, 8 vcores", rows[0][4]]
    assert [queue["path"] for queue in read(run("queue", "tree", "--json"))] == ["root", "root.default"]


def test_tree_on_a_terminal_has_bars_with_the_guarantee_marked() -> None:
    half = {"memory_mib": 512, "vcores": 1, "others": {}}
    queue = {
        "path": "root.a",
        "name": "a",
        "state": "RUNNING",
        "guaranteed": half,
        "used": half,
        "pending": half,
        "maximum": {"memory_mib": 2048, "vcores": 2, "others": {}},
        "running_applications": 1,
        "pending_applications": 0,
        "used_percent": 100.0,
    }
    (row,) = show_queues.tree_rows([queue])
    assert (row[0], row[-2:]) == ("  a", ["100%", "[##########|.........]"])
    assert show_queues.list_rows([queue]) == [["root.a", *row[1:-1]]], (
        "a column means the same on a terminal and off it"
    )
    assert show_queues.TREE_HEADS[:-1] == show_queues.QUEUE_HEADS


@pytest.mark.parametrize("queue", ["default", "root.default"])
def test_queue_is_shown_with_its_limits(net: Net, queue: str) -> None:
    shown = run("queue", "show", queue).stdout
    assert "Capacity                100 % of the parent" in shown
    assert "User limit              1.0 times the guarantee" in shown
    assert "Enforcement             on" in shown
    assert "Preemption              none" in shown
    assert read(run("queue", "show", queue, "--json"))["path"] == "root.default"


def test_unknown_queue_is_a_failure(net: Net) -> None:
    result = run("queue", "show", "root.gone")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "root.gone" in result.stderr


def test_interrupted_watch_is_not_a_trace(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(work: Any) -> None:
        work.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    result = run("app", "watch")
    assert (result.exit_code, result.output) == (1, "")
