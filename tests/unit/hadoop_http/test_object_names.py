"""Patterns of JMX names."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.hadoop_http.object_names import NamePattern

ROOT = "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*:*", True),
        ("Hadoop:*", True),
        ("java.lang:*", False),
        (ROOT, True),
        ("Hadoop:name=QueueMetrics,q0=root,service=ResourceManager", True),
        ("Hadoop:service=ResourceManager,name=QueueMetrics", False),
        ("Hadoop:service=ResourceManager,name=QueueMetrics,*", True),
        ("Hadoop:service=Resource*,name=Queue?etrics,*", True),
        ("H*p:*,name=QueueMetrics", True),
        ("Hadoop:*,q1=default", False),
        ("Hadoop:*,q0=[r]oot", False),
        ("Hadoop:*,q0=" + "*o" * 500, False),
    ],
)
def test_patterns(pattern: str, expected: bool) -> None:
    assert NamePattern.parse(pattern).matches(ROOT) is expected


@pytest.mark.parametrize(
    "text", ["Hadoop", "Hadoop:", "a:b", "a:=b", "a:b=", "a:b=1,b=2", "a:*,*", "a:b=1,,c=2", "a:" + "b" * 2000]
)
def test_malformed_patterns(text: str) -> None:
    with pytest.raises(InvalidValue):
        NamePattern.parse(text)
