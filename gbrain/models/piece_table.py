"""Split text into pieces of a unigram model with a table that is mapped into memory.

Opening the 9 MB tokenizer.json of multilingual-e5-small takes .64 s, opening this table 1 ms; the
ids are the same. The `tokenizers` library splits many texts faster, so embedding chunks uses that.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from gbrain.errors import ModelUnavailable

PIECES_FILE = "pieces.bin"
_MAGIC = b"gbpiece1"
_HEADER = struct.Struct("<8sd13I")
_METASPACE = "▁"
# Of the tokenizers library: an unknown character costs so much more than the rarest piece.
_UNKNOWN_PENALTY = 10.0
# Longer clusters of a letter and its marks are looked up character by character.
_MAX_CLUSTER_BYTES = 5
# White_Space of Unicode; `str.split` has four control characters more.
_SPACES = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_PLAIN = re.compile("[ -~]*")
_MAX_CACHED_WORDS = 20_000


class _Header(NamedTuple):
    magic: bytes
    lowest_score: float
    pieces: int
    slots: int
    text_bytes: int
    longest: int
    unknown: int
    trie_bytes: int
    replacement_bytes: int
    marks: int
    prefixes: int
    controls: int
    specials: int
    before: int
    after: int


class PieceTable:
    """The pieces of a unigram model in a mapped file; `encode` returns their ids."""

    def __init__(self, path: Path) -> None:
        """Map the file; raise ModelUnavailable if it is not such a table."""
        import mmap

        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._header = head = _Header(*_HEADER.unpack_from(mapped))
        except (OSError, ValueError, struct.error) as error:
            raise _unreadable(path) from error
        sizes = (
            4 * head.slots, 4 * (head.pieces + 1), 4 * head.pieces, head.trie_bytes,
            4 * head.marks, 4 * head.prefixes, 4 * head.controls, 4 * head.specials,
            head.replacement_bytes, head.text_bytes,
        )  # fmt: skip
        if head.magic != _MAGIC or _HEADER.size + sum(sizes) != len(mapped):
            raise _unreadable(path)
        parts = []
        start = _HEADER.size
        for size in sizes:
            parts.append(memoryview(mapped)[start : start + size])
            start += size
        self._slots, self._ends, self._trie = (parts[n].cast("I") for n in (0, 1, 3))
        self._scores = parts[2].cast("f")
        marks, prefixes, controls, specials = (parts[n].cast("I") for n in range(4, 8))
        self._marks, self._prefixes, self._controls = map(_characters, (marks, prefixes, controls))
        self._replacements, self._text = parts[8], parts[9]
        self._special_ids = {self._piece(number): number for number in specials}
        self._special = re.compile(f"({'|'.join(map(re.escape, self._special_ids))})")
        self._mask = head.slots - 1
        self._words: dict[str, list[int]] = {}
        # The special tokens around a text.
        self.before, self.after = [head.before], [head.after]

    def encode(self, text: str) -> list[int]:
        """Return the ids of the pieces, without special tokens around them."""
        ids: list[int] = []
        for number, part in enumerate(self._special.split(text)):
            if number % 2:
                ids.append(self._special_ids[part])
                continue
            for word in _SPACES.split(self.normalize(part)):
                for piece in _split_before_metaspace(word) if word else ():
                    ids += self._split(piece)
        return ids

    def normalize(self, text: str) -> str:
        """Return the text as the pieces are written: NFKC, without control characters."""
        if _PLAIN.fullmatch(text):
            return text
        return "".join(self._normalized(text))

    def _normalized(self, text: str) -> Iterator[str]:
        """Yield what replaces each cluster, or else each of its characters."""
        for cluster in self._clusters(text):
            encoded = cluster.encode()
            found = self._replacement(encoded) if len(encoded) <= _MAX_CLUSTER_BYTES else None
            if found is not None:
                yield found
            elif len(cluster) > 1:
                for character in cluster:
                    found = self._replacement(character.encode())
                    yield character if found is None else found
            else:
                found = None if len(encoded) <= _MAX_CLUSTER_BYTES else self._replacement(encoded)
                yield cluster if found is None else found

    def _clusters(self, text: str) -> Iterator[str]:
        """Yield characters with the marks after them, up to the longest entry of the table.

        Clusters that are longer than any entry, such as flags and syllables of jamo, may be split.
        """
        start, length = 0, len(text)
        while start < length:
            end = start
            while end < length - 1 and text[end] in self._prefixes:
                end += 1
            if text[end] not in self._controls:
                while end + 1 < length and text[end + 1] in self._marks:
                    end += 1
            elif end > start:
                end -= 1
            yield text[start : end + 1]
            start = end + 1

    def _replacement(self, key: bytes) -> str | None:
        """Return what replaces the shortest entry that `key` starts with; None if there is none.

        The entries are in a double array, as in the Darts library.
        """
        trie = self._trie
        unit = trie[0]
        node = (unit >> 10) << ((unit & 0x200) >> 6)
        for byte in key:
            if not byte:
                return None
            node ^= byte
            unit = trie[node]
            if unit & 0x800000FF != byte:
                return None
            node ^= (unit >> 10) << ((unit & 0x200) >> 6)
            if unit & 0x100:
                start = end = trie[node] & 0x7FFFFFFF
                while self._replacements[end]:
                    end += 1
                return str(self._replacements[start:end], "utf-8")
        return None

    def _split(self, word: str) -> list[int]:
        """Return the ids of the likeliest pieces of a word; unknown characters become one id."""
        known = self._words.get(word)
        if known is None:
            if len(self._words) >= _MAX_CACHED_WORDS:
                self._words.clear()
            known = self._words[word] = self._best_path(word)
        return known

    def _best_path(self, word: str) -> list[int]:
        """Return the ids on the path of the highest sum of scores (Viterbi)."""
        slots, ends, pieces, scores = self._slots, self._ends, self._text, self._scores
        mask, unknown = self._mask, self._header.unknown
        unknown_score = self._header.lowest_score - _UNKNOWN_PENALTY
        characters = [character.encode() for character in word]
        size, longest = len(characters), self._header.longest
        best = [0.0] * (size + 1)
        arrived: list[tuple[int, int] | None] = [None] * (size + 1)
        for start in range(size):
            so_far, value, key, single = best[start], 0, b"", False
            for end in range(start + 1, min(start + longest, size) + 1):
                value = crc32(characters[end - 1], value)
                key += characters[end - 1]
                slot = value & mask
                while number := slots[slot]:
                    if pieces[ends[number - 1] : ends[number]] == key:
                        score = so_far + scores[number - 1]
                        if arrived[end] is None or score > best[end]:
                            best[end], arrived[end] = score, (start, number - 1)
                        single = single or end == start + 1
                        break
                    slot = (slot + 1) & mask
            score = so_far + unknown_score
            if not single and (arrived[start + 1] is None or score > best[start + 1]):
                best[start + 1], arrived[start + 1] = score, (start, unknown)
        ids: list[int] = []
        end = size
        while end:
            step = arrived[end]
            assert step is not None
            end, number = step
            if number != unknown or not ids or ids[-1] != unknown:
                ids.append(number)
        return ids[::-1]

    def _piece(self, number: int) -> str:
        return str(self._text[self._ends[number] : self._ends[number + 1]], "utf-8")


def open_table(folder: Path) -> PieceTable | None:
    """Return the table in a model's folder; None if there is none that this machine can read."""
    path = folder / PIECES_FILE
    # The numbers in the file have their lowest byte first.
    if sys.byteorder != "little" or not path.is_file():
        return None
    return PieceTable(path)


