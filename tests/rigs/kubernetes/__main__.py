"""A Kubernetes on this machine with Yodel installed by its chart, an HDFS beside it, and clients for both.

python -m tests.rigs.kubernetes up        all of it; says what it does.  Again: what is missing, and the newest code
python -m tests.rigs.kubernetes env       what to export so that kubectl, Hadoop and Spark find it
python -m tests.rigs.kubernetes status    its processes, memory and processor time
python -m tests.rigs.kubernetes down      end it and remove it
python -m tests.rigs.kubernetes node N stop-kubelet|crash|cut|join|restart    hurt a node, and heal it
python -m tests.rigs.kubernetes cpus [N=CPUS]... [rest=CPUS]    processors that nodes, and all else, use; none: all
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.rigs.kubernetes import cores, rig
from tests.rigs.kubernetes.daemons import RigError

NODE_ACTIONS = ("stop-kubelet", "crash", "cut", "join", "restart")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.rigs.kubernetes",
        description=(__doc__ or "").splitlines()[0],
        epilog="With KUBECONFIG set, `up` installs Yodel into that cluster and starts none (see README.md).",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what is missing, install the newest code")
    up.add_argument("--nodes", type=int, default=3, help="1 to 9 (3)")
    up.add_argument("--bare", action="store_true", help="the cluster alone: no HDFS, no Yodel")
    commands.add_parser("env", help="print exports")
    commands.add_parser("status", help="what runs")
    commands.add_parser("down", help="end and remove all of it")
    node = commands.add_parser("node", help="hurt a node, and heal it")
    node.add_argument("number", type=int)
    node.add_argument("action", choices=NODE_ACTIONS)
    cpus = commands.add_parser("cpus", help="which processors nodes, and the rest of the cluster, may use")
    cpus.add_argument("words", nargs="*", metavar="N=CPUS", help="1=1 2=0 3=0 rest=0; who is not named has all")
    arguments = parser.parse_args()
    actions: dict[str, Callable[[], None]] = {
        "up": lambda: _up(arguments),
        "env": _print_env,
        "status": lambda: print("\n".join(rig.status())),
        "down": lambda: rig.down(_teller()),
        "cpus": lambda: _put_cpus(arguments.words),
        "node": lambda: rig.node(arguments.number, arguments.action),
    }
    try:
        actions[arguments.command]()
    except RigError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


def _up(arguments: argparse.Namespace) -> None:
    rig.up(_own_kubeconfig(), nodes=arguments.nodes, bare=arguments.bare, say=_teller())
    print('next: eval "$(make -s cluster-env)"; kubectl get nodes', file=sys.stderr)


def _put_cpus(words: Sequence[str]) -> None:
    said = dict(word.partition("=")[::2] for word in words)
    rest = said.pop("rest", "")
    if any(not name.isdecimal() or not value for name, value in said.items()):
        raise RigError("expected N=CPUS or rest=CPUS, as 1=1 rest=0")
    cores.put(rig.HOME, {int(name): value for name, value in said.items()}, rest)


def _own_kubeconfig() -> Path | None:
    path = os.environ.get("KUBECONFIG")
    return Path(path) if path and Path(path) != rig.KUBECONFIG else None


def _print_env() -> None:
    for name, value in rig.exports().items():
        print(f"export {name}={shlex.quote(value)}")


def _teller() -> Callable[[str], None]:
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr, flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main())
