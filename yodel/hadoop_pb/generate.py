"""Makes the modules of this package from Hadoop's own descriptors; run it as ``python -m yodel.hadoop_pb.generate``.

``hadoop-3.5.0-protocols.desc`` is a serialized ``FileDescriptorSet`` read out of the descriptors that the published
Apache Hadoop 3.5.0 jars carry (licence: Apache-2.0).  It is kept unedited; the three edits Python needs are made here,
so that they can be read:

1. every file moves to ``yodel/hadoop_pb/``, because protoc's flat imports would become top-level modules;
2. ``NodeActionProto.NORMAL`` gets a prefix: two enums of package ``hadoop.yarn`` define ``NORMAL``, which Java
   tolerates and Python's descriptor pool refuses.  The wire carries numbers only, so nothing changes for a peer;
3. extension fields numbered 10000 and up, and the messages of Yodel's own that they carry, are added to ResourceTracker
   messages and to the container token.  A stock Hadoop ignores them.

It writes nothing else, and it needs the development dependencies (grpcio-tools).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2

PACKAGE = "yodel/hadoop_pb"
HERE = Path(__file__).parent
SOURCE = HERE / "hadoop-3.5.0-protocols.desc"

# MapReduce's and the federation's own protocols are served by others (the MapReduce AM, the Router).
LEFT_OUT = (
    "mr_protos",
    "mr_service_protos",
    "MRClientProtocol",
    "HSAdminRefreshProtocol",
    "ShuffleHandlerRecovery",
    "yarn_server_federation_protos",
    "distributed_scheduling_am_protocol",
)

_shape = descriptor_pb2.FieldDescriptorProto
STRING, INT32, INT64, BOOL = "string", "int32", "int64", "bool"
SCALARS = {STRING: _shape.TYPE_STRING, INT32: _shape.TYPE_INT32, INT64: _shape.TYPE_INT64, BOOL: _shape.TYPE_BOOL}
PROTOCOL_PACKAGE = ".hadoop.yarn"
# message -> (field number, name, type, repeated); a type is one of SCALARS or a message of PROTOCOL_PACKAGE.
# Numbers below 10000 belong to Hadoop.
Fields = tuple[tuple[int, str, str, bool], ...]
EXTENSION_FIELDS: dict[str, Fields] = {
    "RegisterNodeManagerRequestProto": (
        (10000, "kubernetes_node_name", STRING, False),
        (10001, "can", STRING, True),
    ),
    "RegisterNodeManagerResponseProto": ((10000, "can", STRING, True),),
    "NodeHeartbeatRequestProto": (
        (10000, "capacity", "YodelCapacityProto", False),
        (10001, "colocation_policy_version", STRING, False),
        (10002, "emergency", "YodelEmergencyProto", False),
        (10003, "loan", "YodelLoanReportProto", False),
        (10004, "written", "YodelWrittenReportProto", False),
        (10020, "shuffle", "YodelShuffleProto", True),
    ),
    "NodeHeartbeatResponseProto": (
        (10000, "containers_on_notice", "ContainerIdProto", True),
        (10001, "colocation_policy", "YodelPolicyProto", False),
        (10002, "pods", "YodelPodProto", True),
        (10003, "eviction_ranks", "ContainerIdProto", True),
        (10004, "allocatable", "YodelFigureProto", True),
    ),
    "ContainerTokenIdentifierProto": (
        (10000, "shuffle", "StringStringMapProto", True),
        (10001, "pod_uid", STRING, False),
    ),
}
# Messages that Hadoop does not know, in the file that also holds the messages of EXTENSION_FIELDS.
EXTENSION_FILE = "yarn_server_common_service_protos.proto"
EXTENSION_MESSAGES: dict[str, Fields] = {
    "YodelFigureProto": (
        (1, "name", STRING, False),
        (2, "amount", INT64, False),
    ),
    "YodelTermProto": (
        (1, "name", STRING, False),
        (2, "amount", INT64, False),
        (3, "why", STRING, False),
    ),
    "YodelStepProto": (
        (1, "name", STRING, False),
        (2, "before", INT64, False),
        (3, "after", INT64, False),
        (4, "why", STRING, False),
    ),
    "YodelLoanProto": (
        (1, "resource", STRING, False),
        (2, "amount", INT64, False),
        (3, "measured", "YodelFigureProto", True),
        (4, "terms", "YodelTermProto", True),
        (5, "steps", "YodelStepProto", True),
    ),
    "YodelCapacityProto": (
        (1, "policy_version", STRING, False),
        (2, "source", STRING, False),
        (3, "age_ms", INT64, False),
        (4, "loans", "YodelLoanProto", True),
        (5, "problems", STRING, True),
        (6, "bounds", "YodelBoundProto", True),
        (7, "pressure", "YodelPressureProto", False),
        (8, "counts", "YodelFigureProto", True),
        (10, "written_groups", INT64, False),
        (11, "best_effort", STRING, False),
    ),
    "YodelLoanReportProto": (
        (1, "policy_version", STRING, False),
        (2, "source", STRING, False),
        (3, "age_ms", INT64, False),
        (4, "loans", "YodelLoanProto", True),
        (5, "problems", STRING, True),
        (7, "pressure", "YodelPressureProto", False),
    ),
    "YodelWrittenReportProto": (
        (1, "policy_version", STRING, False),
        (5, "problems", STRING, True),
        (6, "bounds", "YodelBoundProto", True),
        (8, "counts", "YodelFigureProto", True),
        (10, "written_groups", INT64, False),
        (11, "best_effort", STRING, False),
    ),
    "YodelPressureProto": (
        (1, "source", STRING, False),
        (2, "some_basis_points", INT64, False),
    ),
    "YodelBoundProto": (
        (1, "container", STRING, False),
        (2, "file", STRING, False),
        (3, "decided", INT64, False),
        (4, "written", INT64, False),
        (5, "read", INT64, False),
        (6, "put_back", INT64, False),
        (7, "why", STRING, False),
    ),
    "YodelPodProto": (
        (1, "container_id", "ContainerIdProto", False),
        (2, "uid", STRING, False),
    ),
    "YodelEmergencyProto": (
        (1, "reason", STRING, False),
        (2, "cool_down_s", INT64, False),
        (3, "containers", "ContainerIdProto", True),
    ),
    "YodelShuffleProto": (
        (1, "container_id", "ContainerIdProto", False),
        (2, "outcome", STRING, False),
        (3, "left_out", "YodelLeftOutProto", True),
    ),
    "YodelLeftOutProto": (
        (1, "keys", STRING, True),
        (2, "reason", STRING, False),
        (3, "detail", STRING, False),
    ),
    "YodelFormulaProto": (
        (1, "part_percent", INT32, False),
        (2, "share_percent", INT32, False),
        (3, "counts_system", BOOL, False),
        (4, "reserved", INT64, False),
        (5, "online_percent", INT32, False),
        (6, "kept", INT64, False),
        (7, "most_percent", INT32, False),
        (8, "static_amount", INT64, False),
    ),
    "YodelShapingProto": (
        (1, "window_s", INT32, False),
        (2, "step_up_percent", INT32, False),
        (3, "dead_band_percent", INT32, False),
        (4, "dead_band_cpu_milli", INT64, False),
        (5, "dead_band_memory_mib", INT64, False),
        (6, "round_cpu_milli", INT64, False),
        (7, "round_memory_mib", INT64, False),
    ),
    "YodelPolicyProto": (
        (1, "version", STRING, False),
        (2, "preset", STRING, False),
        (3, "cpu", "YodelFormulaProto", False),
        (4, "memory", "YodelFormulaProto", False),
        (5, "shaping", "YodelShapingProto", False),
        (6, "limits", BOOL, False),
        (7, "quota", BOOL, False),
    ),
}


def new_name(name: str) -> str:
    return f"{PACKAGE}/{name.rsplit('/', 1)[-1]}"


def edited(source: descriptor_pb2.FileDescriptorSet) -> descriptor_pb2.FileDescriptorSet:
    """The descriptor set with the three edits of the module's docstring made."""
    result = descriptor_pb2.FileDescriptorSet()
    for file in source.file:
        if file.name.rsplit("/", 1)[-1].removesuffix(".proto") in LEFT_OUT:
            continue
        copy = result.file.add()
        copy.CopyFrom(file)
        copy.name = new_name(file.name)
        copy.dependency[:] = [new_name(d) for d in file.dependency]
        _rename_node_action(copy)
        _add_extension_fields(copy)
        _add_extension_messages(copy)
    return result


