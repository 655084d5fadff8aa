"""Words for mined questions: what a stretch of a page says, misspelt, and said otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise

from gbrain.text.query import STOP_WORDS, unspaced

# Code, addresses and markup are nothing that a person would ask with.
_MARKUP = re.compile(
    r"`[^`\n]*`|!\[[^\[\]\n]*\](?:\([^()\n]*\))?|<[^<>\n]*>|\bhttps?://\S+"
    r"|\[\[(?P<page>[^\[\]|#\n]*)(?:#[^\[\]|\n]*)?(?:\|(?P<wiki>[^\[\]|\n]*))?\]\]"
    r"|\[(?P<label>[^\[\]\n]*)\]\([^()\n]*\)"
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]|\n[ \t\r]*\n|\n(?=[ \t]*[-*+#>|] )")
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~).*$")
_NO_PROSE = ("#", "|", "---", "***", "===", "    ", "<")

_SHORTEST_WORD = 3
# A word of a script without spaces is a whole clause: its beginning is asked for.
_CLAUSE = 6
_TEMPLATES = (
    "what do I know about {}",
    "notes on {}",
    "which note mentions {}",
    "where did I write about {}?",
    "anything about {}",
    "that page with {}",
)
_NOUN_ENDINGS = ("tion", "sion", "ment", "ance", "ence", "ture", "age", "ist", "gram", "graph")
_PAIRS = """
    add insert; allow permit; answer reply; ask request; begin start; big large; book volume;
    broken damaged; build construct; buy purchase; call phone; car vehicle; change alter;
    check verify; choose select; clean tidy; close shut; code program; copy duplicate; cost price;
    create make; customer client; decide settle; delete remove; doctor physician; early premature;
    end finish; error mistake; example sample; explain describe; fast quick; file document;
    fix repair; food meal; friend companion; get obtain; give hand; guide handbook; happy glad;
    help assist; home house; idea thought; image picture; important essential; improve better;
    install set up; issue problem; job position; keep retain; kid child; learn study; like enjoy;
    list overview; look glance; meet encounter; meeting appointment; money cash; move shift;
    need require; new recent; old former; open unlock; option choice; order sequence; part piece;
    plan scheme; quiet silent; read peruse; rule law; run execute; safe secure; say mention;
    search look up; send post; show display; sick ill; simple easy; slow sluggish; small little;
    speak talk; stop halt; store save; street road; strong powerful; talk speech; task chore;
    teach instruct; team group; test trial; tool instrument; trip journey; try attempt; use employ;
    visit see; wait stay; walk stroll; want wish; way method; work function; write compose
"""
_SYNONYMS = dict(pair.split(maxsplit=1) for pair in _PAIRS.split(";"))
_NEIGHBOUR_KEYS = dict(zip("abcdefghijklmnopqrstuvwxyz", "svxfrghjoklknmpowtayibecux", strict=True))


def pick(seed: str, choices: int) -> int:
    """A number from 0 to below `choices` that depends on the seed alone, on every machine."""
    return (
        int.from_bytes(blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()) % choices
    )


def plain(text: str) -> str:
    """A stretch of Markdown without code, addresses and markup; links leave their label."""
    return _MARKUP.sub(_label, text)


def _label(found: re.Match[str]) -> str:
    """What a reader sees of a link; the name of a page without its folder and dashes."""
    if found["wiki"] is not None:
        return f" {found['wiki']} "
    if found["page"] is not None:
        return f" {found['page'].rpartition('/')[2].replace('-', ' ')} "
    return f" {found['label'] or ''} "


def prose(text: str) -> list[str]:
    """The sentences and list items of a Markdown text, as written, without blocks of code, tables,
    headings and rules."""
    outside_code = _FENCE.split(text)[::2]
    return [
        sentence
        for stretch in outside_code
        for sentence in sentences(stretch)
        if not sentence.startswith(_NO_PROSE)
    ]


def sentences(text: str) -> list[str]:
    """The sentences, paragraphs and list items of a text, as written."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    edges = [0, *ends, len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges) if text[a:b].strip()]


def telling_words(text: str, held_out: Iterable[str] = ()) -> list[str]:
    """The words of a text that tell something, in its order, each once.

    Words with the same beginning as one that is held out are left out too: a title's `Rivers`
    holds out `river`.
    """
    stems = {stem(word) for word in held_out}
    found: dict[str, str] = {}
    for match in _WORD.finditer(plain(text)):
        word = match[0][:_CLAUSE] if unspaced(match[0]) else match[0]
        key = word.casefold()
        is_short = len(word) < _SHORTEST_WORD and not unspaced(word)
        is_number = not any(map(str.isalpha, word))
        if is_short or is_number or key in STOP_WORDS or stem(word) in stems:
            continue
        found.setdefault(key, word)
    return list(found.values())


def stem(word: str) -> str:
    """A rough stem: enough to tell that two words are forms of one."""
    key = word.casefold().removesuffix("'s").removesuffix("’s")
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s"):
        if key.endswith(ending) and len(key) - len(ending) >= 3:
            return key[: -len(ending)].removesuffix("e").removesuffix("y")
    return key.removesuffix("e").removesuffix("y") if len(key) > 4 else key


def misspelt(words: Sequence[str], seed: str) -> list[str]:
    """The words with one slip of the finger in the longest of them, inside the word."""
    longest = max(range(len(words)), key=lambda at: (len(words[at]), -at))
    word = words[longest]
    if len(word) < 4:
        return list(words)
    at = 1 + pick(f"{seed} at", len(word) - 2)
    before, here, after = word[:at], word[at], word[at + 1 :]
    near = _NEIGHBOUR_KEYS.get(here.lower(), here)
    slips = (before + after, before + here + here + after, before + near + after,
             before + after[0] + here + after[1:])  # fmt: skip
    wrong = [slip for slip in slips if slip != word]
    return [*words[:longest], wrong[pick(f"{seed} slip", len(wrong))], *words[longest + 1 :]]


def other_form(word: str) -> str:
    """Another word for it, else the same one in the other number; itself when no rule fits."""
    key = word.casefold()
    if key in _SYNONYMS:
        return _SYNONYMS[key]
    if not (word.isascii() and word.islower() and word.isalpha()) or len(word) < 5:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s"):
        return word if word.endswith(("ss", "us", "is")) else word[:-1]
    return word + "s" if word.endswith(_NOUN_ENDINGS) else word


def paraphrased(words: Sequence[str], seed: str) -> str:
    """The words said otherwise: in another order and form, inside another question."""
    turn = 1 + pick(f"{seed} turn", max(len(words) - 1, 1))
    turned = [*words[turn:], *words[:turn]]
    forms = [other_form(word) if at % 2 == 0 else word for at, word in enumerate(turned)]
    return _TEMPLATES[pick(f"{seed} template", len(_TEMPLATES))].format(" ".join(forms))
