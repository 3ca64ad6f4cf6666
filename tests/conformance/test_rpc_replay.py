"""The client side of recorded sessions, fed to our server's machine, yields the calls that were made."""

import importlib.util
from itertools import groupby
from pathlib import Path
from types import ModuleType

import pytest

from yodel.hadoop_rpc.server_connection import (
    AuthMethod,
    CallReceived,
    ConnectionPolicy,
    Identity,
    Opened,
    ServerConnection,
    TokenGrant,
)


def _load(name: str) -> ModuleType:
    """A neighbouring module: the test folders are no packages."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
