"""The pod of a container, by its name.  Until now it followed from the container's id, and is written down as it did.

``containers.target`` is written as before, for releases before this one, and read no more.
"""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = re.compile(r"container_(?:e(?P<epoch>\d+)_)?(?P<cluster>\d+)_(?P<app>\d+)_(?P<attempt>\d+)_(?P<number>\d+)")
_BATCH = 1_000


def upgrade() -> None:
    op.add_column("containers", sa.Column("pod", sa.Text(), nullable=True))
    op.add_column("ended_containers", sa.Column("pod", sa.Text(), nullable=True))
    containers = sa.table("containers", sa.column("id", sa.Text()), sa.column("pod", sa.Text()))
    connection = op.get_bind()
    ids = list(connection.execute(sa.select(containers.c.id)).scalars())
    fill = containers.update().where(containers.c.id == sa.bindparam("of")).values(pod=sa.bindparam("name"))
    for start in range(0, len(ids), _BATCH):
        connection.execute(fill, [{"of": found, "name": _name(found)} for found in ids[start : start + _BATCH]])


def _name(container_id: str) -> str:
    """Return the pod's name: ``container_e03_17_0007_01_000002`` has ``application-17-0007-01-e03-000002``."""
    found = _ID.fullmatch(container_id)
    assert found is not None, f"containers.id is {container_id}, no container's id"
    epoch = f"e{found['epoch']}-" if found["epoch"] else ""
    numbers = f"{found['cluster']}-{found['app']}-{found['attempt']}-{epoch}{found['number']}"
    return f"application-{numbers}"
