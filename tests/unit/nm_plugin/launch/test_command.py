"""launch_container.sh, as Hadoop writes it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.launch.command import Counters, Launch, Link, Node, by_dependency, expand, script
from tests.support.node_agent import container_id
from yodel.domain.ids import NodeId
from yodel.errors import InvalidValue

NODE = Node(
    node_id=NodeId("node-1", 8041),
    http_port=8042,
    admin_env={"MALLOC_ARENA_MAX": "4"},
    whitelist={"JAVA_HOME": "/jdk", "PATH": "/bin"},
    aux_metadata={"mapreduce_shuffle": b"\x00\x00\x34\xfa"},
    add_opens="--add-opens=x",
)


def launch(tmp_path: Path, **changes: Any) -> Launch:
    values: dict[str, Any] = {
        "container_id": container_id(2),
        "user": "alice",
        "work_dir": tmp_path / "work",
        "log_dir": tmp_path / "logs",
        "local_dirs": [Path("/l1/app"), Path("/l2/app")],
        "local_user_dirs": [Path("/l1/alice")],
        "log_dirs": [tmp_path / "logs"],
        "environment": {},
        "command": ["true"],
    }
    return Launch(**{**values, **changes})


def test_whole_script(tmp_path: Path) -> None:
    root = Path("/r")
    links = [Link(link="lib/a.jar", target=Path('/c/10/a"$.jar'))]
    one = launch(
        root,
        environment={"B": "$A/x", "A": "{{PWD}}<CPS>y", "USER": "mallory", "JAVA_HOME": "/mine"},
        command=["{{JAVA_HOME}}/bin/java", "<ADD_OPENS>", "1><LOG_DIR>/stdout"],
        links=links,
        counters=Counters(missed_bytes=5, missed_files=1),
    )
    assert script(NODE, one) == "\n".join(
        [
            "#!/bin/bash",
            "",
            "set -o pipefail -e",
            'export PRELAUNCH_OUT="/r/logs/prelaunch.out"',
            'exec >"${PRELAUNCH_OUT}"',
            'export PRELAUNCH_ERR="/r/logs/prelaunch.err"',
            'exec 2>"${PRELAUNCH_ERR}"',
            'cd -- "/r/work"',
            'echo "Setting up env variables"',
            'export PATH=${PATH:-"/bin"}',
            'export HADOOP_TOKEN_FILE_LOCATION="/r/work/container_tokens"',
            'export CONTAINER_ID="container_1700000000000_0007_01_000002"',
            'export NM_PORT="8041"',
            'export NM_HOST="node-1"',
            'export NM_HTTP_PORT="8042"',
            'export LOCAL_DIRS="/l1/app,/l2/app"',
            'export LOCAL_USER_DIRS="/l1/alice/"',
            'export LOG_DIRS="/r/logs"',
            'export USER="alice"',
            'export LOGNAME="alice"',
            'export HOME="/home/"',
            'export PWD="/r/work"',
            'export LOCALIZATION_COUNTERS="5,0,1,0,0"',
            'export JVM_PID="$$"',
            'export MALLOC_ARENA_MAX="4"',
            'export NM_AUX_SERVICE_mapreduce_shuffle="AAA0+g=="',
            'export A="$PWD:y"',
            'export B="$A/x"',
            'export JAVA_HOME="/mine"',
            'echo "Setting up job resources"',
            'mkdir -p -- "lib"',
            'ln -sfn -- "/c/10/a\\"\\$.jar" "lib/a.jar"',
            'echo "Launching container"',
            'exec /bin/bash -c "$JAVA_HOME/bin/java --add-opens=x 1>/r/logs/stdout"',
            "",
        ]
    )


def run(tmp_path: Path, one: Launch, node: Node = NODE) -> str:
    (tmp_path / "work").mkdir()
    (tmp_path / "logs").mkdir()
    path = tmp_path / "work/launch_container.sh"
    path.write_text(script(node, one))
    subprocess.run(["/bin/bash", str(path)], check=True, cwd="/", timeout=20)
    return (tmp_path / "logs/stdout").read_text()


def test_client_values_are_live_shell_and_pass_two_shells(tmp_path: Path) -> None:
    """Spark and MapReduce escape for exactly this."""
    one = launch(
        tmp_path,
        environment={"WHERE": "$PWD/x", "NESTED": "`echo sub`"},
        command=["echo $WHERE $NESTED \\$HOME -Dx='a b' \\\"q\\\"", "1><LOG_DIR>/stdout"],
    )
    assert run(tmp_path, one) == f"{tmp_path}/work/x sub /home/ -Dx=a b q\n"


def test_agents_own_names_are_quoted(tmp_path: Path) -> None:
    target = tmp_path / 'we$ird "na`me'
    target.write_text("content")
    link = "li$nk `x"
    one = launch(tmp_path, command=["cat li* 1><LOG_DIR>/stdout"], links=[Link(link=link, target=target)])
    assert run(tmp_path, one) == "content"
    assert (tmp_path / "work" / link).is_symlink()


def test_debug_copies_only_when_asked(tmp_path: Path) -> None:
    node = Node(node_id=NODE.node_id, http_port=1, debug_info=True)
    one = launch(tmp_path, command=["echo x 1><LOG_DIR>/stdout"])
    run(tmp_path, one, node)
    assert (tmp_path / "logs/launch_container.sh").read_text() == script(node, one)
    assert "directory.info" not in script(NODE, one)
    assert (tmp_path / "logs/directory.info").read_text().startswith("ls -l:\n")


def test_clients_malloc_arena_max_stays(tmp_path: Path) -> None:
    assert 'export MALLOC_ARENA_MAX="2"' in script(NODE, launch(tmp_path, environment={"MALLOC_ARENA_MAX": "2"}))


def test_referenced_variables_come_first_and_cycles_end() -> None:
    environment = {"A": "${B:-x}", "B": "$C", "C": "1", "X": "$Y", "Y": "$X", "SELF": "$SELF:more"}
    assert by_dependency(environment) == ["C", "B", "A", "Y", "X", "SELF"]


def test_deep_chains_cost_no_stack() -> None:
    environment = {f"V{n}": f"$V{n + 1}" for n in range(5000)} | {"V5000": "end"}
    assert by_dependency(environment)[0] == "V5000"


def test_expansion_is_plain_replacement() -> None:
    assert expand("{{A}}<CPS>{{B}}/<LOG_DIR>}}", NODE, Path("/l")) == "$A:$B//l"


@pytest.mark.parametrize("name", ["A B", "1A", "A;rm", ""])
def test_variable_that_is_no_shell_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue):
        script(NODE, launch(tmp_path, environment={name: "x"}))


def test_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue):
        script(NODE, launch(tmp_path, command=["a\0b"]))


def test_environment_is_in_no_repr(tmp_path: Path) -> None:
    assert "hunter2" not in repr(launch(tmp_path, environment={"PASSWORD": "hunter2"}))
