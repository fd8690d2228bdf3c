"""Bytes of a .blend damaged at random, within what is stored of our settings: the values, and their names.

Not their types, lengths and pointers, nor anything that is Blender's: with those damaged Blender itself reads what is
not there and crashes, with or without this extension."""

import struct
from pathlib import Path

_STRING, _INT, _FLOAT, _ARRAY, _GROUP, _DOUBLE, _GROUPS, _BOOLEAN = 0, 1, 2, 5, 6, 8, 9, 10
_NAME = 20  # of `IDProperty`, after two pointers, a type, a subtype and a flag
_DATA = 88  # a pointer, a list of children; the values come after it


def damage(path: Path, rng) -> list[str]:
    """Damage a few bytes of an uncompressed file; says which properties they are of."""
    data = bytearray(path.read_bytes())
    found = list(_places(data))
    told = []
    for name, start, end in rng.sample(found, min(rng.randint(1, 12), len(found))):
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(start, end)] = rng.randint(1, 255)  # not 0: a text would end there
        told.append(f"{name}: {bytes(data[start:end])!r:.80}")
    path.write_bytes(data)
    return told


def _blocks(data: bytes) -> dict:
    """Address at which a block of data stood in memory -> where it is in the file, and its length."""
    new = data[7:9] == b"17"  # Blender 5.0 and later: a longer header, and wider heads of blocks
    at, head = (17, "<4siQqq") if new else (12, "<4siQii")
    found = {}
    while at + struct.calcsize(head) <= len(data):
        code, *numbers = struct.unpack_from(head, data, at)
        address, length = numbers[1], numbers[2 if new else 0]
        at += struct.calcsize(head)
        if code == b"DATA":
            found[address] = at, length
        at += length
    return found


def _places(data: bytes):
    """Yield name, start and end of the bytes of all our values and names."""
    blocks = _blocks(data)
    for at, length in blocks.values():
        name = data[at + _NAME : at + _NAME + 64].split(b"\0")[0]
        if length in (136, 144) and name.startswith(b"active_ragdoll"):
            if data[at + 16] == _GROUP:
                yield from _children(data, blocks, at, length)
            else:
                yield from _values(data, blocks, at, length)


def _children(data: bytes, blocks: dict, at: int, size: int):
    """Likewise of a group of properties."""
    (child,) = struct.unpack_from("<Q", data, at + _DATA + 8)
    while child in blocks:
        place = blocks[child][0]
        yield from _values(data, blocks, place, size)
        (child,) = struct.unpack_from("<Q", data, place)


def _values(data: bytes, blocks: dict, at: int, size: int):
    """Likewise of one property, a group perhaps."""
    kind, name = data[at + 16], bytes(data[at + _NAME : at + _NAME + 64]).split(b"\0")[0].decode(errors="replace")
    (pointer,) = struct.unpack_from("<Q", data, at + _DATA)
    stored, length = blocks.get(pointer, (0, 0))
    if kind == _GROUP:
        yield from _children(data, blocks, at, size)
    elif kind == _GROUPS:
        for item in range(stored, stored + length, size):
            yield from _values(data, blocks, item, size)
    elif kind in (_STRING, _ARRAY) and length > 1:
        yield name, stored, stored + length - (kind == _STRING)
    elif kind in (_INT, _FLOAT, _DOUBLE, _BOOLEAN):
        values = at + size - 24
        yield name, values, values + {_DOUBLE: 8, _BOOLEAN: 1}.get(kind, 4)
    if name and kind != _GROUPS and not name.startswith("active_ragdoll"):
        yield f"name {name}", at + _NAME, at + _NAME + len(name)
