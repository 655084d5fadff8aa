"""Turn text into words for test questions: strip markup, pick words, add typos, paraphrase."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise

from gbrain.text.stop_words import STOP_WORDS
from gbrain.text.unspaced import has_unspaced_script

# Code, addresses and markup do not occur in questions.
_MARKUP = re.compile(
    r"`[^`\n]*`|!\[[^\[\]\n]*\](?:\([^()\n]*\))?|<[^<>\n]*>|\bhttps?://\S+"
    r"|\[\[(?P<page>[^\[\]|#\n]*)(?:#[^\[\]|\n]*)?(?:\|(?P<wiki>[^\[\]|\n]*))?\]\]"
    r"|\[(?P<label>[^\[\]\n]*)\]\([^()\n]*\)"
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?=[A-Za-z0-9._-]{4,40}(?![\w./-]))(?:v?\d+(?:\.\d+){1,3}"
    r"|[A-Za-z]+[0-9]+[A-Za-z0-9]*|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z]+"
    r"|[A-Z]{2,}-[A-Za-z0-9]+)"
)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]|\n[ \t\r]*\n|\n(?=[ \t]*[-*+#>|] )")
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~).*$")
_NOT_PROSE = ("#", "|", "---", "***", "===", "    ", "<")

_MIN_WORD_CHARACTERS = 3
# A "word" of a script without spaces is a whole clause, of which the beginning is used.
_CLAUSE_CHARACTERS = 6
_TEMPLATES = (
    "what do I know about {}",
    "notes on {}",
    "which note mentions {}",
    "where did I write about {}?",
    "anything about {}",
    "that page with {}",
)
# Things that few notes mention; a question with one that no page contains has no answer.
UNLIKELY_WORDS = tuple(
    """trombone submarine hovercraft zeppelin harpoon unicycle accordion kangaroo chandelier
    periscope sarcophagus bagpipes gargoyle catapult monocle tuxedo walrus didgeridoo""".split()
)
_UNANSWERABLE_TEMPLATES = (
    "where did {} buy the {}?",
    "what colour is the {1} of {0}?",
    "how much did the {1} of {0} cost?",
    "which {1} does {0} like best?",
)
# A note and a question that it answers in other words.
NEW_NOTES = (
    (
        "# Boiler\n\nThe plumber replaced the valve, radiators are hot again.\n",
        "is our central heating working?",
    ),
    (
        "# Ferret\n\nBiscuit sneezes a lot; vaccination at the clinic on Friday.\n",
        "when does my sick pet see the veterinarian?",
    ),
    (
        "# Violin\n\nThe luthier wants six hundred for a new bridge and strings.\n",
        "what would repairing my musical instrument cost?",
    ),
    (
        "# Passport\n\nCollected at the town hall, good until spring of 2036.\n",
        "how long is my travel document valid?",
    ),
    (
        "# Sourdough\n\nFeed the starter with rye twice a day, bake at 240 degrees.\n",
        "how do I make bread at home?",
    ),
    (
        "# Garage door\n\nThe spare remote is in the blue tin above the freezer.\n",
        "where did I put the opener for the car shed?",
    ),
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


def stable_choice(seed: str, choices: int) -> int:
    """Return a number from 0 to `choices` - 1 that is the same for a seed on every machine."""
    return (
        int.from_bytes(blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()) % choices
    )


def strip_markup(text: str) -> str:
    """Remove code, addresses and markup from Markdown; links are replaced by their label."""
    return _MARKUP.sub(_label, text)


def _label(found: re.Match[str]) -> str:
    """Return the visible text of a link; a page's name loses its folder and dashes."""
    if found["wiki"] is not None:
        return f" {found['wiki']} "
    if found["page"] is not None:
        return f" {found['page'].rpartition('/')[2].replace('-', ' ')} "
    return f" {found['label'] or ''} "


def prose_sentences(text: str) -> list[str]:
    """Return the sentences and list items of Markdown, unchanged.

    Code blocks, tables, headings and rules are left out.
    """
    outside_code = _FENCE.split(text)[::2]
    return [
        sentence
        for text in outside_code
        for sentence in split_sentences(text)
        if not sentence.startswith(_NOT_PROSE)
    ]


def split_sentences(text: str) -> list[str]:
    """Return the sentences, paragraphs and list items of a text, unchanged."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    edges = [0, *ends, len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges) if text[a:b].strip()]


def content_words(text: str, excluded: Iterable[str] = ()) -> list[str]:
    """Return the words of a text that carry meaning, in its order, each once.

    Forms of an excluded word are left out too: `Rivers` in `excluded` excludes `river`.
    """
    stems = {rough_stem(word) for word in excluded}
    found: dict[str, str] = {}
    for match in _WORD.finditer(strip_markup(text)):
        word = match[0][:_CLAUSE_CHARACTERS] if has_unspaced_script(match[0]) else match[0]
        key = word.casefold()
        is_short = len(word) < _MIN_WORD_CHARACTERS and not has_unspaced_script(word)
        is_number = not any(map(str.isalpha, word))
        if is_short or is_number or key in STOP_WORDS or rough_stem(word) in stems:
            continue
        found.setdefault(key, word)
    return list(found.values())


def find_identifiers(text: str) -> list[str]:
    """Return names of code and versions in a text: parseConfig, ERR_CONN_RESET, DS-Lite, v1.2.3."""
    return list(dict.fromkeys(_IDENTIFIER.findall(text)))


def unanswerable_question(title: str, word: str, seed: str) -> str:
    """Return a question about a page whose deciding word is `word`."""
    choice = stable_choice(f"{seed} unanswerable", len(_UNANSWERABLE_TEMPLATES))
    return _UNANSWERABLE_TEMPLATES[choice].format(title, word)


def rough_stem(word: str) -> str:
    """Return an approximate stem, to recognise two forms of the same word."""
    key = word.casefold().removesuffix("'s").removesuffix("’s")
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s"):
        if key.endswith(ending) and len(key) - len(ending) >= 3:
            return key[: -len(ending)].removesuffix("e").removesuffix("y")
    return key.removesuffix("e").removesuffix("y") if len(key) > 4 else key


def add_typo(words: Sequence[str], seed: str) -> list[str]:
    """Return the words with one typing error inside the longest of them."""
    longest = max(range(len(words)), key=lambda at: (len(words[at]), -at))
    word = words[longest]
    if len(word) < 4:
        return list(words)
    at = 1 + stable_choice(f"{seed} at", len(word) - 2)
    before, here, after = word[:at], word[at], word[at + 1 :]
    neighbour = _NEIGHBOUR_KEYS.get(here.lower(), here)
    typos = (before + after, before + here + here + after, before + neighbour + after,
             before + after[0] + here + after[1:])  # fmt: skip
    wrong = [typo for typo in typos if typo != word]
    return [
        *words[:longest],
        wrong[stable_choice(f"{seed} slip", len(wrong))],
        *words[longest + 1 :],
    ]


def reword(word: str) -> str:
    """Return a synonym, or else the other number (singular or plural), or else the word itself."""
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


def paraphrase(words: Sequence[str], seed: str) -> str:
    """Return a question with the words in another order and partly in another form."""
    shift = 1 + stable_choice(f"{seed} turn", max(len(words) - 1, 1))
    rotated = [*words[shift:], *words[:shift]]
    forms = [reword(word) if at % 2 == 0 else word for at, word in enumerate(rotated)]
    return _TEMPLATES[stable_choice(f"{seed} template", len(_TEMPLATES))].format(" ".join(forms))
