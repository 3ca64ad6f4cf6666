"""launch_container.sh, as Hadoop writes it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.container.launcher import EMPTY_CREDENTIALS
from nm_plugin.launch.command import (
    Launch,
    LocalizationCounters,
    NodeEnvironment,
    ResourceLink,
    as_one_process,
    by_dependency,
    expand,
    script,
)
from tests.support.node_agent import Rig, add_resource, container_id, context_of
from yodel.domain.ids import NodeId
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb

NODE = NodeEnvironment(
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
    links = [ResourceLink(link="lib/a.jar", target=Path('/c/10/a"$.jar'))]
    one = launch(
        root,
        environment={"B": "$A/x", "A": "{{PWD}}<CPS>y", "USER": "mallory", "JAVA_HOME": "/mine"},
        command=["{{JAVA_HOME}}/bin/java", "<ADD_OPENS>", "1><LOG_DIR>/stdout"],
        links=links,
        counters=LocalizationCounters(missed_bytes=5, missed_files=1),
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


def test_name_of_a_user_says_nothing_to_the_shell(tmp_path: Path) -> None:
    name = 'DOM\\us$HOME "`id`" x'
    assert (
        run(tmp_path, launch(tmp_path, user=name, command=["printenv USER LOGNAME 1><LOG_DIR>/stdout"]))
        == f"{name}\n{name}\n"
    )


def run(tmp_path: Path, one: Launch, node: NodeEnvironment = NODE) -> str:
    (tmp_path / "work").mkdir()
    (tmp_path / "logs").mkdir()
    path = tmp_path / "work/launch_container.sh"
    path.write_text(script(node, one))
    subprocess.run(["/bin/bash", str(path)], check=True, cwd="/", timeout=60)
    return (tmp_path / "logs/stdout").read_text()


ASKING = {"YARN_CONTAINER_RUNTIME_TYPE": "docker", "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": " reg/own:2 "}


def test_container_that_asks_for_its_pods_image_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YODEL_IMAGE", "reg/own:2")
    assert run(tmp_path, launch(tmp_path, environment=ASKING, command=["echo ran 1><LOG_DIR>/stdout"])) == "ran\n"


@pytest.mark.parametrize("wanted", ["reg/other:1", "$(touch x)`touch x`", '"; touch x #', "a\nb"])
def test_container_that_asks_for_another_image_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("YODEL_IMAGE", "reg/own:2")
    environment = {**ASKING, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": wanted, "YODEL_IMAGE": wanted}
    with pytest.raises(subprocess.CalledProcessError, match="exit status 1"):
        run(tmp_path, launch(tmp_path, environment=environment, command=["touch ran"]))
    said = (tmp_path / "logs/prelaunch.err").read_text()
    assert said.startswith(
        f"Image {wanted} was requested, but this container's pod runs reg/own:2: images are chosen by"
    )
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["launch_container.sh"]


def test_other_runtimes_ask_for_no_image(tmp_path: Path) -> None:
    environment = {**ASKING, "YARN_CONTAINER_RUNTIME_TYPE": "default"}
    assert "YODEL_IMAGE" not in script(NODE, launch(tmp_path, environment=environment))


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
    one = launch(tmp_path, command=["cat li* 1><LOG_DIR>/stdout"], links=[ResourceLink(link=link, target=target)])
    assert run(tmp_path, one) == "content"
    assert (tmp_path / "work" / link).is_symlink()


def test_debug_copies_only_when_asked(tmp_path: Path) -> None:
    node = NodeEnvironment(node_id=NODE.node_id, http_port=1, debug_info=True)
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


# What Flink, Tez, Spark and MapReduce send, in containers that are launched by the whole agent.
# Each: command, environment, what it prints; ``W`` and ``L`` stand for the work and log directory.
SHIPPED = "YarnLocalResourceDescriptor{key=lib/a.jar, path='hdfs://nn:8020/u/a b.jar', size=3}"
AS_CLIENTS_SEND = {
    "raw double quotes (Flink)": (
        r"""printf '%s\n' -Dlog.file="<LOG_DIR>/jobmanager.log" -Dlog4j.configuration=file:log4j.properties""",
        {},
        "-Dlog.file=L/jobmanager.log\n-Dlog4j.configuration=file:log4j.properties\n",
    ),
    "escaped for two shells (Spark)": (
        r"""printf '%s\n' '-Dname=it is \"quoted\" \$HOME' \"{{NAME}}\" """,
        {"NAME": "two  words"},
        '-Dname=it is "quoted" $HOME\ntwo  words\n',
    ),
    "markers": ("echo {{NAME}}<CPS>{{PWD}}/x<CPS>$PWD<CPS>${NAME}", {"NAME": "n"}, "n:W/x:W:n\n"),
    "single quotes and braces in a value (Flink)": ("printenv SHIPPED", {"SHIPPED": SHIPPED}, f"{SHIPPED}\n"),
    "class path that the shell must not expand (MapReduce)": (
        "printenv CLASSPATH; ls $PWD/mrfw/*",
        {"CLASSPATH": "$PWD/mrfw/*<CPS>{{PWD}}/job.jar/lib/*"},
        "W/mrfw/*:W/job.jar/lib/*\nW/mrfw/a.jar\nW/mrfw/b.jar\n",
    ),
    "links in subfolders (Flink)": ("cat lib/flink.jar plugins/deep/er/flink.jar", {}, "jarjar"),
    "no credentials": ("od -An -tx1 $HADOOP_TOKEN_FILE_LOCATION", {}, " 48 44 54 53 00 00 00\n"),
    "nobody's variables win": ("echo $USER $HOME $CONTAINER_ID", {"USER": "root", "HOME": "/root"}, "alice /home/ C\n"),
}


