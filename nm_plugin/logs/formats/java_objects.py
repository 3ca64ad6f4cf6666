"""The few kinds of Java's object streams that indexed log files hold: objects, strings, enums, ArrayLists, HashMaps.

Follows the Java Object Serialization Specification, protocol 2.  Reading gives plain values; writing is done with
``ObjectWriter``, whose calls stand in the order of the stream.  Nothing is ever instantiated by a class's name.

Refuses: everything else a stream may hold (arrays, proxies, external data, exceptions).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nm_plugin.logs.formats.random_file import CorruptLogFile, Cursor, decode_text, encode_text

STREAM_HEADER = b"\xac\xed\x00\x05"
HANDLE_BASE = 0x7E0000
DEPTH_MAX = 16
ITEMS_MAX = 10_000_000
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING = 0x70, 0x71, 0x72, 0x73, 0x74
_BLOCK, _END, _ENUM = 0x77, 0x78, 0x7E
_LOAD_FACTOR = 0.75
_PRIMITIVES = {"I": ">i", "J": ">q", "F": ">f"}
SERIALIZABLE, WITH_WRITE_METHOD, IS_ENUM = 0x02, 0x03, 0x12


@dataclass(frozen=True, slots=True)
class ClassDescriptor:
    """A class as it stands in a stream; ``fields`` are (type letter, name, signature of an ``L``)."""

    name: str
    uid: int
    flags: int
    fields: tuple[tuple[str, str, str], ...] = ()
    parent: ClassDescriptor | None = None


@dataclass(frozen=True, slots=True)
class JavaObject:
    """An object that was read: its class and fields by name."""

    class_name: str
    fields: Mapping[str, Any]


HASH_MAP = ClassDescriptor(
    "java.util.HashMap", 0x0507DAC1C31660D1, WITH_WRITE_METHOD, (("F", "loadFactor", ""), ("I", "threshold", ""))
)
ARRAY_LIST = ClassDescriptor("java.util.ArrayList", 0x7881D21D99C7619D, WITH_WRITE_METHOD, (("I", "size", ""),))
ENUM = ClassDescriptor("java.lang.Enum", 0, IS_ENUM)


class ObjectWriter:
    """Appends to ``data``.  What is one object in Java is written once and then referred to."""

    def __init__(self) -> None:
        self.data = bytearray(STREAM_HEADER)
        self._handles = 0
        self._known: dict[object, int] = {}

    def plain_object(self, descriptor: ClassDescriptor, primitives: Sequence[int] = ()) -> None:
        """Begins an object: its primitive fields; the others are to follow."""
        self.data.append(_OBJECT)
        self._descriptor(descriptor)
        self._take_handle()
        kinds = [kind for kind, _, _ in descriptor.fields if kind in _PRIMITIVES]
        for kind, value in zip(kinds, primitives, strict=True):
            self.data += struct.pack(_PRIMITIVES[kind], value)

    def string(self, text: str, *, identity: object = None) -> None:
        """Strings of one ``identity`` (which must be hashable) are one Java object; without one each is its own."""
        if identity is not None and self._refer(("string", identity)):
            return
        self.data.append(_STRING)
        self._take_handle(("string", identity) if identity is not None else None)
        self.data += encode_text(text)

    def enum(self, descriptor: ClassDescriptor, constant: str) -> None:
        if self._refer(("enum", descriptor.name, constant)):
            return
        self.data.append(_ENUM)
        self._descriptor(descriptor)
        self._take_handle(("enum", descriptor.name, constant))
        self.string(constant)

    def array_list(self, write_items: Sequence[Callable[[], None]]) -> None:
        self.object_with_method(ARRAY_LIST, struct.pack(">i", len(write_items)), struct.pack(">i", len(write_items)))
        for write in write_items:
            write()
        self.data.append(_END)

    def hash_map(self, write_entries: Sequence[Callable[[], None]], capacity: int) -> None:
        """Each of ``write_entries`` writes a key and a value."""
        fields = struct.pack(">fi", _LOAD_FACTOR, int(capacity * _LOAD_FACTOR))
        self.object_with_method(HASH_MAP, fields, struct.pack(">ii", capacity, len(write_entries)))
        for write in write_entries:
            write()
        self.data.append(_END)

    def object_with_method(self, descriptor: ClassDescriptor, fields: bytes, block: bytes) -> None:
        """An object whose class writes a block of its own after its fields."""
        self.data.append(_OBJECT)
        self._descriptor(descriptor)
        self._take_handle()
        self.data += fields + bytes((_BLOCK, len(block))) + block

    def _descriptor(self, descriptor: ClassDescriptor | None) -> None:
        if descriptor is None:
            self.data.append(_NULL)
            return
        if self._refer(descriptor):
            return
        self.data.append(_CLASS)
        self.data += encode_text(descriptor.name) + struct.pack(">Q", descriptor.uid)
        self._take_handle(descriptor)
        self.data += struct.pack(">BH", descriptor.flags, len(descriptor.fields))
        for kind, name, signature in descriptor.fields:
            self.data += kind.encode("ascii") + encode_text(name)
            if kind == "L":
                self.string(signature, identity=signature)
        self.data.append(_END)
        self._descriptor(descriptor.parent)

    def _refer(self, key: object) -> bool:
        if key not in self._known:
            return False
        self.data += struct.pack(">BI", _REFERENCE, HANDLE_BASE + self._known[key])
        return True

    def _take_handle(self, key: object = None) -> None:
        if key is not None:
            self._known[key] = self._handles
        self._handles += 1


def read_object(data: bytes) -> Any:
    """The stream's only object.  Raises CorruptLogFile."""
    cursor = Cursor(data)
    if cursor.read(len(STREAM_HEADER)) != STREAM_HEADER:
        raise CorruptLogFile("no Java object stream")
    value = _ObjectReader(cursor).item(0)
    if not cursor.is_at_end:
        raise CorruptLogFile("bytes after the Java object")
    return value


