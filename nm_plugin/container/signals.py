"""The three signals that may be asked for: as Hadoop's commands, as the kernel's names, and as texts."""

from __future__ import annotations

from yodel.hadoop_pb import yarn_protos_pb2 as pb

SIGNALS = {pb.OUTPUT_THREAD_DUMP: "QUIT", pb.GRACEFUL_SHUTDOWN: "TERM", pb.FORCEFUL_SHUTDOWN: "KILL"}
COMMANDS = {"QUIT": "OUTPUT_THREAD_DUMP", "TERM": "GRACEFUL_SHUTDOWN", "KILL": "FORCEFUL_SHUTDOWN"}
