"""The services that a queue may name.  Another one is a table of its own and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.shuffle.celeborn import CELEBORN
from yodel.domain.shuffle.service import Service
from yodel.domain.shuffle.spark_decommission import SPARK_DECOMMISSION
from yodel.domain.shuffle.uniffle import UNIFFLE

SERVICES: Mapping[str, Service] = {service.name: service for service in (SPARK_DECOMMISSION, CELEBORN, UNIFFLE)}
