"""The nodes' network: a bridge on the host, a network namespace with one address for each node, routes between them."""

from __future__ import annotations

from pathlib import Path

from tests.rigs.kubernetes.daemons import command
from tests.rigs.kubernetes.layout import (
    BRIDGE,
    HOST_ADDRESS,
    NODES_MAX,
    SERVICE_NETWORK,
    namespace,
    node_address,
    pod_subnet,
)

FORWARDING = "net.ipv4.ip_forward"


def prepare_host() -> None:
    if not Path(f"/sys/class/net/{BRIDGE}").exists():
        command("ip", "link", "add", BRIDGE, "type", "bridge")
        command("ip", "address", "add", f"{HOST_ADDRESS}/24", "dev", BRIDGE)
        command("ip", "link", "set", BRIDGE, "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def prepare_node(number: int) -> None:
    """Pods of all nodes, the host and the nodes themselves reach each other by address; nothing leads outside."""
    name = namespace(number)
    if Path(f"/run/netns/{name}").exists():
        return
    inside = ("ip", "-netns", name)
    command("ip", "netns", "add", name)
    command("ip", "link", "add", _link(number), "type", "veth", "peer", "name", "eth0", "netns", name)
    command("ip", "link", "set", _link(number), "master", BRIDGE, "up")
    command(*inside, "address", "add", f"{node_address(number)}/24", "dev", "eth0")
    command(*inside, "link", "set", "lo", "up")
    command(*inside, "link", "set", "eth0", "up")
    command(*inside, "route", "add", "default", "via", HOST_ADDRESS)
    command("nsenter", f"--net=/run/netns/{name}", "sysctl", "-qw", f"{FORWARDING}=1")
    for other in range(1, NODES_MAX + 1):
        if other != number:
            command(*inside, "route", "add", pod_subnet(other), "via", node_address(other))
    command("ip", "route", "replace", pod_subnet(number), "via", node_address(number))
    if number == 1:  # Services are what the nodes' kube-proxy makes of them; the host asks the first one's
        command("ip", "route", "replace", SERVICE_NETWORK, "via", node_address(number))


def cut(number: int) -> None:
    command("ip", "link", "set", _link(number), "down")


def join(number: int) -> None:
    command("ip", "link", "set", _link(number), "up")


def remove_node(number: int) -> None:
    name = namespace(number)
    if Path(f"/run/netns/{name}").exists():
        command("ip", "netns", "delete", name, check=False)
    if Path(f"/sys/class/net/{_link(number)}").exists():
        command("ip", "link", "delete", _link(number), check=False)


def remove_host() -> None:
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        command("ip", "link", "delete", BRIDGE, check=False)


def _link(number: int) -> str:
    return f"yodelrigv{number}"
