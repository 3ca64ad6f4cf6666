"""``yodel colocation measure``: a real HTTP service is asked in an open loop, and colocation is switched meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import pytest

from tests.support.api_rows import fill
from tests.support.rest_world import RestWorld
from tests.support.served_world import Served, serving_world
from yodel.client import measuring
from yodel.client.measuring import ALONE, BOUNDED, LENT, Measured, Wanted, rows, verdicts
from yodel.client.service_load import ServiceLoad, interval, percentile
from yodel.errors import InvalidValue
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of

QUEUE = "root.default"


class Service:
    """Answers GET over real sockets; ``status`` and ``wait_s`` of each answer."""

    def __init__(self) -> None:
        self.status, self.wait_s, self.asked = 200, 0.0, 0
        self.heads: list[str] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                self.heads.append(head.decode())
                await asyncio.sleep(self.wait_s)
                writer.write(f"HTTP/1.1 {self.status} x\r\nContent-Length: 5\r\n\r\nhello".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[str]:
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server:
        yield service.url


@contextmanager
def serving_thread(service: Service) -> Iterator[str]:
    """Serve in a thread, for a command that has a loop of its own."""
    up, loop = threading.Event(), asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with serving(service):
            up.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert up.wait(30)
    try:
        yield service.url
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
        loop.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Queues whose pods may run on lent capacity."""
    with serving_world(monkeypatch) as made:
        rm = made.world.rm
        made.await_on_loop(fill(made.world))
        made.on_loop(lambda: rm.lending.use(rules_of(dialect("koordinator"), {}, 1000)))
        yield made


async def test_latency_counts_from_when_a_request_was_due() -> None:
    """A service that answers late is asked at its rate all the same: nothing waits for an answer before it asks."""
    service = Service()
    service.wait_s = 0.3
    async with serving(service) as url, ServiceLoad(url) as load:
        began = time.monotonic()
        answers = await load.ask(100, 0.5)
        lasted = time.monotonic() - began
    assert service.asked == len(answers.latencies_ms)
    assert 25 < len(answers.latencies_ms) < 80, "about fifty were due in half a second"
    assert lasted < 10, "one after the other would take fifteen seconds"
    assert min(answers.latencies_ms) >= 300
    assert answers.failed == 0


async def test_requests_carry_no_rights_and_follow_nothing() -> None:
    service = Service()
    async with serving(service) as url, ServiceLoad(url) as load:
        await load.check()
        assert service.heads[0].startswith("GET / HTTP/1.1\r\n")
        assert "authorization" not in service.heads[0].lower()
        service.status = 302
        with pytest.raises(InvalidValue, match=r"--service: .*a service that answers with HTTP 2xx \(HTTP 302\)"):
            await load.check()


async def test_failed_answers_are_counted_with_their_latency() -> None:
    service = Service()
    service.status = 503
    async with serving(service) as url, ServiceLoad(url) as load:
        answers = await load.ask(50, 0.3)
    assert answers.failed == len(answers.latencies_ms) > 0


async def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yodel.client.service_load.ANSWER_BYTES_MAX", 4)
    service = Service()
    async with serving(service) as url, ServiceLoad(url) as load:
        assert (await load.ask(50, 0.2)).failed > 0


async def test_requests_beyond_the_maximum_fail_instead_of_piling_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yodel.client.service_load.UNANSWERED_MAX", 3)
    service = Service()
    service.wait_s = 1.0
    async with serving(service) as url, ServiceLoad(url) as load:
        answers = await load.ask(100, 0.3)
    assert service.asked <= 3
    assert answers.failed == len(answers.latencies_ms) - service.asked > 0


@pytest.mark.parametrize(
    "url", ["shop.example", "ftp://shop.example/", "http://", "http://me:secret@shop.example/", "http://a:99999/"]
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="a URL of http or https without a user's name"):
        ServiceLoad(url)


def test_percentiles_and_their_interval() -> None:
    values = [float(one) for one in range(1, 1001)]
    assert percentile(values, 99) == 991
    low, high = interval(values, 99)
    assert 980 <= low <= 991 <= high <= 1000


def test_time_is_divided_between_conditions() -> None:
    wanted = Wanted(queue=QUEUE, rate=10, minutes=15, stops_containers=True)
    assert wanted.conditions == (ALONE, LENT, BOUNDED)
    assert wanted.window_s == pytest.approx(80)
    assert [wanted.order(number)[0] for number in range(3)] == [ALONE, LENT, BOUNDED]
    assert replace(wanted, stops_containers=False).conditions == (LENT, BOUNDED)
    with pytest.raises(InvalidValue, match=r"--minutes: .*at least 5, for 3 rounds"):
        replace(wanted, minutes=4).check()