@pytest.mark.parametrize("name", AS_CLIENTS_SEND)
async def test_what_clients_send_does_what_they_mean(rig: Rig, name: str) -> None:
    words, environment, printed = AS_CLIENTS_SEND[name]
    container = container_id(2)
    context = context_of(f"({words}) 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", environment, EMPTY_CREDENTIALS)
    jar, archive = rig.root / "flink.jar", rig.root / "mrfw.zip"
    jar.write_text("jar")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.jar", "a")
        file.writestr("b.jar", "b")
    for path in (jar, archive):
        path.chmod(0o644)
    for link in ("lib/flink.jar", "plugins/deep/er/flink.jar"):
        add_resource(context, link, jar)
    add_resource(context, "mrfw", archive, type=pb.ARCHIVE, visibility=pb.PUBLIC)
    await rig.pod(container)
    await rig.start(container, context)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 0, status.diagnostics + rig.log(container, "stderr")
    application = str(container.application_id)
    work = rig.root / "local/usercache/alice/appcache" / application / str(container)
    logs = rig.root / "logs" / application / str(container)
    said = rig.log(container, "stdout").replace(str(work), "W").replace(str(logs), "L").replace(str(container), "C")
    assert said == printed


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (("{{JAVA_HOME}}/bin/java", "-server", "1>", "x"), ("exec", "{{JAVA_HOME}}/bin/java", "-server", "1>", "x")),
        (('A=\\"b\\"', "$JAVA_HOME/bin/java", "-x"), ('A=\\"b\\"', "exec", "$JAVA_HOME/bin/java", "-x")),
        (("A=b c", "/bin/java"), ("A=b c", "/bin/java")),
        (("sleep 1;", "/bin/java"), ("sleep 1;", "/bin/java")),
        (("exec", "/bin/java"), ("exec", "/bin/java")),
        (("/bin/java -server Main",), ("/bin/java -server Main",)),
        ((), ()),
    ],
)
def test_java_alone_is_the_whole_process(items: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert as_one_process(items) == expected
