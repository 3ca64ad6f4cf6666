from yodel.hadoop_pb import yarn_service_protos_pb2 as _yarn_service_protos_pb2
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor
