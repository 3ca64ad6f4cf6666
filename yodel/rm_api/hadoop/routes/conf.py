"""``/conf`` (ConfServlet): how this ResourceManager is configured, under Hadoop's names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.hadoop_http.conf import answer_conf
from yodel.rm_api.hadoop.services import services_of


async def conf(request: Request) -> Response:
    return answer_conf(request, services_of(request).process.conf())


ROUTES = (Route("/conf", conf),)
