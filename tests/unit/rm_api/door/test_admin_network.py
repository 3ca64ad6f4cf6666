"""Administration over the web port is taken from where administrators are."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from starlette.routing import Route

from tests.support.rest_world import rest_world
from yodel.rm_api import app
from yodel.rm_api.door.admin_network import _is_in

ADMINISTRATION = {
    ("PUT", "/ws/v1/cluster/scheduler-conf"),
    ("POST", "/ws/v1/cluster/scheduler-conf/validate"),
    ("GET", "/ws/v1/cluster/scheduler-conf/format"),
    ("POST", "/ws/v1/cluster/scheduler/logs"),
    ("POST", "/ws/v1/cluster/add-node-labels"),
    ("POST", "/ws/v1/cluster/remove-node-labels"),
    ("POST", "/ws/v1/cluster/replace-node-to-labels"),
    ("POST", "/ws/v1/cluster/nodes/{node_id}/replace-labels"),
    ("POST", "/ws/v1/cluster/nodes/{node_id}/resource"),
    ("GET", "/logLevel"),
}
USERS_OWN = ("/ws/v1/cluster/apps", "/ws/v1/cluster/delegation-token", "/ws/v1/cluster/reservation", "/proxy/")
SIGNAL = "/ws/v1/cluster/containers/{container_id}/signal/{command}"


def test_each_route_that_changes_something_is_a_users_or_an_administrators() -> None:
    routes = [route for module in app.ROUTES for route in module.ROUTES if isinstance(route, Route)]
    judged = {
        (method, route.path)
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
        if getattr(route.endpoint, "is_administrative", False)
    }
    assert judged == ADMINISTRATION
    changing = {(m, route.path) for route in routes for m in (route.methods or set()) - {"GET", "HEAD", "OPTIONS"}}
    others = {path for method, path in changing - ADMINISTRATION}
    assert {path for path in others if not path.startswith(USERS_OWN)} == {SIGNAL}


@pytest.mark.parametrize(("method", "path"), sorted(ADMINISTRATION))
async def test_administrator_is_refused_from_elsewhere(method: str, path: str) -> None:
    url = path.replace("{node_id}", "node-1:8041") + "?user.name=admin&log=x&level=INFO"
    async with rest_world(admin_networks=(ip_network("10.0.0.0/8"),)) as world:
        answer = await world.client.request(method, url)
        assert answer.status_code == 403
        assert "(setting web.admin_networks)" in answer.text
        assert (await world.client.get("/ws/v1/cluster/scheduler-conf?user.name=admin")).status_code == 200
    async with rest_world(admin_networks=(ip_network("127.0.0.0/8"),)) as world:
        assert "web.admin_networks" not in (await world.client.request(method, url)).text


async def test_who_shows_the_administrator_s_token_administers_from_anywhere() -> None:
    async with rest_world(admin_networks=(ip_network("10.0.0.0/8"),), admin_token=b"t" * 16) as world:
        said = {"scheduler": {"yodel.colocation.cpu.kept-milli": "1"}}
        for shown, status in (({}, 403), ({"Authorization": f"Bearer {'t' * 16}"}, 200)):
            headers = {"If-Match": f'"{world.rm.scheduler_conf.version}"', **shown}
            answer = await world.client.patch("/api/v1/queues?user.name=admin", json=said, headers=headers)
            assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("host", "is_in"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("11.1.2.3", False),
        ("fe80::1%eth0", True),
        ("::1", False),
        ("", False),
        ("a.socket", False),
    ],
)
def test_addresses_are_compared_as_addresses(host: str, is_in: bool) -> None:
    assert _is_in(host, (ip_network("10.0.0.0/8"), ip_network("fe80::/10"))) is is_in
