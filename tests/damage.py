"""Make damaged copies of files, the same for the same seed: changed bytes, numbers and JSON, also inside archives.

A packed member is changed before it is packed again; otherwise its checksum would be wrong, and no reader would run.
"""

import copy
import gzip
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.data.writers import zip_bytes

_BYTES = (0, 1, 0x20, 0x2C, 0x2D, 0x7F, 0x80, 0xFE, 0xFF)
_SIZES = (0, 1, 2, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 62, (1 << 64) - 1)
_NUMBERS = (
    b"0", b"-0", b"-1", b"1", b"255", b"65536", b"2147483648", b"4294967295", b"9223372036854775808",
    b"18446744073709551616", b"1e-400", b"1e38", b"3.5e38", b"1e308", b"1e999", b"-1e999", b"nan", b"inf", b"0x10",
    b"1_000", b"1e", b".", b"", b"0.1e-0000000001", b"9" * 400, b"9" * 5000, b"0" * 300 + b"1", b"0x" + b"f" * 6000,
    "١٢".encode(), b"True", b"[[1]]", b"1,2", b"1;2",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_DEEP, _LONG = "@deep@", "@long@"  # placeholders for values that `json.dumps` refuses to write
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 1 << 31, (1 << 53) + 1, 1 << 63, -(1 << 63), 1 << 64, 10**30, 10**400, 0.5, -0.0,
    1e-320, 1e300, float("nan"), float("inf"), -float("inf"), "", "x", "auto", "none", "0", "é", "\0", "\ud800",
    "\x1b[2J\n", "../../../etc/passwd", "/dev/zero", "x" * 5000, [], {}, [1], [[]], {"a": 1}, [None] * 300, _DEEP,
    _LONG,
)  # fmt: skip


# Bytes ---------------------------------------------------------------------------------------------------------------


def mutant(content: bytes, chance: random.Random, others: tuple[bytes, ...] = ()) -> bytes:
    """Return content with one to four changes, each of a random kind and at a random position.

    Parameters
    ----------
    others : tuple of bytes
        Other files of the same kind, whose ends may replace the end of the content.
    """
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        _change(changed, chance, others)
    return bytes(changed)


