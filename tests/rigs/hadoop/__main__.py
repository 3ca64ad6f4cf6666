"""The rig for use by hand.

python -m tests.rigs.hadoop up [--yodel]    both clusters until Ctrl-C; says when they are ready
python -m tests.rigs.hadoop env [real|yodel]    what to export so that clients find one
python -m tests.rigs.hadoop down
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.hadoop import running_hadoop
from tests.support.hadoop_yodel import client_conf, running_yodel

STATE = Path(tempfile.gettempdir()) / f"yodel-hadoop-rig-{os.getuid()}.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rigs.hadoop", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start and stay")
    up.add_argument("--yodel", action="store_true", help="yodel local beside it")
    up.add_argument("--no-yarn", action="store_true", help="without Hadoop's own ResourceManager and NodeManager")
    env = commands.add_parser("env", help="print exports")
    env.add_argument("cluster", choices=("real", "yodel"), nargs="?", default="real")
    commands.add_parser("down", help="end it")
    arguments = parser.parse_args()
    if arguments.command == "up":
        return _up(with_yodel=arguments.yodel, with_yarn=not arguments.no_yarn)
    return _env(arguments.cluster) if arguments.command == "env" else _down()


def _up(*, with_yodel: bool, with_yarn: bool) -> int:
    if STATE.exists():
        print(f"{STATE} is there: it runs already, or `down` it first", file=sys.stderr)
        return 1
    stop = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    for number in stop:  # while starting, an end is orderly too
        signal.signal(number, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        hadoop = stack.enter_context(running_hadoop())
        hadoop.start_history()
        clusters = {}
        if with_yarn:
            hadoop.start_yarn()
            clusters["real"] = str(hadoop.client_conf())
        if with_yodel:
            cluster = stack.enter_context(running_yodel(hadoop))
            clusters["yodel"] = str(client_conf(hadoop, cluster))
        directory = str(hadoop.servers.directory)
        state = {"pid": os.getpid(), "jars": str(hadoop.servers.jars), "directory": directory, "conf": clusters}
        stack.callback(STATE.unlink, missing_ok=True)
        STATE.write_text(json.dumps(state, indent=2) + "\n")
        print(
            f"ready, below {directory}", *(f"{name}: {conf}" for name, conf in clusters.items()), sep="\n  ", flush=True
        )
        with contextlib.suppress(SystemExit):
            while True:
                signal.pause()
    return 0


def _env(cluster: str) -> int:
    state = _state()
    if state is None or cluster not in state["conf"]:
        print(f"no {cluster} cluster is up", file=sys.stderr)
        return 1
    conf = state["conf"][cluster]
    exports = {"HADOOP_CONF_DIR": conf, "HADOOP_HOME": state["directory"], "HADOOP_CP": f"{conf}:{state['jars']}/*"}
    for name, value in exports.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _down() -> int:
    state = _state()
    if state is None:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(state["pid"], signal.SIGTERM)
        return 0
    STATE.unlink(missing_ok=True)
    return 0


def _state() -> dict[str, Any] | None:
    if not STATE.exists():
        return None
    state: dict[str, Any] = json.loads(STATE.read_text())
    return state


if __name__ == "__main__":
    sys.exit(main())