def _split_before_metaspace(word: str) -> list[str]:
    """Return the parts of a word, each with the sign for a blank in front."""
    marked = word if word.startswith(_METASPACE) else _METASPACE + word
    if _METASPACE not in marked[1:]:
        return [marked]
    starts = [match.start() for match in re.finditer(_METASPACE, marked)]
    return [marked[start:end] for start, end in pairwise([*starts, len(marked)])]


def _characters(codes: Iterable[int]) -> frozenset[str]:
    return frozenset(map(chr, codes))


def _unreadable(path: Path) -> ModelUnavailable:
    return ModelUnavailable(
        f"{path} is not a table of pieces.", hint="gbrain model verify checks the files."
    )


# --- making the table ------------------------------------------------------------------------


def build_table(tokenizer_file: Path) -> bytes:
    """Return the table for a tokenizer.json of the kind that XLM-RoBERTa has."""
    import base64
    import json

    from tokenizers import Tokenizer

    described = json.loads(tokenizer_file.read_bytes())
    model, charsmap = described["model"], described["normalizer"]["normalizers"][0]
    if model["type"] != "Unigram" or charsmap["type"] != "Precompiled" or model["byte_fallback"]:
        raise ValueError(f"{tokenizer_file} is of another kind")
    pieces = [text.encode() for text, _ in model["vocab"]]
    scores = [score for _, score in model["vocab"]]
    rules = base64.b64decode(charsmap["precompiled_charsmap"])
    trie_bytes = int.from_bytes(rules[:4], "little")
    trie, replacements = rules[4 : 4 + trie_bytes], rules[4 + trie_bytes :]
    replacements += b"\0" * (1 + -(len(replacements) + 1) % 4)
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    marks, prefixes, controls = _find_marks(tokenizer.normalizer)
    around = tokenizer.encode("a").ids
    specials = [token["id"] for token in described["added_tokens"]]
    slots = _fill_slots(pieces)
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    header = _Header(
        _MAGIC, min(scores), len(pieces), len(slots), ends[-1],
        max(len(text) for text, _ in model["vocab"]), model["unk_id"], len(trie),
        len(replacements), len(marks), len(prefixes), len(controls), len(specials),
        around[0], around[-1],
    )  # fmt: skip
    numbers = [slots, ends]
    return b"".join([
        _HEADER.pack(*header),
        *(struct.pack(f"<{len(row)}I", *row) for row in numbers),
        struct.pack(f"<{len(scores)}f", *scores),
        trie,
        *(struct.pack(f"<{len(row)}I", *row) for row in (marks, prefixes, controls, specials)),
        replacements,
        *pieces,
    ])  # fmt: skip


