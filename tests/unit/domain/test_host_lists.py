from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.records import a_node
from yodel.domain import host_lists
from yodel.domain.host_lists import HostLists, names_of, parse, parse_racks
from yodel.errors import InvalidValue


def test_without_lists_everybody_may() -> None:
    assert HostLists().allow(["any"])
    assert not HostLists().are_silent_on(["any"])


@pytest.mark.parametrize(
    ("names", "may", "is_silent"),
    [(("a",), True, False), (("b",), False, False), (("c",), False, True), (("c", "a"), True, False)],
)
def test_exclusion_wins_over_inclusion(names: tuple[str, ...], may: bool, is_silent: bool) -> None:
    lists = HostLists(included=frozenset({"a", "b"}), excluded={"b": None})
    assert (lists.allow(names), lists.are_silent_on(names)) == (may, is_silent)


def test_timeout_is_the_first_that_a_name_has() -> None:
    lists = HostLists(excluded={"a": None, "b": 0})
    assert lists.timeout_s(["a", "b"]) == 0
    assert lists.timeout_s(["a"]) is None


def test_node_is_meant_by_its_host_or_its_kubernetes_name() -> None:
    assert names_of(a_node("host", kubernetes_node_name="kube")) == ("host", "kube")


def test_text_has_hosts_comments_and_several_a_line() -> None:
    assert parse("a b\n# no c\n\n d # not e\n", is_xml=False) == {"a": None, "b": None, "d": None}


def test_xml_has_timeouts() -> None:
    text = """<?xml version="1.0"?><hosts><host><name>a, b</name><timeout>12</timeout></host>
        <host><name>c</name></host></hosts>"""
    assert parse(text, is_xml=True) == {"a": 12, "b": 12, "c": None}


@pytest.mark.parametrize("text", ["<hosts>", "<hosts><host><name>a</name><timeout>soon</timeout></host></hosts>"])
def test_malformed_list_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text, is_xml=True)


def test_too_long_a_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_lists, "HOSTS_MAX", 1)
    with pytest.raises(InvalidValue):
        parse("a b", is_xml=False)


def test_racks_are_a_table_of_two_columns() -> None:
    racks = parse_racks("# hosts of the old cluster\n\nhost-1 /row-1/rack-1  # near the door\nhost-2\t/rack-2\n")
    assert racks == {"host-1": "/row-1/rack-1", "host-2": "/rack-2"}
    assert [HostLists(racks=racks).rack_of(host) for host in ("host-2", "host-3")] == ["/rack-2", "/default-rack"]


@pytest.mark.parametrize(
    "line", ["host-1", "host-1 rack-1", "host-1 /", "host-1 /a /b", f"host-1 /{'r' * 255}", "h /é"]
)
def test_line_that_is_no_host_and_rack_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(InvalidValue, match=r"racks, line 2.*expected a host and its rack"):
        parse_racks(f"host-0 /rack-0\n{line}")


def test_too_many_racks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_lists, "HOSTS_MAX", 1)
    with pytest.raises(InvalidValue, match="at most 1"):
        parse_racks("a /r\nb /r")


HOSTS = st.frozensets(st.sampled_from("abcde"))


@given(included=HOSTS, excluded=HOSTS, name=st.sampled_from("abcde"))
def test_who_is_excluded_may_never_and_who_is_unknown_only_without_an_include_list(
    included: frozenset[str], excluded: frozenset[str], name: str
) -> None:
    lists = HostLists(included=included, excluded=dict.fromkeys(excluded))
    assert lists.allow([name]) == (name not in excluded and (not included or name in included))
    assert not (lists.allow([name]) and lists.are_silent_on([name]))