class _ObjectReader:
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._handles: list[Any] = []

    def item(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise CorruptLogFile("a Java object is nested too deep")
        kind = self._cursor.read(1)[0]
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            return self._referred()
        if kind == _STRING:
            return self._string()
        if kind == _OBJECT:
            return self._object(depth)
        if kind == _ENUM:
            return self._enum(depth)
        raise CorruptLogFile(f"a Java item of kind {kind:#x}")

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._cursor.read(struct.calcsize(layout)))[0]

    def _text(self) -> str:
        return decode_text(self._cursor.read(self._number(">H")))

    def _referred(self) -> Any:
        index = self._number(">I") - HANDLE_BASE
        if not 0 <= index < len(self._handles):
            raise CorruptLogFile("a reference to nothing")
        return self._handles[index]

    def _string(self) -> str:
        text = self._text()
        self._handles.append(text)
        return text

    def _enum(self, depth: int) -> str:
        self._descriptor()
        handle = self._reserve()
        name = self.item(depth + 1)
        if not isinstance(name, str):
            raise CorruptLogFile("an enum without a name")
        self._handles[handle] = name
        return name

    def _reserve(self) -> int:
        self._handles.append(None)
        return len(self._handles) - 1

    def _descriptor(self) -> ClassDescriptor:
        kind = self._cursor.read(1)[0]
        if kind == _REFERENCE:
            known = self._referred()
            if not isinstance(known, ClassDescriptor):
                raise CorruptLogFile("a reference to what is no class")
            return known
        if kind != _CLASS:
            raise CorruptLogFile("an object without a class")
        name, uid = self._text(), self._number(">Q")
        handle = self._reserve()
        flags, count = self._number(">B"), self._number(">H")
        fields = tuple(self._field() for _ in range(count))
        if self._cursor.read(1)[0] != _END:
            raise CorruptLogFile("an annotated class")
        parent = None
        if self._cursor.read(1)[0] != _NULL:
            self._cursor.position -= 1
            parent = self._descriptor()
        self._handles[handle] = ClassDescriptor(name, uid, flags, fields, parent)
        return self._handles[handle]  # type: ignore[no-any-return]

    def _field(self) -> tuple[str, str, str]:
        kind, name = self._cursor.read(1).decode("latin-1"), self._text()
        if kind == "L":
            return kind, name, str(self.item(1))
        if kind not in _PRIMITIVES:
            raise CorruptLogFile(f"a field of kind {kind!r}")
        return kind, name, ""

    def _object(self, depth: int) -> Any:
        descriptor = self._descriptor()
        handle = self._reserve()
        primitives = {n: self._number(_PRIMITIVES[k]) for k, n, _ in descriptor.fields if k in _PRIMITIVES}
        if descriptor.flags == WITH_WRITE_METHOD:
            value: Any = self._collection(descriptor.name, depth)
        else:
            fields = {n: self.item(depth + 1) for k, n, _ in descriptor.fields if k == "L"}
            value = JavaObject(descriptor.name, {**primitives, **fields})
        self._handles[handle] = value
        return value

    def _collection(self, name: str, depth: int) -> list[Any] | dict[Any, Any]:
        value: list[Any] | dict[Any, Any]
        if name == ARRAY_LIST.name:
            self._block(4)
            value = [self.item(depth + 1) for _ in range(self._size())]
        elif name == HASH_MAP.name:
            self._block(8)
            self._number(">i")
            value = {self.item(depth + 1): self.item(depth + 1) for _ in range(self._size())}
        else:
            raise CorruptLogFile(f"a Java collection {name[:100]!r}")
        if self._cursor.read(1)[0] != _END:
            raise CorruptLogFile("a Java collection without an end")
        return value

    def _block(self, length: int) -> None:
        if self._cursor.read(2) != bytes((_BLOCK, length)):
            raise CorruptLogFile("a Java collection without its size")

    def _size(self) -> int:
        size: int = self._number(">i")
        if not 0 <= size <= ITEMS_MAX:
            raise CorruptLogFile(f"a Java collection of {size}")
        return size
