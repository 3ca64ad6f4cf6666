"""Writes docs/configuration.md from the settings' own fields.

    .venv/bin/python scripts/configuration.py

A test fails when the page is older than the fields.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

import nm_plugin.settings
import yodel.settings.rm
from yodel.settings.preemption import PreemptionSettings
from yodel.settings.queues import CustomDialect, CustomGang, QueueSettings, UserIds
from yodel.settings.rpc import AgentRpcSettings, RmRpcSettings
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
COMPUTED = {socket.getfqdn: "this machine's full name", getpass.getuser: "the user who runs it"}
COMPUTED_BY_NAME = {"user_mode": "os as root, else single"}
READ_AGAIN = {
    **dict.fromkeys(("admin_acl",), "-refreshAdminAcls"),
    **dict.fromkeys(("max_priority",), "-refreshClusterMaxPriority"),
    **dict.fromkeys(("nodes_include_path", "nodes_exclude_path", "node_racks_path"), "-refreshNodes"),
    **dict.fromkeys(("dynamic_resources_path",), "-refreshNodesResources"),
    **dict.fromkeys(("proxy_users",), "-refreshSuperUserGroupsConfiguration"),
    **dict.fromkeys(
        (
            *("queues", "queue_maximum_lifetime_s", "queue_default_lifetime_s", "image"),
            *("dialect", "dialects", "handover_dir", "host_paths", "milli_per_vcore", "scheduler_name", "pod_grace_s"),
            *("host_network", "queue_defaults", "queue_settings", "node_managers_pool"),
        ),
        "-refreshQueues",
    ),
}
"""Settings of the ResourceManager that count anew without a restart, with the command of ``yarn rmadmin``."""
UNITS = (
    ("_per_second", "per second"),
    ("_percent", "percent"),
    ("_mib", "MiB"),
    ("_mib_max", "MiB"),
    ("_bytes_max", "bytes"),
    ("_ms", "ms"),
    ("_s", "s"),
)
KINDS = {bool: "true or false", int: "integer", float: "number", str: "text", Path: "path"}
INTRODUCTION = """# Configuration
Made by `scripts/configuration.py` from the fields in the code; not edited by hand.

A setting is read from the environment, the TOML file, or its default, in this order. The file has lines
`name = value`, and the tables below:

```toml
store_url = "postgresql+asyncpg://yodel@db/yodel"
client_port = 8032
allowed_system_users = ["hdfs"]
```

In the environment the name is upper case after a prefix; lists and tables are JSON: `YODEL_CLIENT_PORT=18032`,
`YODEL_ALLOWED_SYSTEM_USERS='["hdfs"]'`. An unknown name is an error, not a warning. Secrets are never settings: the
setting names the file that contains one.

The last column but one names the `yarn rmadmin` command that rereads a setting of the running ResourceManager.
All others, and all of the node agent, take effect at the next start."""


TABLES: tuple[tuple[str, str, type[BaseModel]], ...] = (
    (
        'Queues: `[queue_defaults]` and `[queue_settings."root.default"]`',
        """How a queue's pods look and who chooses their nodes. A value that a queue does not set comes from
`queue_defaults`, or else from the ResourceManager's setting above, if there is one. Queues are named by full path.
What a `pod_template` may hold, and how it is merged: [decision 0032](decisions/0032-pod-templates.md).

```toml
[queue_settings."root.default"]
dialect = "koordinator"
scheduler_name = "koord-scheduler"
images_allowed = ["registry.example.com/hadoop/*"]

[[queue_settings."root.default".pod_template.spec.tolerations]]
key = "batch"
operator = "Exists"
```""",
        QueueSettings,
    ),
    (
        "Dialects of your own: `[dialects.NAME]`",
        "For an engine with resource names of its own. [Dialects](dialects.md) shows an example and the built-in ones.",
        CustomDialect,
    ),
    (
        "Groups of such a dialect: `[dialects.NAME.gang]`",
        "The group object whose pods the engine's scheduler places together.",
        CustomGang,
    ),
    (
        "Callers over HTTP: `[web]`",
        """Who may call the web port, and headers for browsers. Each setting names Hadoop's property; a list
in Hadoop is a list here.

```toml
[web]
anonymous_allowed = false
cross_origin_enabled = true
cross_origin_origins = ["https://*.example.com"]
```""",
        WebSettings,
    ),
    (
        "Kerberos: `[security]`",
        """How clients and administrators prove their names over RPC: see [Kerberos](kerberos.md). The library that
checks tickets comes with the extra `yodel[kerberos]`.

