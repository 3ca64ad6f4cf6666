"""XML of the web side: what is written can be read, what is read cannot hurt."""

from __future__ import annotations

import contextlib
import re
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tests.support.at_once import parse_object
from yodel.errors import InvalidValue
from yodel.hadoop_http.object_names import NamePattern
from yodel.hadoop_http.xml import document

NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NAMES = st.sampled_from(["app", "entry", "value", "queue", "type", "timeouts"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.text(alphabet=st.characters()))
def test_any_text_comes_back_with_what_xml_cannot_hold_replaced(text: str) -> None:
    found = ElementTree.fromstring(document({"a": {"b": text}}))
    assert (found.findtext("b") or "") == NOT_IN_XML.sub("\ufffd", text)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_value_is_well_formed(value: dict[str, Any]) -> None:
    assert ElementTree.fromstring(document(value, "root")).tag is not None


@given(st.binary(max_size=200) | st.text(alphabet="<>/a&;![]\"'= \n", max_size=80).map(str.encode))
def test_any_body_is_an_object_or_refused(data: bytes) -> None:
    with contextlib.suppress(InvalidValue):
        assert isinstance(parse_object(data), dict)


@given(st.text(alphabet="a:=,*?[]", max_size=60))
def test_any_pattern_of_names_is_decided_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidValue):
        assert NamePattern.parse(text).matches("a:a=a,aa=aa") in (True, False)
