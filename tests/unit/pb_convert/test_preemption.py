from __future__ import annotations

from tests.support.records import a_container
from yodel.domain.resource import Resource
from yodel.pb_convert import ids
from yodel.pb_convert.preemption import preemption_pb

MINIMUM = Resource(1024, 1)


def test_the_contract_names_containers_and_how_much_they_are() -> None:
    """Containers are counted as FiCaSchedulerApp.getAllocation does: in minimum allocations, by the largest share."""
    containers = [
        a_container(container=2, capability=Resource(2048, 4)),
        a_container(container=3, capability=Resource(1536, 1)),
    ]
    message = preemption_pb(containers, MINIMUM)
    assert not message.HasField("strictContract")
    assert [ids.container_id(one.id) for one in message.contract.container] == [c.id for c in containers]
    (asked,) = message.contract.resource
    assert asked.resource.num_containers == 5
    assert asked.resource.resource_name == "*"
    assert (asked.resource.capability.memory, asked.resource.capability.virtual_cores) == (1024, 1)
    assert asked.resource.priority.priority == -1


def test_memory_counts_where_it_is_more() -> None:
    message = preemption_pb([a_container(capability=Resource(3000, 1))], MINIMUM)
    assert message.contract.resource[0].resource.num_containers == 3
