"""Writes docs/configuration.md from the settings' own fields.

    .venv/bin/python scripts/configuration.py

A test fails when the page is older than the fields.
"""

from __future__ import annotations

import getpass
import socket
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

import nm_plugin.settings
import yodel.settings.rm
from yodel.settings.preemption import PreemptionSettings
from yodel.settings.queues import CustomDialect, CustomGang, QueueSettings, UserIds
from yodel.settings.rpc import AgentRpcSettings, RmRpcSettings
from yodel.settings.web import WebSettings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
COMPUTED = {socket.getfqdn: "this machine's full name", getpass.getuser: "the user who runs it"}
COMPUTED_BY_NAME = {"user_mode": "os as root, else single"}
INTRODUCTION = """# Configuration
Made by `scripts/configuration.py` from the fields in the code; not edited by hand.

A setting is looked for in this order: environment, TOML file, default. A file is a list of `name = value`, and the
tables named below:

```toml
store_url = "postgresql+asyncpg://yodel@db/yodel"
client_port = 8032
allowed_system_users = ["hdfs"]
```

In the environment the name is upper case behind a prefix; lists and tables are JSON: `YODEL_CLIENT_PORT=18032`,
`YODEL_ALLOWED_SYSTEM_USERS='["hdfs"]'`. An unknown name is an error, not a warning. Secrets are never settings: where
one is needed, the setting names the file it is in."""


TABLES: tuple[tuple[str, str, type[BaseModel]], ...] = (
    (
        'Queues: `[queue_defaults]` and `[queue_settings."root.default"]`',
        """How the pods of a queue look and who places them. What a queue does not say, `queue_defaults` says; what
these do not say either is the ResourceManager's own setting above, or nothing. A queue is named by its full path.
What may be in a `pod_template`, and how it is merged: [decision 0032](decisions/0032-pod-templates.md).

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
        "Dialects of the house: `[dialects.NAME]`",
        "An engine with resource names of its own; [dialects](dialects.md) shows an example and the known ones.",
        CustomDialect,
    ),
    ("Groups of such a dialect: `[dialects.NAME.gang]`", "The object that its scheduler places together.", CustomGang),
    (
        "Callers over HTTP: `[web]`",
        """By whom the web port is believed to be called, and what browsers are told about it. Hadoop's property is
named beside each; a list there is one here.

```toml
[web]
anonymous_allowed = false
cross_origin_enabled = true
cross_origin_origins = ["https://*.example.com"]
```""",
        WebSettings,
    ),
    (
        "Callers over RPC: `[rpc]`",
        """What callers may send and hold. Refusals name the setting; all limits are in
[compatibility](compatibility.md#limits).

```toml
[rpc]
client_frame_mib_max = 8
connections_per_address_max = 20000
```""",
        RmRpcSettings,
    ),
    (
        "Giving back: `[preemption]`",
        """How queues give back what they hold above their guarantee; [queues](queues.md#giving-back) tells how. A queue
that is not to be asked says `disable_preemption` among its properties.

```toml
[preemption]
enabled = true
natural_termination_factor = 1.0
```""",
        PreemptionSettings,
    ),
    ("Users: `[user_ids.NAME]`", "Who a user is on the nodes.", UserIds),
)


def render() -> str:
    """The page."""
    return (
        "\n\n".join(
            (
                INTRODUCTION,
                _section("ResourceManager", "`yodel serve --config FILE`", yodel.settings.rm),
                *(_table(heading, text, model) for heading, text, model in TABLES),
                _section("Node agent", "`yodel-nm --config FILE`; one setting: `--set name=value`", nm_plugin.settings),
                _table("Callers over RPC: `[rpc]`", "What ApplicationMasters may send and hold.", AgentRpcSettings),
            )
        )
        + "\n"
    )


def _section(title: str, how: str, module: Any) -> str:
    settings: type[BaseSettings] = module.Settings
    fields = settings.model_fields.items()
    rows = [f"| `{name}` | {_default(name, field)} | {_meaning(field)} |" for name, field in fields]
    head = f"## {title}\n{how}. Fields: `{module.__name__.replace('.', '/')}.py`. Prefix: `{module.ENV_PREFIX}`."
    return "\n".join((head, "", "| Setting | Default | Meaning |", "|---|---|---|", *rows))


def _table(title: str, text: str, model: type[BaseModel]) -> str:
    rows = [f"| `{name}` | {_inner_default(field)} | {_meaning(field)} |" for name, field in model.model_fields.items()]
    return "\n".join((f"### {title}", text, "", "| Setting | Default | Meaning |", "|---|---|---|", *rows))


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
    if isinstance(value, tuple):
        return ", ".join(f"`{part}`" for part in value) or "empty"
    return f"`{value}`" if str(value) not in ("", "{}") else "empty"


def _meaning(field: FieldInfo) -> str:
    return (field.description or "").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render())
