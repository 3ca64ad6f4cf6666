"""HAServiceProtocol, on port 8033: ``yarn rmadmin -getServiceState``, ``-checkHealth`` and the transitions.

Whoever answers here is active: a standby serves no port, and takes the lead over by itself.  So the state is
ACTIVE, becoming active is done already, and anything else is refused with the reason.  Follows AdminService's checks
for a set-up with manual failover (``yarn.resourcemanager.ha.automatic-failover.enabled=false``), whose
AccessControlException is not wrapped here as it is in the administration protocol.
"""

from __future__ import annotations

from yodel.errors import AccessDenied
from yodel.hadoop_pb import HAServiceProtocol_pb2 as pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.nodes.administration import AdminService

NAME = "org.apache.hadoop.ha.HAServiceProtocol"
SERVICE_FAILED = "org.apache.hadoop.ha.ServiceFailedException"
NOT_BY_ORDER = (
    "Error when transitioning to Standby mode: a lease in the database decides which ResourceManager is "
    "active, and no request changes that; this one stays active"
)


class HaProtocol:
    """Handlers by wire name."""

    def __init__(self, admin: AdminService) -> None:
        self._admin = admin

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {
            "getServiceStatus": self.get_service_status,
            "monitorHealth": self.monitor_health,
            "transitionToActive": self.transition_to_active,
            "transitionToStandby": self.transition_to_standby,
            "transitionToObserver": self.transition_to_observer,
        }
        return protocol(NAME, pb.DESCRIPTOR.services_by_name["HAServiceProtocolService"], handlers)

    def get_service_status(
        self, context: CallContext, _: pb.GetServiceStatusRequestProto
    ) -> pb.GetServiceStatusResponseProto:
        self._require_admin(context, "getServiceState")
        return pb.GetServiceStatusResponseProto(state=pb.ACTIVE, readyToBecomeActive=True)

    def monitor_health(self, context: CallContext, _: pb.MonitorHealthRequestProto) -> pb.MonitorHealthResponseProto:
        self._require_admin(context, "monitorHealth")
        return pb.MonitorHealthResponseProto()

    def transition_to_active(
        self, _: CallContext, __: pb.TransitionToActiveRequestProto
    ) -> pb.TransitionToActiveResponseProto:
        """An active one looks neither who asks nor why (AdminService.transitionToActive)."""
        return pb.TransitionToActiveResponseProto()

    def transition_to_standby(
        self, context: CallContext, request: pb.TransitionToStandbyRequestProto
    ) -> pb.TransitionToStandbyResponseProto:
        self._require_admin(context, "transitionToStandby")
        if request.reqInfo.reqSource == pb.REQUEST_BY_ZKFC:
            raise RemoteFault(
                faults.ACCESS_CONTROL,
                f"Request from ZK failover controller at {context.remote_host} denied since automatic failover is not "
                "enabled",
            )
        raise RemoteFault(SERVICE_FAILED, NOT_BY_ORDER)

    def transition_to_observer(
        self, _: CallContext, __: pb.TransitionToObserverRequestProto
    ) -> pb.TransitionToObserverResponseProto:
        raise RemoteFault(SERVICE_FAILED, "Does not support transition to Observer")

    def _require_admin(self, context: CallContext, method: str) -> None:
        try:
            self._admin.require_admin(context.user, method)
        except AccessDenied as error:
            raise RemoteFault(faults.ACCESS_CONTROL, str(error)) from error
