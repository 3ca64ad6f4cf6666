"""Capacity reports as an agent makes them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from yodel.domain.colocation.measured import InstantUse, UsageWindow
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, Loan, LoanReport, Term
from yodel.domain.colocation.shaping import Before, loan_of, numbers_of
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.core import Core
from yodel.translator.dialects import dialect
from yodel.translator.names import PUBLISHED
from yodel.translator.pools import rules_of

POLICY = Policy(
    version="one",
    preset="koordinator",
    cpu=Formula(share_percent=60),
    memory=Formula(share_percent=65),
    shaping=Shaping(),
)


def lends(rm: Core, published: Mapping[str, str] = MappingProxyType({})) -> None:
    """Have colocation on, and Kubernetes show a node kube-1 of 16 cores and 16 GiB that publishes this."""
    machine = {"cpu": "16", "memory": "16Gi", **published}
    rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    rm.use_colocation(ColocationSwitch(policy=POLICY))
    rm.facts.node_seen(
        NodeObservation(
            name="kube-1",
            uid="u",
            resource_version="1",
            ready=True,
            capacity=machine,
            allocatable=machine,
            annotations={PUBLISHED: ",".join(published)} if published else {},
        )
    )
    rm.binder.holdings_listed([])


def report(cores: int, version: str = "one", age_ms: int = 0, memory_gib: int | None = None) -> LoanReport:
    """Return a report of so many cores, each with a GiB, unless another amount is given."""
    gib = cores if memory_gib is None else memory_gib
    amounts = {CPU_MILLI: cores * 1000, MEMORY_MIB: gib * 1024}
    loans = tuple(
        Loan(resource=name, amount=amount, measured=(), terms=(Term(name="all", amount=amount, why=""),), steps=())
        for name, amount in amounts.items()
    )
    return LoanReport(policy_version=version, source="cgroup v1", age_ms=age_ms, loans=loans)


def measured_report(cpu_online: int, memory_online: int, version: str = "one") -> LoanReport:
    """Computed by POLICY for a node of 16 cores and 16 GiB whose online pods use that much."""

    def loan(resource: str, capacity: int, online: int) -> Loan:
        use = InstantUse(node=online + 500, pods=online, best_effort=0)
        window = UsageWindow(capacity=capacity, uses=(use,), recent=(use,))
        return loan_of(resource, numbers_of(POLICY, resource), window, Before())

    loans = (loan(CPU_MILLI, 16_000, cpu_online), loan(MEMORY_MIB, 16_384, memory_online))
    return LoanReport(policy_version=version, source="cgroup v2", age_ms=0, loans=loans)
