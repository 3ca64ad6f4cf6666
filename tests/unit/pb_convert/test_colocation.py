from collections.abc import Callable
from dataclasses import replace

import pytest

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import (
    CPU_MILLI,
    MEMORY_MIB,
    Bound,
    Figure,
    Loan,
    LoanReport,
    Pressure,
    ShapingStep,
    Term,
    WrittenReport,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as pb
from yodel.pb_convert import colocation

Spoil = Callable[[pb.YodelCapacityProto], object]


def _loan(resource: str) -> Loan:
    return Loan(
        resource=resource,
        amount=18_400,
        measured=(Figure(name="node", amount=30_000), Figure(name="best-effort", amount=10_000)),
        terms=(
            Term(name="capacity", amount=64_000, why="the size of the node"),
            Term(name="online", amount=-45_550, why="what pods use"),
        ),
        steps=(ShapingStep(name="round", before=18_450, after=18_400, why="down to a multiple of 100"),),
    )


LOAN = LoanReport(
    policy_version="7",
    source="cgroup v1",
    age_ms=120,
    loans=(_loan(CPU_MILLI), _loan(MEMORY_MIB)),
    problems=("memory.stat: no number",),
    pressure=Pressure(source="kubepods/burstable", some_basis_points=301),
)
WRITTEN = WrittenReport(
    policy_version="7",
    bounds=(
        Bound(container="", file="cpu.cfs_quota_us", decided=60_000, written=60_000, read=60_000),
        Bound(container="container_1_1_1_2", file="memory.max", decided=-1, written=None, read=7, put_back=3, why="no"),
    ),
    groups=0,
    best_effort="kubepods.slice/kubepods-besteffort.slice",
    counts=(Figure(name="best-effort-pods-of-others", amount=3),),
    problems=("cpu.max: read-only",),
)
POLICY = Policy(
    version="7",
    preset="koordinator",
    cpu=Formula(share_percent=60, most_percent=90),
    memory=Formula(share_percent=65, counts_system=False, kept=5120, static_amount=0),
    shaping=Shaping(window_s=300, round_memory_mib=128),
    limits=True,
    quota=True,
)


def test_both_reports_survive_the_wire() -> None:
    loan = pb.YodelLoanReportProto.FromString(colocation.loan_report_pb(LOAN).SerializeToString())
    written = pb.YodelWrittenReportProto.FromString(colocation.written_report_pb(WRITTEN).SerializeToString())
    assert (colocation.loan_report(loan), colocation.written_report(written)) == (LOAN, WRITTEN)


@pytest.mark.parametrize("loan", [LOAN, None])
@pytest.mark.parametrize("written", [WRITTEN, None])
def test_in_one_message_they_are_as_the_release_before_has_them(
    loan: LoanReport | None, written: WrittenReport | None
) -> None:
    written = written if loan or written is None else WrittenReport(groups=0, problems=written.problems)
    message = pb.YodelCapacityProto.FromString(colocation.capacity_report_pb(loan, written).SerializeToString())
    found_loan, found = colocation.capacity_report(message)
    said = [*(loan.problems if loan else ()), *(written.problems if written else ())]
    assert list(message.problems) == said
    assert found_loan == (replace(loan, problems=tuple(said)) if loan else None)
    assert replace(found, problems=()) == replace(
        written or WrittenReport(policy_version=LOAN.policy_version if loan else ""), problems=()
    )
    assert found.problems == tuple(said[-1:])


def test_more_bounds_than_a_report_holds_are_left_out_and_said() -> None:
    many = replace(WRITTEN, bounds=WRITTEN.bounds[:1] * 1025, problems=("one",) * 20)
    found = colocation.written_report(colocation.written_report_pb(many))
    assert (len(found.bounds), len(found.problems)) == (1024, 16)
    assert found.problems[-2:] == ("one", "1025 limits are enforced, of which 1024 are reported")


def test_a_policy_survives_the_wire_and_a_static_zero_is_not_an_absent_one() -> None:
    message = pb.YodelPolicyProto.FromString(colocation.policy_pb(POLICY).SerializeToString())
    assert colocation.policy(message) == POLICY


def test_what_is_allocatable_survives_the_wire() -> None:
    for amounts in ({}, {CPU_MILLI: 1, MEMORY_MIB: 0}):
        assert colocation.allocatable(colocation.allocatable_pb(amounts)) == amounts


@pytest.mark.parametrize("amounts", [{"disks": 1}, {MEMORY_MIB: -1}, {CPU_MILLI: 1, MEMORY_MIB: 1, "disks": 1}])
def test_what_cannot_be_allocatable_is_refused(amounts: dict[str, int]) -> None:
    with pytest.raises(InvalidValue, match="allocatable"):
        colocation.allocatable(colocation.allocatable_pb(amounts))


def test_no_policy_is_a_message_without_a_version() -> None:
    assert colocation.policy(colocation.policy_pb(None)) is None


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda m: setattr(m.loans[0], "amount", 18_500), "capacity.loans"),
        (lambda m: setattr(m.loans[0], "amount", -1), "capacity.loans"),
        (lambda m: setattr(m.loans[0].terms[0], "amount", 1 << 62), "capacity.terms"),
        (lambda m: setattr(m.loans[0].steps[0], "before", 18_451), "capacity.loans"),
        (lambda m: setattr(m.loans[1], "resource", "gpu"), "capacity.loans"),
        (lambda m: setattr(m.loans[1], "resource", CPU_MILLI), "capacity"),
        (lambda m: setattr(m.loans[0].terms[0], "why", "x" * 257), "capacity.why"),
        (lambda m: setattr(m.loans[0].terms[0], "why", "\x1b[2J"), "capacity.why"),
        (lambda m: setattr(m.loans[0].terms[0], "name", ""), "capacity.name"),
        (lambda m: setattr(m, "age_ms", -1), "capacity.age_ms"),
        (lambda m: setattr(m, "policy_version", "x" * 65), "capacity.policy_version"),
        (lambda m: m.problems.extend(["x"] * 15), "capacity.problems"),
        (lambda m: setattr(m, "written_groups", -1), "capacity.written_groups"),
        (lambda m: setattr(m, "best_effort", "kubepods/$(reboot)"), "capacity.best_effort"),
        (lambda m: setattr(m, "best_effort", "kubepods/../../etc"), "capacity.best_effort"),
        (lambda m: setattr(m, "best_effort", "kubepods/burstable"), "capacity.best_effort"),
        (
            lambda m: m.MergeFromString(type(m)(best_effort="?").SerializeToString().replace(b"?", b"\xff")),
            "capacity.best_effort",
        ),
        (lambda m: m.loans.add(), "capacity.loans"),
        (lambda m: m.counts.extend([pb.YodelFigureProto(name="x")] * 16), "capacity.counts"),
        (lambda m: setattr(m.counts[0], "amount", -1), "capacity.counts"),
        (lambda m: setattr(m.pressure, "some_basis_points", 10_001), "capacity.pressure"),
        (lambda m: setattr(m.pressure, "source", "\n"), "capacity.pressure.source"),
        (lambda m: m.loans[0].measured.extend([pb.YodelFigureProto(name="x")] * 15), "capacity.measured"),
        (lambda m: m.loans[0].terms.extend([pb.YodelTermProto(name="x")] * 15), "capacity.terms"),
        (lambda m: m.loans[0].steps.extend([pb.YodelStepProto(name="x")] * 16), "capacity.steps"),
    ],
)
def test_a_hostile_report_is_refused_by_the_name_of_its_field(spoil: Spoil, field: str) -> None:
    message = colocation.capacity_report_pb(LOAN, WRITTEN)
    spoil(message)
    with pytest.raises(InvalidValue) as refused:
        colocation.capacity_report(message)
    assert refused.value.field == field


