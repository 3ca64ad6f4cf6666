"""Tries to get out of its container: ``escape.py RIG_FOLDER HOST CANARY NEIGHBOUR``; a line of JSON for each way.

``got`` is what it could do that it must not; empty when nothing.  ``why`` is for whoever reads a failure.
Only Python's standard library: this runs in the container, as the submitting user.
"""

import ctypes
import json
import os
import pathlib
import resource
import socket
import ssl
import stat
import sys
import urllib.error
import urllib.request

FOLDER, HOST, CANARY, NEIGHBOUR = sys.argv[1:5]
WORK = pathlib.Path(os.environ["PWD"])
LOCAL = WORK.parents[4]
LOGS = pathlib.Path(os.environ["LOG_DIRS"].split(",")[0])
NODE = os.environ["NM_HOST"]
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, PTRACE_ATTACH, SYS_BPF = 0x20000, 0x10000000, 16, 321
MOUNTS_OF_OTHERS = ("/var/lib/kubelet", "/run/containerd", "/var/run/docker.sock", "/var/lib/yodel-rig/pki")


def own_files():
    """The one thing that is allowed: without it no other answer means anything."""
    return (WORK / "container_tokens").read_bytes()[:4].decode()


def service_account_token():
    return [str(p) for p in pathlib.Path("/var/run/secrets").rglob("token")]


def files_of_other_users():
    assert os.path.isdir(NEIGHBOUR), "there is nothing to look for"
    return readable(pathlib.Path(NEIGHBOUR)) + readable(pathlib.Path(NEIGHBOUR, "appcache"))


def logs_of_other_users():
    found = []
    for folder in LOGS.parents[2].glob("*/application_*"):
        if folder.stat().st_uid != os.getuid():
            found += readable(folder)
    return found


def readable(folder):
    try:
        return [str(folder / name) for name in os.listdir(folder)]
    except OSError:
        return []


def state_of_the_agent():
    return readable(pathlib.Path(FOLDER, "state"))


def other_hand_overs():
    own = os.environ["YODEL_HANDOVER_DIR"]
    return [name for name in readable(pathlib.Path(own).parent) if name != own]


def writing_to_the_nodes_folders():
    return written(LOCAL, LOCAL / "filecache", LOCAL / "usercache", LOCAL.parent, LOGS.parents[1], LOGS.parents[2])


def writing_to_the_image():
    return written(*map(pathlib.Path, ("/", "/etc", "/usr/bin", "/opt/hadoop", "/root", "/lib")))


def written(*folders):
    found = []
    for folder in folders:
        try:
            (folder / os.environ["MARK"]).write_text("x")
            found.append(str(folder))
        except OSError:
            pass
    return found


def sockets_of_the_node():
    return [path for path in MOUNTS_OF_OTHERS if os.path.exists(path)]


def nameless_sockets():
    found = []
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        name = line.split()[-1]
        if name.startswith("@"):
            with socket.socket(socket.AF_UNIX) as one:
                one.settimeout(1)
                if one.connect_ex("\0" + name[1:]) == 0:
                    found.append(name)
    return found


def answer(url, **more):
    """The answer's body when it was a good one."""
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=2, context=context) as found:
            return [url, found.read(80).decode(errors="replace")]
    except (urllib.error.URLError, OSError):
        return []


def kubelet():
    found = [f"https://{NODE}:10250{path}" for path in ("/pods", "/runningpods/", "/stats/summary")]
    run = answer(f"https://{NODE}:10250/run/kube-system/x/y", method="POST", data=b"cmd=id")
    return [line for url in found for line in answer(url)] + run + answer(f"http://{NODE}:10255/pods")


def api_server():
    api = f"https://{HOST}:6443"
    paths = ("/api/v1/secrets", "/api/v1/pods", "/api/v1/namespaces/yodel-containers/pods")
    body = {"method": "POST", "data": b"{}", "headers": {"Content-Type": "application/json"}}
    return [line for path in paths for line in answer(api + path)] + answer(api + paths[2], **body)