def properties(world: RestWorld) -> dict[str, str]:
    found = world.rm.scheduler_conf.properties()
    return {name: value for name, value in found.items() if name.startswith("yodel.colocation.")}


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a part of a second, in which no client is late: how busy this machine is does not matter."""
    monkeypatch.setattr("yodel.client.service_load.LATE_S", 60.0)
    monkeypatch.setattr(measuring, "SETTLE_S", 0.0)
    monkeypatch.setattr(Wanted, "window_s", property(lambda self: 0.2))
    monkeypatch.setattr(Wanted, "check", lambda self: None)
    monkeypatch.setattr(measuring, "LOOK_S", 0.05)


def test_the_command_switches_and_restores(served: Served, quickly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = properties(served.world)
    seen: list[dict[str, str]] = []

    async def vcores(client: object, queue: str) -> float:
        seen.append(properties(served.world))
        return 0.0 if seen[-1].get("yodel.colocation.enabled") == "false" else 3.0

    monkeypatch.setattr(measuring, "_vcores", vcores)
    with serving_thread(Service()) as url:
        words = ("--service", url, "--rate", "50", "--queue", QUEUE, "--minutes", "5", "--stop-containers")
        result = served.invoke("colocation", "measure", *words)
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == list(measuring.HEADS)
    assert [line[1][0] for line in lines[1:10]] == ["A", "C", "D", "C", "D", "A", "D", "A", "C"]
    assert lines[10][0].startswith("C: P99 is ")
    switched = {(one["yodel.colocation.enabled"], one.get("yodel.colocation.quota")) for one in seen}
    assert switched == {("false", None), ("true", "false"), ("true", "true"), ("false", "true")}
    assert properties(served.world) == before
    assert "yodel queue revert" in result.stderr


def test_a_queue_without_batch_proves_nothing(served: Served, quickly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stopped without an option that allows it, and the service alone is not measured."""

    async def vcores(client: object, queue: str) -> float:
        return 0.0

    monkeypatch.setattr(measuring, "BATCH_WAIT_S", 0.0)
    monkeypatch.setattr(measuring, "_vcores", vcores)
    with serving_thread(Service()) as url:
        result = served.invoke("colocation", "measure", "--service", url, "--rate", "50", "--queue", QUEUE)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line.split("\t")[1][0] for line in lines[1:7]] == ["C", "D", "D", "C", "C", "D"]
    assert lines[7:] == [
        *(f"VOID, round {place}: no batch ran in {QUEUE}." for place in ("1 C", "1 D", "2 D", "2 C", "3 C", "3 D")),
        "C: no verdict, because no round of it and of A counts.",
        "D: no verdict, because no round of it and of A counts.",
    ]


def test_processors_in_use_are_those_of_the_agents_report() -> None:
    measured = [{"name": "capacity", "amount": 16000}, {"name": "node", "amount": 4000}]
    resources = [{"resource": "memory_mib", "measured": []}, {"resource": "cpu_milli", "measured": measured}]
    assert measuring.cpu_in_use({"resources": resources}) == 0.25
    assert measuring.cpu_in_use({"resources": resources[:1]}) is None
    assert measuring.cpu_in_use({"resources": [{"resource": "cpu_milli", "measured": []}]}) is None


def test_properties_are_restored_when_the_measurement_fails(
    served: Served, quickly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = properties(served.world)

    async def window(*arguments: object) -> Measured:
        assert properties(served.world) != before
        raise InvalidValue("something", "x", "another")

    monkeypatch.setattr(measuring, "_window", window)
    monkeypatch.setattr(measuring, "BATCH_WAIT_S", 0.0)
    with serving_thread(Service()) as url:
        words = ("--service", url, "--rate", "50", "--queue", QUEUE)
        assert served.invoke("colocation", "measure", *words).exit_code == 2
    assert properties(served.world) == before


def test_a_service_that_does_not_answer_changes_nothing(served: Served, quickly: None) -> None:
    version = served.version
    words = ("--service", "http://127.0.0.1:9/", "--rate", "50", "--queue", QUEUE)
    result = served.invoke("colocation", "measure", *words)
    assert (result.exit_code, served.version) == (2, version)
    assert "--service" in result.stderr


def test_a_queue_that_does_not_exist_changes_nothing(served: Served, quickly: None) -> None:
    version = served.version
    with serving_thread(Service()) as url:
        result = served.invoke("colocation", "measure", "--service", url, "--rate", "50", "--queue", "root.nowhere")
    assert (result.exit_code, served.version) == (1, version)


def a_window(number: int, condition: str, p99_ms: float, *problems: str) -> Measured:
    return Measured(
        round=number,
        condition=condition,
        p50_ms=1.0,
        p99_ms=p99_ms,
        p999_ms=9.0,
        failed=0,
        requests=100,
        node_cpu=0.5,
        vcores=3.0,
        pressure=None,
        problems=problems,
    )


def test_windows_are_compared_within_their_round() -> None:
    found = [a_window(0, ALONE, 4.0), a_window(0, LENT, 4.4), a_window(1, LENT, 10.0), a_window(1, ALONE, 8.0)]
    assert [row[5] for row in rows(found)] == ["-", "1.10", "1.25", "-"]
    assert verdicts(found) == [
        "C: P99 is 1.10 to 1.25 times that of A in 2 rounds; at most 1.25: holds.",
        "D: no verdict, because no round of it and of A counts.",
    ]
    found[2] = replace(found[2], p99_ms=10.1)
    assert verdicts(found)[0].endswith("does not hold.")


def test_a_window_without_batch_is_void() -> None:
    found = [a_window(0, ALONE, 4.0), a_window(0, LENT, 4.4, f"no batch ran in {QUEUE}")]
    assert verdicts(found)[:2] == [
        "VOID, round 1 C: no batch ran in root.default.",
        "C: no verdict, because no round of it and of A counts.",
    ]
