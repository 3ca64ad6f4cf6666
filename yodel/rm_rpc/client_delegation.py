"""ApplicationClientProtocol: delegation tokens, and the login with one (ClientRMService)."""

from __future__ import annotations

from yodel.domain.delegation_token import DELEGATION_TOKEN_KIND
from yodel.errors import InvalidToken
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import AuthMethod, KerberosOffer, TokenGrant
from yodel.pb_convert.texts import text
from yodel.pb_convert.tokens import token_to_pb
from yodel.rpc_io.dispatch import CallContext, Handler
from yodel.services.keys.delegation import DelegationTokens

RENEWER_LENGTH_MAX = 1024


class DelegationCalls:
    """Handlers by wire name in ``handlers``; ``token_grant`` is for the port's security."""

    def __init__(self, tokens: DelegationTokens, kerberos: KerberosOffer | None = None) -> None:
        """Give tokens, with ``kerberos``, only to those with tickets, so that nobody lives on tokens for ever."""
        self._tokens, self._kerberos = tokens, kerberos

    def handlers(self) -> dict[str, Handler]:
        return {
            "getDelegationToken": self.get_delegation_token,
            "renewDelegationToken": self.renew_delegation_token,
            "cancelDelegationToken": self.cancel_delegation_token,
        }

    def token_grant(self, identifier: bytes) -> TokenGrant:
        """Raises RemoteFault: the token is unknown or has expired."""
        try:
            found = self._tokens.accepted(identifier)
        except InvalidToken as error:
            raise RemoteFault(faults.INVALID_TOKEN, str(error)) from error
        return TokenGrant(
            password=found.password, user=found.owner, real_user=found.real_user, kind=DELEGATION_TOKEN_KIND
        )

    async def get_delegation_token(
        self, context: CallContext, request: security_pb.GetDelegationTokenRequestProto
    ) -> security_pb.GetDelegationTokenResponseProto:
        self._require_ticket(context, "issued")
        renewer = text("renewer", request.renewer, RENEWER_LENGTH_MAX)
        if self._kerberos is not None:  # AbstractDelegationTokenIdentifier.setRenewer
            renewer = self._kerberos.short_name(renewer) if renewer else renewer
        token = await self._tokens.issue(context.user, renewer, context.real_user, host=context.remote_host)
        return security_pb.GetDelegationTokenResponseProto(token=token_to_pb(token))

    async def renew_delegation_token(
        self, context: CallContext, request: security_pb.RenewDelegationTokenRequestProto
    ) -> security_pb.RenewDelegationTokenResponseProto:
        self._require_ticket(context, "renewed")
        token = request.token
        expires_ms = await self._tokens.renew(token.identifier, token.password, context.user)
        return security_pb.RenewDelegationTokenResponseProto(newExpiryTime=expires_ms)

    async def cancel_delegation_token(
        self, context: CallContext, request: security_pb.CancelDelegationTokenRequestProto
    ) -> security_pb.CancelDelegationTokenResponseProto:
        self._require_ticket(context, "cancelled")
        await self._tokens.cancel(request.token.identifier, context.user)
        return security_pb.CancelDelegationTokenResponseProto()

    def _require_ticket(self, context: CallContext, done: str) -> None:
        """Follows ``ClientRMService.isAllowedDelegationTokenOp``.  Raises RemoteFault."""
        if self._kerberos is not None and context.auth_method is not AuthMethod.KERBEROS:
            raise RemoteFault(faults.IO_EXCEPTION, f"Delegation Token can be {done} only with kerberos authentication")