def etcd_and_controllers():
    urls = (f"http://{HOST}:2379/v2/keys", f"https://{HOST}:10257/configz", f"https://{HOST}:10259/configz")
    return [line for url in urls for line in answer(url)]


def other_users_processes():
    numbers = [entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    return [entry.name for entry in numbers if entry.stat().st_uid != os.getuid()]


def ptrace_of_others():
    return [pid for pid in other_users_processes() if LIBC.ptrace(PTRACE_ATTACH, int(pid), 0, 0) == 0]


def called(number, *arguments):
    return [f"errno {ctypes.get_errno()}"] if number(*arguments) == 0 else []


def mount():
    return called(LIBC.mount, b"none", b"/tmp", b"tmpfs", 0, None) + called(LIBC.umount2, b"/proc", 2)


def namespaces():
    return called(LIBC.unshare, CLONE_NEWNS) + called(LIBC.unshare, CLONE_NEWUSER)


def other_identities():
    return called(LIBC.setuid, 0) + called(LIBC.setgid, 0) + called(LIBC.setgroups, 0, None)


def capabilities():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    wanted = {"CapEff": "0" * 16, "CapPrm": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
    return [f"{name} {facts[name]}" for name, value in wanted.items() if facts[name] != value]


def devices():
    found = []
    for name in ("mem", "kmem", "kmsg", "sda", "vda", "fuse", "kvm", "loop0"):
        try:
            os.close(os.open(f"/dev/{name}", os.O_RDWR))
            found.append(name)
        except OSError:
            pass
    try:
        os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
        found.append("mknod")
    except OSError:
        pass
    return found


def kernel_settings():
    found = []
    release_agents = [str(path) for path in pathlib.Path("/sys/fs/cgroup").glob("*/release_agent")]
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", *release_agents):
        try:
            os.close(os.open(path, os.O_WRONLY))
            found.append(path)
        except OSError:
            pass
    return found


def raw_packets():
    found = []
    for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
        try:
            socket.socket(family, kind, socket.IPPROTO_ICMP).close()
            found.append(str(family))
        except OSError:
            pass
    return found


def limits_raised():
    try:
        resource.setrlimit(resource.RLIMIT_NICE, (40, 40))
        os.setpriority(os.PRIO_PROCESS, 0, -5)
    except (OSError, ValueError):
        return []
    return ["nice"]


def traps_for_the_agent():
    """Links and odd files where the agent reads, uploads and removes; whether it falls into them is seen outside."""
    for name, target in (("shadow.log", "/etc/shadow"), ("node.log", FOLDER + "/state"), ("root", "/")):
        os.symlink(target, LOGS / name)
    os.mkfifo(LOGS / "waits.log")
    (LOGS / "a\nb; touch x.log").write_text("odd name\n")
    os.symlink(CANARY, WORK / "canary")
    os.rename(WORK / "tmp", WORK / "tmp.away")
    os.symlink(CANARY, WORK / "tmp")
    os.rename(WORK.parent / "filecache", WORK.parent / "filecache.away")
    os.symlink(CANARY, WORK.parent / "filecache")
    for name in ("pid", "exit", "again"):
        path = pathlib.Path(os.environ["YODEL_HANDOVER_DIR"], name)
        path.unlink(missing_ok=True)
        os.symlink("/etc/shadow", path)
        path.unlink()
    return []


PROBES = (
    own_files, service_account_token, files_of_other_users, logs_of_other_users,
    state_of_the_agent, other_hand_overs, writing_to_the_nodes_folders, writing_to_the_image, sockets_of_the_node,
    nameless_sockets, kubelet, api_server, etcd_and_controllers, other_users_processes, ptrace_of_others, mount,
    namespaces, other_identities, capabilities, devices, kernel_settings, raw_packets, limits_raised,
    traps_for_the_agent,
)  # fmt: skip

for probe in PROBES:
    try:
        said = {"probe": probe.__name__, "got": probe(), "why": ""}
    except OSError as error:
        said = {"probe": probe.__name__, "got": [], "why": str(error)}
    print(json.dumps(said), flush=True)