```toml
node_token_file = "/etc/yodel/node-token"

[security]
authentication = "kerberos"
principal = "rm/_HOST@EXAMPLE.COM"
keytab = "/etc/yodel/rm.keytab"

[web]
authentication = "kerberos"
```""",
        SecuritySettings,
    ),
    (
        "Callers over RPC: `[rpc]`",
        """What callers may send and keep open. A refusal names the setting that caused it; all limits are listed in
[compatibility](compatibility.md#limits).

```toml
[rpc]
client_frame_mib_max = 8
connections_per_address_max = 20000
```""",
        RmRpcSettings,
    ),
    (
        "Preemption: `[preemption]`",
        """Preemption of what queues use above their guarantee: see [queues](queues.md#preemption). A queue with
the property `disable_preemption` is left alone.

```toml
[preemption]
enabled = true
natural_termination_factor = 1.0
```""",
        PreemptionSettings,
    ),
    ("Users: `[user_ids.NAME]`", "A user's ids on the nodes.", UserIds),
)


SPARK = "It runs next to the agent: [decision 0014](decisions/0014-side-processes-for-other-services.md)."
READ_AGAIN_TABLES = (QueueSettings, CustomDialect, CustomGang)


def render() -> str:
    """The page."""
    return (
        "\n\n".join(
            (
                INTRODUCTION,
                _section("ResourceManager", "`yodel serve --config FILE`", yodel.settings.rm),
                *(_table(heading, text, model) for heading, text, model in TABLES),
                _section("Node agent", "`yodel-nm --config FILE`; one setting: `--set name=value`", nm_plugin.settings),
                _table(
                    "Callers over RPC: `[rpc]`", "What ApplicationMasters may send and keep open.", AgentRpcSettings
                ),
                _table("Spark's shuffle service: `[aux_services.NAME]`", SPARK, nm_plugin.settings.SparkShuffle),
            )
        )
        + "\n"
    )


def _section(title: str, how: str, module: Any) -> str:
    settings: type[BaseSettings] = module.Settings
    is_read_again = module is yodel.settings.rm
    head = f"## {title}\n{how}. Fields: `{module.__name__.replace('.', '/')}.py`. Prefix: `{module.ENV_PREFIX}`."
    rows = [
        (name, _kind(name, field), _default(name, field), READ_AGAIN.get(name, ""), _meaning(field))
        for name, field in settings.model_fields.items()
    ]
    return "\n".join((head, "", *_rows(rows, is_read_again=is_read_again)))


def _table(title: str, text: str, model: type[BaseModel]) -> str:
    again = "-refreshQueues" if model in READ_AGAIN_TABLES else ""
    rows = [
        (name, _kind(name, field), _inner_default(field), again, _meaning(field))
        for name, field in model.model_fields.items()
    ]
    return "\n".join((f"### {title}", text, "", *_rows(rows, is_read_again=bool(again))))


def _rows(rows: Iterable[tuple[str, str, str, str, str]], *, is_read_again: bool) -> Iterator[str]:
    """A column of commands only where there are some."""
    head = ("Setting", "Type", "Default", *(("Read again by",) if is_read_again else ()), "Meaning")
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for name, kind, default, again, meaning in rows:
        cells = (f"`{name}`", kind, default, *((f"`{again}`" if again else "",) if is_read_again else ()), meaning)
        yield f"| {' | '.join(cells)} |"


def _kind(name: str, field: FieldInfo) -> str:
    """The type for people, with the unit that the name says."""
    kind = _words(field.annotation)
    unit = next((unit for ending, unit in UNITS if name.endswith(ending)), "")
    return f"{kind}, {unit}" if unit and kind in ("integer", "number") else kind


def _words(annotation: Any) -> str:
    """A type for people; of an optional one what it is where it is given."""
    origin, inner = get_origin(annotation), [part for part in get_args(annotation) if part is not NoneType]
    if origin is Annotated or origin in (Union, UnionType):
        return _words(inner[0])
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in inner)
    if origin in (tuple, frozenset):
        return "list of paths" if inner[0] is Path else "list"
    if origin is not None or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "table"
    return KINDS[annotation]


def _inner_default(field: FieldInfo) -> str:
    return "must be given" if field.is_required() else _default("", field)


def _default(name: str, field: FieldInfo) -> str:
    if name in COMPUTED_BY_NAME:
        return COMPUTED_BY_NAME[name]
    if field.default_factory in COMPUTED:
        return COMPUTED[field.default_factory]
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return "empty"
    if value is None or value is PydanticUndefined:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | frozenset):
        return ", ".join(f"`{part}`" for part in value) or "empty"
    return f"`{value}`" if str(value) not in ("", "{}") else "empty"


def _meaning(field: FieldInfo) -> str:
    return " ".join((field.description or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render())
