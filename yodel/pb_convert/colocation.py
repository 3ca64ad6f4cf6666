"""A node's capacity report, the policy behind it and a node's emergency, between protobuf and domain.

What comes from the wire is bounded and checked here as a whole: a report whose sums do not add up, or that says more
than any agent has to say, is refused with ``InvalidValue`` and has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import TypeVar

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.groups import best_effort_group
from yodel.domain.colocation.policy import AMOUNT_MAX, FORMULA_RANGES, SHAPING_RANGES, Formula, Policy, Shaping
from yodel.domain.colocation.report import (
    RESOURCES,
    Bound,
    Figure,
    Loan,
    LoanReport,
    Pressure,
    ShapingStep,
    Term,
    WrittenReport,
)
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.texts import text

NAME_LENGTH_MAX = 64
WHY_LENGTH_MAX = 256
ENTRIES_MAX = 16
"""Figures, terms or steps of one loan, problems of a report, or containers ended: a formula has six terms."""
AGE_MS_MAX = 86_400_000
COOL_DOWN_S_MAX = 3_600
BOUNDS_MAX = 1_024
"""Files of batch pods in one report; more are not told."""
BOUND_RANGE = (-1, (1 << 63) - 1)
PRESSURE_MAX = 10_000
"""Hundredths of a percent."""
REPORTED_MAX = AMOUNT_MAX << 8
"""The most of any amount in a report: a sum may go further than each of its numbers."""

T = TypeVar("T")


LoanMessage = pb.YodelLoanReportProto | pb.YodelCapacityProto
WrittenMessage = pb.YodelWrittenReportProto | pb.YodelCapacityProto


def loan_report(message: LoanMessage) -> LoanReport:
    """Return an agent's report of its lent capacity.

    Raises:
        InvalidValue: a text is too long or unprintable, there are too many entries, a number is out of range, or terms
            and steps do not add up to the loan.
    """
    _bounded("capacity.loans", message.loans, len(RESOURCES))
    return _built(
        "capacity",
        lambda: LoanReport(
            policy_version=_line("capacity.policy_version", message.policy_version, NAME_LENGTH_MAX),
            source=_line("capacity.source", message.source, NAME_LENGTH_MAX),
            age_ms=_within("capacity.age_ms", message.age_ms, 0, AGE_MS_MAX),
            loans=tuple(_loan(loan) for loan in message.loans),
            problems=_problems(message.problems),
            pressure=_pressure(message.pressure) if message.HasField("pressure") else None,
        ),
    )


def written_report(message: WrittenMessage) -> WrittenReport:
    """Return an agent's report of control groups.

    Raises:
        InvalidValue: a text is too long or unprintable, there are too many entries, or a number is out of range.
    """
    _bounded("capacity.bounds", message.bounds, BOUNDS_MAX)
    _bounded("capacity.counts", message.counts, ENTRIES_MAX)
    return WrittenReport(
        policy_version=_line("capacity.policy_version", message.policy_version, NAME_LENGTH_MAX),
        groups=_written_groups(message),
        best_effort=_group(message.best_effort),
        bounds=tuple(_bound(one) for one in message.bounds),
        counts=tuple(
            Figure(name=_name(one.name), amount=_within("capacity.counts", one.amount, 0, REPORTED_MAX))
            for one in message.counts
        ),
        problems=_problems(message.problems),
    )


def capacity_report(message: pb.YodelCapacityProto) -> tuple[LoanReport | None, WrittenReport]:
    """Return both, of an agent of the release before; without a policy it lends nothing.  Raises InvalidValue."""
    loan, written = loan_report(message), written_report(message)
    return loan if loan.policy_version else None, replace(written, problems=written.problems[-1:])


def loan_report_pb(report: LoanReport) -> pb.YodelLoanReportProto:
    return pb.YodelLoanReportProto(
        policy_version=report.policy_version,
        source=report.source,
        age_ms=min(report.age_ms, AGE_MS_MAX),
        loans=[_loan_pb(loan) for loan in report.loans],
        problems=[problem[:WHY_LENGTH_MAX] for problem in report.problems[:ENTRIES_MAX]],
        pressure=None if report.pressure is None else _pressure_pb(report.pressure),
    )


def written_report_pb(report: WrittenReport) -> pb.YodelWrittenReportProto:
    """Encode a report; what exceeds its maximum is left out, and noted among the problems."""
    problems = report.problems
    if len(report.bounds) > BOUNDS_MAX:
        left_out = f"{len(report.bounds)} limits are enforced, of which {BOUNDS_MAX} are reported"
        problems = (*problems[: ENTRIES_MAX - 1], left_out)
    return pb.YodelWrittenReportProto(
        policy_version=report.policy_version,
        problems=[problem[:WHY_LENGTH_MAX] for problem in problems[:ENTRIES_MAX]],
        bounds=[_bound_pb(bound) for bound in report.bounds[:BOUNDS_MAX]],
        counts=[pb.YodelFigureProto(name=one.name, amount=one.amount) for one in report.counts[:ENTRIES_MAX]],
        written_groups=report.groups,
        best_effort=report.best_effort or None,
    )


def capacity_report_pb(loan: LoanReport | None, written: WrittenReport | None) -> pb.YodelCapacityProto:
    """Encode both reports in one message, for a ResourceManager of the previous release: the fields have the same
    numbers there."""
    message = pb.YodelCapacityProto()
    if loan is not None:
        message.MergeFromString(loan_report_pb(loan).SerializeToString())
    if written is not None:
        message.MergeFromString(written_report_pb(written).SerializeToString())
        del message.problems[ENTRIES_MAX:]
    return message


def emergency(message: pb.YodelEmergencyProto) -> MemoryEmergency:
    """Return an agent's report of an emergency.

    Raises:
        InvalidValue: the reason is empty, too long or unprintable, there are too many containers, or the cool-down is
            out of range.
    """
    _bounded("emergency.containers", message.containers, ENTRIES_MAX)
    reason = _line("emergency.reason", message.reason, WHY_LENGTH_MAX)
    if not reason:
        raise InvalidValue("emergency.reason", reason, "what was measured")
    return MemoryEmergency(
        reason=reason,
        cool_down_s=_within("emergency.cool_down_s", message.cool_down_s, 1, COOL_DOWN_S_MAX),
        containers=tuple(ids.container_id(one) for one in message.containers),
    )


def emergency_pb(value: MemoryEmergency) -> pb.YodelEmergencyProto:
    return pb.YodelEmergencyProto(
        reason=value.reason[:WHY_LENGTH_MAX],
        cool_down_s=value.cool_down_s,
        containers=[ids.container_id_pb(one) for one in value.containers[-ENTRIES_MAX:]],
    )


def allocatable(messages: Sequence[pb.YodelFigureProto]) -> dict[str, int]:
    """Return the amounts that the kubelet leaves to pods, by resource; empty if there are none in the message.

    Raises:
        InvalidValue: a name that is no resource, or an amount out of range.
    """
    _bounded("allocatable", messages, len(RESOURCES))
    amounts = {one.name: _within("allocatable", one.amount, 0, REPORTED_MAX) for one in messages}
    if unknown := amounts.keys() - RESOURCES:
        raise InvalidValue("allocatable", ", ".join(sorted(unknown)), f"one of {', '.join(RESOURCES)}")
    return amounts


def allocatable_pb(amounts: Mapping[str, int]) -> list[pb.YodelFigureProto]:
    return [pb.YodelFigureProto(name=name, amount=min(amount, REPORTED_MAX)) for name, amount in amounts.items()]


def policy(message: pb.YodelPolicyProto) -> Policy | None:
    """Return the policy, or None where the message says that there is none: it has no version.

    Raises:
        InvalidValue: a number is missing or out of range.
    """
    version = _line("colocation_policy.version", message.version, NAME_LENGTH_MAX)
    if not version:
        return None
    return Policy(
        version=version,
        preset=_line("colocation_policy.preset", message.preset, NAME_LENGTH_MAX),
        cpu=_formula("colocation_policy.cpu", message.cpu),
        memory=_formula("colocation_policy.memory", message.memory),
        shaping=_shaping(message.shaping),
        limits=message.limits,
        quota=message.quota,
    )


def policy_pb(value: Policy | None) -> pb.YodelPolicyProto:
    """Return the message; of no policy one without a version, on which an agent stops measuring."""
    if value is None:
        return pb.YodelPolicyProto()
    shaping = {name: getattr(value.shaping, name) for name in SHAPING_RANGES}
    return pb.YodelPolicyProto(
        version=value.version,
        preset=value.preset,
        cpu=_formula_pb(value.cpu),
        memory=_formula_pb(value.memory),
        shaping=pb.YodelShapingProto(**shaping),
        limits=value.limits or None,
        quota=value.quota or None,
    )


def _pressure(message: pb.YodelPressureProto) -> Pressure:
    return Pressure(
        source=_line("capacity.pressure.source", message.source, WHY_LENGTH_MAX),
        some_basis_points=_within("capacity.pressure", message.some_basis_points, 0, PRESSURE_MAX),
    )


def _pressure_pb(pressure: Pressure) -> pb.YodelPressureProto:
    return pb.YodelPressureProto(
        source=pressure.source[:WHY_LENGTH_MAX], some_basis_points=min(pressure.some_basis_points, PRESSURE_MAX)
    )


def _problems(messages: Sequence[str]) -> tuple[str, ...]:
    _bounded("capacity.problems", messages, ENTRIES_MAX)
    return tuple(_line("capacity.problems", one, WHY_LENGTH_MAX) for one in messages)


def _written_groups(message: WrittenMessage) -> int | None:
    if not message.HasField("written_groups"):
        return None
    return _within("capacity.written_groups", message.written_groups, 0, BOUND_RANGE[1])


def _group(value: object) -> str:
    value = text("capacity.best_effort", value)
    found = best_effort_group(value)
    if value and not found:
        expected = "the kubelet's best-effort group, below a root of letters, digits and ._-"
        raise InvalidValue("capacity.best_effort", value[:WHY_LENGTH_MAX], expected)
    return found


def _bound(message: pb.YodelBoundProto) -> Bound:
    def value(name: str) -> int | None:
        return (
            _within(f"capacity.bounds.{name}", getattr(message, name), *BOUND_RANGE) if message.HasField(name) else None
        )

    return Bound(
        container=_line("capacity.bounds.container", message.container, NAME_LENGTH_MAX),
        file=_name(message.file),
        decided=_within("capacity.bounds.decided", message.decided, *BOUND_RANGE),
        written=value("written"),
        read=value("read"),
        put_back=_within("capacity.bounds.put_back", message.put_back, 0, BOUND_RANGE[1]),
        why=_line("capacity.bounds.why", message.why, WHY_LENGTH_MAX),
    )


def _bound_pb(bound: Bound) -> pb.YodelBoundProto:
    return pb.YodelBoundProto(
        container=bound.container,
        file=bound.file,
        decided=bound.decided,
        written=bound.written,
        read=bound.read,
        put_back=bound.put_back,
        why=bound.why[:WHY_LENGTH_MAX],
    )


def _loan(message: pb.YodelLoanProto) -> Loan:
    _bounded("capacity.measured", message.measured, ENTRIES_MAX)
    _bounded("capacity.terms", message.terms, ENTRIES_MAX)
    _bounded("capacity.steps", message.steps, ENTRIES_MAX)
    return _built(
        "capacity.loans",
        lambda: Loan(
            resource=_line("capacity.resource", message.resource, NAME_LENGTH_MAX),
            amount=_amount("capacity.amount", message.amount),
            measured=tuple(
                Figure(name=_name(one.name), amount=_amount("capacity.measured", one.amount))
                for one in message.measured
            ),
            terms=tuple(
                Term(name=_name(one.name), amount=_amount("capacity.terms", one.amount), why=_why(one.why))
                for one in message.terms
            ),
            steps=tuple(
                ShapingStep(
                    name=_name(one.name),
                    before=_amount("capacity.steps", one.before),
                    after=_amount("capacity.steps", one.after),
                    why=_why(one.why),
                )
                for one in message.steps
            ),
        ),
    )


def _loan_pb(loan: Loan) -> pb.YodelLoanProto:
    return pb.YodelLoanProto(
        resource=loan.resource,
        amount=loan.amount,
        measured=[pb.YodelFigureProto(name=one.name, amount=one.amount) for one in loan.measured],
        terms=[pb.YodelTermProto(name=one.name, amount=one.amount, why=one.why) for one in loan.terms],
        steps=[pb.YodelStepProto(name=one.name, before=one.before, after=one.after, why=one.why) for one in loan.steps],
    )


def _formula(field: str, message: pb.YodelFormulaProto) -> Formula:
    if not message.HasField("counts_system"):
        raise InvalidValue(f"{field}.counts_system", None, "true or false")
    static_amount = message.static_amount if message.HasField("static_amount") else None
    return _built(
        field,
        lambda: Formula(
            part_percent=message.part_percent,
            share_percent=message.share_percent,
            counts_system=message.counts_system,
            reserved=message.reserved,
            online_percent=message.online_percent,
            kept=message.kept,
            most_percent=message.most_percent,
            static_amount=static_amount,
        ),
    )


def _formula_pb(value: Formula) -> pb.YodelFormulaProto:
    numbers = {name: getattr(value, name) for name in FORMULA_RANGES}
    return pb.YodelFormulaProto(counts_system=value.counts_system, **numbers)


def _shaping(message: pb.YodelShapingProto) -> Shaping:
    return _built(
        "colocation_policy.shaping", lambda: Shaping(**{name: getattr(message, name) for name in SHAPING_RANGES})
    )


def _built(field: str, build: Callable[[], T]) -> T:
    """Blame the sender for what the constructor refuses."""
    try:
        return build()
    except InvalidValue:
        raise
    except ValueError as error:
        raise InvalidValue(field, str(error), "numbers in range that add up") from error


def _bounded(field: str, entries: Sized, most: int) -> None:
    if len(entries) > most:
        raise InvalidValue(field, f"{len(entries)} entries", f"at most {most}")


def _name(value: object) -> str:
    name = _line("capacity.name", value, NAME_LENGTH_MAX)
    if not name:
        raise InvalidValue("capacity.name", name, "a name")
    return name


def _why(value: object) -> str:
    return _line("capacity.why", value, WHY_LENGTH_MAX)


def _line(field: str, value: object, length_max: int) -> str:
    """Text that a terminal and a page may show as it is."""
    line = text(field, value, length_max)
    if not line.isprintable():
        raise InvalidValue(field, line, "printable text")
    return line


def _amount(field: str, value: int) -> int:
    return _within(field, value, -REPORTED_MAX, REPORTED_MAX)


def _within(field: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise InvalidValue(field, value, f"{least} to {most}")
    return value