def test_a_policy_out_of_range_is_refused() -> None:
    message = colocation.policy_pb(POLICY)
    message.cpu.online_percent = 99
    with pytest.raises(InvalidValue, match="online_percent: 99, where 100 to 1000 is expected"):
        colocation.policy(message)


def test_a_policy_that_does_not_say_whether_the_system_counts_is_refused() -> None:
    message = colocation.policy_pb(POLICY)
    message.memory.ClearField("counts_system")
    with pytest.raises(InvalidValue, match=r"memory\.counts_system"):
        colocation.policy(message)


EMERGENCY = MemoryEmergency(
    reason="node memory 1.9 GiB of 2.0 GiB (95 %)",
    cool_down_s=60,
    containers=(ContainerId(ApplicationAttemptId(ApplicationId(1, 2), 1), 3),),
)


def test_an_emergency_survives_the_wire() -> None:
    message = pb.YodelEmergencyProto.FromString(colocation.emergency_pb(EMERGENCY).SerializeToString())
    assert colocation.emergency(message) == EMERGENCY


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda m: setattr(m, "reason", ""), "emergency.reason"),
        (lambda m: setattr(m, "reason", "x" * 257), "emergency.reason"),
        (lambda m: setattr(m, "reason", "short\n\x1b[2J"), "emergency.reason"),
        (lambda m: setattr(m, "cool_down_s", 0), "emergency.cool_down_s"),
        (lambda m: setattr(m, "cool_down_s", 3_601), "emergency.cool_down_s"),
        (lambda m: m.containers.extend([m.containers[0]] * 16), "emergency.containers"),
    ],
)
def test_a_hostile_emergency_is_refused_by_the_name_of_its_field(
    spoil: Callable[[pb.YodelEmergencyProto], object], field: str
) -> None:
    message = colocation.emergency_pb(EMERGENCY)
    spoil(message)
    with pytest.raises(InvalidValue) as refused:
        colocation.emergency(message)
    assert refused.value.field == field
