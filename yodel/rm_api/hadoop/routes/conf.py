"""``/conf`` (ConfServlet): how this ResourceManager is configured, under Hadoop's names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.hadoop_http.conf import answer_conf
from yodel.rm_api.context import api_of


async def conf(request: Request) -> Response:
    return answer_conf(request, api_of(request).services.conf())


ROUTES = (Route("/conf", conf),)
