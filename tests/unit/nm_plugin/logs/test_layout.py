"""Names and directories that readers look for."""

from __future__ import annotations

from nm_plugin.logs.layout import RemoteLayout, node_file_name
from yodel.domain.ids import ApplicationId, NodeId


def test_directories_below_the_root() -> None:
    layout = RemoteLayout(root="hdfs://nn/logs", suffix="logs", format="tfile")
    application = ApplicationId(1700000000000, 10007)
    assert layout.application_parts("alice", application) == ("alice", "bucket-logs-tfile", "0007", str(application))


def test_node_file_name_has_no_colon() -> None:
    assert node_file_name(NodeId("host", 45454)) == "host_45454"