def _fill_slots(pieces: list[bytes]) -> list[int]:
    """Return a hash table of at least twice the size with the number of each piece plus one."""
    size = 1 << (2 * len(pieces) - 1).bit_length()
    slots = [0] * size
    for number, piece in enumerate(pieces, 1):
        slot = crc32(piece) & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    return slots


def _find_marks(normalizer: object) -> tuple[list[int], list[int], list[int]]:
    """Return the characters that join the one before, join the next, and join with none.

    The library is asked, so that its version of Unicode decides: it replaces º, and a mark after
    that is lost; e and an accent become one character, unless a prefix makes the cluster longer.
    Marks beyond 16 bits make every cluster too long for the table.
    """
    from unicodedata import category

    normalize = normalizer.normalize_str  # type: ignore[attr-defined]
    known = (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE1000))

    def is_mark(code: int) -> bool:
        character = chr(code)
        if normalize(f"º{character}") != "o":
            return False
        # What is deleted leaves no trace either, whether it joins or not.
        joiner = character in "\u200c\u200d"
        return bool(normalize(character)) or joiner or category(character)[0] == "M"

    def lets_marks_join(character: str, marks: str, joined: str) -> bool:
        return bool(normalize(character + marks) == normalize(character) + joined)

    return (
        [code for code in known if code < 0x10000 and is_mark(code)],
        [code for code in known if lets_marks_join(chr(code), "e\u0301", "e\u0301")],
        # The first of two marks is replaced and the second lost if they have no letter.
        [code for code in known if lets_marks_join(chr(code), "\u0340\u0312", "\u0300")],
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name, PIECES_FILE).write_bytes(build_table(Path(name, "tokenizer.json")))