def _change(content: bytearray, chance: random.Random, others: tuple[bytes, ...]) -> None:
    if not content:
        return
    # Two thirds of the changes are near either end, because most formats describe their content there.
    anywhere, near = chance.randrange(len(content)), chance.randrange(min(len(content), 300))
    at = chance.choice((anywhere, near, len(content) - 1 - near))
    kind = chance.randrange(9 + bool(others))
    if kind == 0:
        content[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        content[at] = chance.choice(_BYTES)
    elif kind == 2:
        content[at] = chance.randrange(256)
    elif kind == 3:
        width = chance.choice((2, 4, 8))
        size = chance.choice(_SIZES) % (1 << 8 * width)
        content[at : at + width] = size.to_bytes(width, chance.choice(("little", "big")))
    elif kind == 4:
        del content[at:]
    elif kind == 5:
        del content[at : at + chance.choice((1, 2, 16, 200))]
    elif kind == 6:
        start = chance.randrange(len(content))
        content[at:at] = content[start : start + chance.choice((1, 4, 50, 500))]
    elif kind == 7:
        start, length = chance.randrange(len(content)), chance.choice((1, 4, 30))
        content[at : at + length] = content[start : start + length]
    elif kind == 8:
        content[:] = changed_numbers(bytes(content), chance)
    else:
        other = chance.choice(others)
        content[at:] = other[chance.randrange(len(other) + 1) :]


def changed_numbers(content: bytes, chance: random.Random) -> bytes:
    """Return a text with one to three of its numbers replaced by extreme ones."""
    places = [match.span() for match in _NUMBER.finditer(content)]
    for start, end in sorted(chance.sample(places, min(len(places), chance.choice((1, 1, 2, 3)))), reverse=True):
        content = content[:start] + chance.choice(_NUMBERS) + content[end:]
    return content


def changed_text(content: bytes, chance: random.Random) -> bytes:
    """Return a text with numbers replaced, lines rearranged, or bytes changed."""
    kind = chance.randrange(4)
    if kind == 0:
        return changed_numbers(content, chance)
    if kind == 1:
        lines = content.splitlines(keepends=True) or [b""]
        at = chance.randrange(len(lines))
        lines[at : at + chance.randrange(2)] = chance.choice(
            ([b"\n"], [b"# x\n"], [b"\0\n"], [b"\xff\xfe\n"], [b'"\n'], [b",;\t,\n"], lines[:2] * 20, [b"x" * 70000])
        )
        return b"".join(lines)
    return mutant(content, chance)


# JSON ----------------------------------------------------------------------------------------------------------------


def changed_json(content: bytes, chance: random.Random) -> bytes:
    """Return a JSON text with changed values, keys and branches, or occasionally with changed bytes."""
    if chance.random() < 0.2:
        return mutant(content, chance)
    document = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        document = _changed_branch(document, chance)
    text = json.dumps(document)
    depth = chance.choice((50, 900, 5000, 100_000))
    text = text.replace(f'"{_DEEP}"', "[" * depth + "]" * depth if chance.random() < 0.5 else '{"a":' * depth)
    return text.replace(f'"{_LONG}"', "9" * chance.choice((400, 4000, 5000, 50_000))).encode()


def _changed_branch(document: Any, chance: random.Random) -> Any:
    home = document
    while True:
        if not isinstance(home, (dict, list)) or not home:
            return _value(chance)
        key = chance.choice(list(home) if isinstance(home, dict) else range(len(home)))
        if not isinstance(home[key], (dict, list)) or not home[key] or chance.random() < 0.25:
            break
        home = home[key]
    kind = chance.randrange(6)
    if kind == 0:
        del home[key]
    elif kind == 1 and isinstance(home, dict):
        home[chance.choice(("x", "", "\ud800", "version", "neighbour", f"{key}{key}"))] = home.pop(key)
    elif kind == 1:
        home.extend(copy.deepcopy([home[key]] * chance.choice((1, 2, 100))))
    elif kind == 2:
        before = copy.deepcopy(home[key])
        home[key] = chance.choice(([before], {"x": before}, str(before), [before] * 3))
    else:
        home[key] = _value(chance)
    return document


def _value(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(_VALUES))


# Packed files --------------------------------------------------------------------------------------------------------


def gzipped(content: bytes) -> bytes:
    """Return a gzip file, the same for the same content."""
    return gzip.compress(content, mtime=0)


def zip_mutant(
    members: dict[str, bytes], chance: random.Random, change: Callable[[bytes, random.Random], bytes], how: int
) -> bytes:
    """Return an archive whose checksums are correct after a change of a member, its name, its compression, or its size.

    One in eight holds a member that unpacks to a thousand times its size, occasionally to 2 MiB.
    """
    members = dict(members)
    name = chance.choice(list(members))
    kind = chance.randrange(8)
    if kind < 5:
        members[name] = change(members[name], chance)
    elif kind == 5:
        members[chance.choice(("x", "../x", "/x", "é.npy", "y.npy", "manifest.npy", name + "/"))] = (
            members.pop(name) if chance.random() < 0.7 else members[name]
        )
    elif kind == 6:
        filler = chance.choice((b"\0", b" ", b"1", b"1 ", b"1,", b"\n", b"["))
        count = 1 << (21 if chance.random() < 0.05 else 14)
        members[name] = members[name][: chance.choice((0, 80, 128))] + filler * count
    content = zip_bytes(
        members, chance.choice((how, how, how, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    )
    return _other_sizes(content, chance) if kind == 7 else content


def _other_sizes(content: bytes, chance: random.Random) -> bytes:
    """Change a field in the header of a member: versions, flags, method, time, checksum, sizes, lengths, offset."""
    changed = bytearray(content)
    at = changed.rfind(chance.choice((b"PK\x01\x02", b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")))
    field = at + 4 + 2 * chance.randrange(21)
    width = chance.choice((2, 4))
    changed[field : field + width] = (chance.choice(_SIZES) % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(changed)


def npy_mutant(content: bytes, chance: random.Random) -> bytes:
    """Return a NumPy file with a changed header whose stated length is correct, or with changed bytes."""
    if chance.random() < 0.4:
        return mutant(content, chance)
    (length,) = struct.unpack("<H", content[8:10])
    text, rest = content[10 : 10 + length], content[10 + length :]
    kind = chance.randrange(4)
    if kind < 2:
        text = changed_numbers(text, chance)
    elif kind == 2:
        pairs = ((b"<f8", chance.choice((b"|O", b"<U9", b"|S0", b">f2", b"<c8", b"|V8", b"<M8", b"<i9", b"<f8,i4"))),)
        for before, after in (*pairs, (b"False", chance.choice((b"True", b"None", b"(" * 300, b"1")))):
            text = text.replace(before, after)
    else:
        text = mutant(text, chance)
    text = text[:60000]
    return content[:8] + struct.pack("<H", len(text)) + text + rest


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        yield content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += 12 + length


def png_mutant(content: bytes, chance: random.Random) -> bytes:
    """Return a PNG whose checksums are correct after a change of a chunk, its unpacked data, or the order of chunks."""
    chunks = list(_chunks(content))
    at = chance.randrange(len(chunks))
    kind, data = chunks[at]
    how = chance.randrange(5)
    if how == 0:
        chunks.insert(chance.randrange(len(chunks)), chunks[at])
    elif how == 1:
        del chunks[at]
    elif how == 2 and kind == b"IDAT":
        pixels = mutant(zlib.decompress(data), chance)
        chunks[at] = kind, zlib.compress(pixels * chance.choice((1, 1, 1, 1000)))
    else:
        name = chance.choice((kind, kind, kind, b"tEXt", b"zTXt", b"iCCP", b"PLTE", b"tRNS", b"acTL", b"fcTL", b"eXIf"))
        chunks[at] = name, mutant(data, chance)
    parts = [content[:8]]
    for kind, data in chunks:
        parts.append(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    return b"".join(parts)
