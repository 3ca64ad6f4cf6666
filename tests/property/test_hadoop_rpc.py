"""Codec round trips, and arbitrary splits: the same bytes at once or in pieces give the same events and answers."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from yodel.hadoop_pb.RpcHeader_pb2 import RpcSaslProto
from yodel.hadoop_rpc import sasl
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity
from yodel.hadoop_rpc.framing import FrameBuffer, encode_varint, frame, out_of_band_frame, take_delimited
from yodel.hadoop_rpc.server_connection import ServerConnection
from yodel.hadoop_rpc.server_policy import CallerIdentity, ConnectionPolicy, TokenGrant
from yodel.hadoop_rpc.writable import (
    Credentials,
    WireToken,
    decode_vint,
    encode_credentials,
    encode_token,
    encode_vint,
    parse_credentials,
    parse_token,
)

NONCE = "n" * 40
CNONCE = "c" * 40
CLIENT_ID = bytes(range(16))

texts = st.text(st.characters(codec="utf-8"), max_size=20)
tokens = st.builds(
    WireToken, identifier=st.binary(max_size=300), password=st.binary(max_size=40), kind=texts, service=texts
)
credentials = st.builds(
    Credentials,
    tokens=st.lists(st.tuples(st.binary(max_size=20), tokens), max_size=4).map(tuple),
    secrets=st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=300)), max_size=4).map(tuple),
)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_vint_round_trips(value: int, rest: bytes) -> None:
    encoded = encode_vint(value)
    assert decode_vint(encoded + rest) == (value, len(encoded))


@given(tokens)
def test_token_round_trips(token: WireToken) -> None:
    assert parse_token(encode_token(token)) == token


@given(credentials)
def test_credentials_round_trip(value: Credentials) -> None:
    encoded = encode_credentials(value)
    assert parse_credentials(encoded) == value
    assert encode_credentials(parse_credentials(encoded)) == encoded


@given(st.binary(max_size=400))
def test_delimited_round_trips(data: bytes) -> None:
    encoded = encode_varint(len(data)) + data
    assert take_delimited(encoded + b"rest", 0) == (data, len(encoded))


@given(st.lists(st.lists(st.binary(max_size=200), max_size=3), max_size=8), st.data())
def test_frames_survive_any_split(contents: list[list[bytes]], data: st.DataObject) -> None:
    frames = [frame(*parts) for parts in contents]
    buffer, taken = FrameBuffer(), []
    for piece in pieces(b"".join(frames), data):
        buffer += piece
        while (one := buffer.take_frame(1000)) is not None:
            taken.append(one)
    assert taken == [one[4:] for one in frames]


def pieces(stream: bytes, data: st.DataObject) -> list[bytes]:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    return [stream[begin:end] for begin, end in itertools.pairwise(edges)]


def simple_session(bodies: list[bytes]) -> bytes:
    return session(ClientIdentity(client_id=CLIENT_ID, protocol="p", user="bob"), bodies)


def token_session(bodies: list[bytes]) -> bytes:
    """Return what a token client sends; it may be said without waiting, because the nonce is known here."""
    token = WireToken(identifier=b"id", password=b"pw", kind="k", service="")
    proof, _ = sasl.client_response(
        sasl.server_challenge(NONCE), identifier=token.identifier, password=token.password, cnonce=CNONCE
    )
    auth = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", protocol="", serverId="default")
    initiate = RpcSaslProto(state=RpcSaslProto.INITIATE, token=proof, auths=[auth])
    opening = ClientConnection(
        identity=ClientIdentity(client_id=CLIENT_ID, protocol="p", user="", token=token), cnonce=CNONCE
    ).connect()
    rest = session(ClientIdentity(client_id=CLIENT_ID, protocol="p", user=""), bodies)[7:]
    return opening + out_of_band_frame(-33, b"", initiate) + rest


def session(identity: ClientIdentity, bodies: list[bytes]) -> bytes:
    client = ClientConnection(identity=identity, cnonce=CNONCE)
    words = [client.connect()]
    words += [client.call(call_id=number, method="m", body=body) for number, body in enumerate(bodies)]
    return b"".join(words)


def heard(stream: list[bytes]) -> tuple[list[str], bytes, object]:
    """Events (as text), everything the server said, and the state it ended in."""

    def anyone(_identity: CallerIdentity) -> None:
        return

    grant = TokenGrant(password=b"pw", user="att", kind="k")
    policy = ConnectionPolicy(
        allow_simple=True, token_passwords=lambda identifier: grant if identifier == b"id" else None, authorize=anyone
    )
    machine, events, said = ServerConnection(policy=policy, nonce=NONCE), [], b""
    for piece in stream:
        machine.receive_data(piece)
        while (event := machine.next_event()) is not None:
            events.append(repr(event) + repr(getattr(event, "body", "")))
        said += machine.data_to_send()
    return events, said, machine.state


sessions = st.builds(
    lambda make, bodies: make(bodies),
    st.sampled_from([simple_session, token_session]),
    st.lists(st.binary(max_size=80), max_size=4),
)


@given(sessions, st.data())
def test_split_session_gives_the_same_events(stream: bytes, data: st.DataObject) -> None:
    at_once = heard([stream])
    assert any("CallReceived" in event for event in at_once[0]) == (len(at_once[0]) > 1)
    assert heard(pieces(stream, data)) == at_once
    assert heard([bytes((byte,)) for byte in stream]) == at_once


@given(sessions, st.data())
def test_split_damaged_session_gives_the_same_events(stream: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(stream) - 1))
    damaged = stream[:position] + data.draw(st.binary(max_size=5)) + stream[position + 1 :]
    assert heard(pieces(damaged, data)) == heard([damaged]) == heard([bytes((byte,)) for byte in damaged])