def _rename_node_action(file: descriptor_pb2.FileDescriptorProto) -> None:
    for enum in file.enum_type:
        if enum.name == "NodeActionProto":
            for value in enum.value:
                value.name = f"NODE_ACTION_{value.name}"
            for message in file.message_type:
                for field in message.field:
                    if field.type_name.endswith(".NodeActionProto") and field.default_value:
                        field.default_value = f"NODE_ACTION_{field.default_value}"


def _add_extension_fields(file: descriptor_pb2.FileDescriptorProto) -> None:
    for message in file.message_type:
        _add_fields(message, EXTENSION_FIELDS.get(message.name, ()))


def _add_extension_messages(file: descriptor_pb2.FileDescriptorProto) -> None:
    if file.name == new_name(EXTENSION_FILE):
        for name, fields in EXTENSION_MESSAGES.items():
            _add_fields(file.message_type.add(name=name), fields)


def _add_fields(message: descriptor_pb2.DescriptorProto, fields: Fields) -> None:
    for number, name, kind, repeated in fields:
        label = _shape.LABEL_REPEATED if repeated else _shape.LABEL_OPTIONAL
        added = message.field.add(name=name, number=number, label=label)
        added.type = SCALARS.get(kind, _shape.TYPE_MESSAGE)
        if kind not in SCALARS:
            added.type_name = f"{PROTOCOL_PACKAGE}.{kind}"


def generate(output_dir: Path) -> None:
    """Write ``<output_dir>/yodel/hadoop_pb/*_pb2.py`` and ``*.pyi``.

    Raises:
        subprocess.CalledProcessError: protoc refused the descriptors.
    """
    descriptors = edited(descriptor_pb2.FileDescriptorSet.FromString(SOURCE.read_bytes()))
    with tempfile.NamedTemporaryFile(suffix=".desc") as file:
        file.write(descriptors.SerializeToString())
        file.flush()
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_in={file.name}"]
        command += [f"--python_out={output_dir}", f"--pyi_out={output_dir}"]
        subprocess.run([*command, *(f.name for f in descriptors.file)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=HERE.parent.parent, help="root folder to write below")
    generate(parser.parse_args().output)


if __name__ == "__main__":
    main()
