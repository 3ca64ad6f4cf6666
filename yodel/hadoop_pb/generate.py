"""Makes the modules of this package from Hadoop's own descriptors; run it as ``python -m yodel.hadoop_pb.generate``.

``hadoop-3.5.0-protocols.desc`` is a serialized ``FileDescriptorSet`` read out of the descriptors that the published
Apache Hadoop 3.5.0 jars carry (licence: Apache-2.0).  It is kept unedited; the three edits Python needs are made here,
so that they can be read:

1. every file moves to ``yodel/hadoop_pb/``, because protoc's flat imports would become top-level modules;
2. ``NodeActionProto.NORMAL`` gets a prefix: two enums of package ``hadoop.yarn`` define ``NORMAL``, which Java
   tolerates and Python's descriptor pool refuses.  The wire carries numbers only, so nothing changes for a peer;
3. extension fields numbered 10000 and up are added to ResourceTracker messages and to the container token.  A stock
   Hadoop ignores them.

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

STRING = "string"
# message -> (field number, name, type, repeated); a type is STRING or a message's full name.
# Numbers below 10000 belong to Hadoop.
EXTENSION_FIELDS: dict[str, tuple[tuple[int, str, str, bool], ...]] = {
    "RegisterNodeManagerRequestProto": ((10000, "kubernetes_node_name", STRING, False),),
    "NodeHeartbeatResponseProto": ((10000, "containers_on_notice", ".hadoop.yarn.ContainerIdProto", True),),
    "ContainerTokenIdentifierProto": ((10000, "shuffle", ".hadoop.yarn.StringStringMapProto", True),),
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
    shape = descriptor_pb2.FieldDescriptorProto
    for message in file.message_type:
        for number, name, kind, repeated in EXTENSION_FIELDS.get(message.name, ()):
            label = shape.LABEL_REPEATED if repeated else shape.LABEL_OPTIONAL
            added = message.field.add(name=name, number=number, label=label)
            added.type = shape.TYPE_STRING if kind == STRING else shape.TYPE_MESSAGE
            if kind != STRING:
                added.type_name = kind


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
