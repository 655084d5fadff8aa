"""Questions mined from a brain's own pages, each with the page that must answer it.

The same pages give the same questions on every machine. Nothing is drawn at random: each kind
takes its sources in the order of a digest, so that a page more or less changes few of them.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from hashlib import blake2b
from itertools import islice, pairwise
from math import log2
from typing import Literal, NamedTuple, get_args

from gbrain.store.links import links_from
from gbrain.store.page_names import find_by_name
from gbrain.store.pages import page_text, require_page
from gbrain.text.query_terms import STOP_WORDS, fts_expression, has_unspaced_script
from gbrain.text.sections import is_timeline_heading
from gbrain.text.slug import fold_name
from gbrain.text.timeline import parse_entry
from gbrain.types import Term

QuestionKind = Literal["title", "heading", "timeline", "link", "typo", "paraphrase"]
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)

# Questions of each kind: enough to see a loss of a few hundredths, few enough for half a minute.
MAX_QUESTIONS_PER_KIND = 100

_FEWEST_WORDS = 3
_MOST_WORDS = 5
_MOST_FROM_A_PAGE = 5
_MOST_LINKS_READ = 50
# Sentences at a page's beginning of which the most telling one is asked: a greeting tells nothing.
_OPENING = 6
# Beyond so many pages a word is common, however many more hold it.
_COMMON = 1000
# The stretch of a page that shows whether a question still stands there.
_TRACE = 80
_LONGEST_SOURCE = 4000
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


class MinedQuestion(NamedTuple):
    """What is asked, and the page that must come first.

    `drawn_from` stands in that page word for word; while it does, the question is fair. The page
    `exclude` is not searched: it is where the words of the question stand.
    """

    id: str
    kind: QuestionKind
    text: str
    slug: str
    drawn_from: str = ""
    exclude: str | None = None


class _Base(NamedTuple):
    """A question before it is worded."""

    slug: str
    words: list[str]
    drawn_from: str
    exclude: str | None = None
    lead: str = ""


def mine_questions(
    connection: sqlite3.Connection, most: int = MAX_QUESTIONS_PER_KIND
) -> list[MinedQuestion]:
    """At most `most` questions of each kind, kinds in order."""
    rarity = _Rarity(connection)
    drawn: dict[QuestionKind, list[_Base]] = {
        "title": list(islice(_by_first_sentence(rarity), most)),
        "heading": list(islice(_by_heading(rarity), most)),
        "timeline": list(islice(_by_date(rarity), most)),
        "link": list(islice(_by_anchor(rarity), most)),
    }
    told = drawn["title"] + drawn["heading"]
    drawn["typo"] = sorted(told, key=lambda base: _order("typo", base))[:most]
    drawn["paraphrase"] = sorted(told, key=lambda base: _order("paraphrase", base))[:most]
    return [_question(kind, base) for kind in QUESTION_KINDS for base in drawn[kind]]


def is_still_valid(connection: sqlite3.Connection, question: MinedQuestion) -> bool:
    """Whether the page that must answer is there and still says what the question came from."""
    return (
        connection.execute(
            "SELECT 1 FROM pages WHERE slug = ?1 "
            "AND (instr(compiled_truth, ?2) OR instr(timeline, ?2))",
            (question.slug, question.drawn_from),
        ).fetchone()
        is not None
    )


def refresh_questions(
    connection: sqlite3.Connection,
    known: Iterable[MinedQuestion],
    most: int = MAX_QUESTIONS_PER_KIND,
) -> list[MinedQuestion]:
    """Known questions that still hold, then fresh ones of pages that those leave out."""
    held = [question for question in known if is_still_valid(connection, question)]
    covered = {(question.kind, question.slug) for question in held}
    fresh = [q for q in mine_questions(connection, most) if (q.kind, q.slug) not in covered]
    return [
        question
        for kind in QUESTION_KINDS
        for question in islice((q for q in held + fresh if q.kind == kind), most)
    ]


def _question(kind: QuestionKind, base: _Base) -> MinedQuestion:
    if kind == "typo":
        text = base.lead + " ".join(add_typo(base.words, base.slug))
    elif kind == "paraphrase":
        text = paraphrase(base.words, base.slug)
    else:
        text = base.lead + " ".join(base.words)
    name = blake2b(f"{kind}\0{base.slug}\0{text}".encode("utf-8", "replace"), digest_size=6)
    return MinedQuestion(name.hexdigest(), kind, text, base.slug, base.drawn_from, base.exclude)


def _order(kind: str, base: _Base) -> int:
    return stable_choice(f"{kind}\0{base.slug}\0{' '.join(base.words)}", 1 << 64)


class _Rarity:
    """In how many pages a word stands, asked once for each word."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._pages: dict[str, int] = {}

    def pages(self, word: str) -> int:
        key = word.casefold()
        if key not in self._pages:
            self._pages[key] = self.connection.execute(
                "SELECT count(*) FROM (SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? LIMIT ?)",
                (fts_expression((Term((word,), quoted=True),)), _COMMON),
            ).fetchone()[0]
        return self._pages[key]

    def rarest(self, words: list[str], most: int) -> list[str]:
        """The `most` rarest of the words, in their own order; those of one page only are last
        chosen, as a question that any index answers shows nothing."""
        ranked = sorted(words, key=lambda word: (self.pages(word) < 2, self.pages(word)))
        chosen = set(ranked[:most])
        return [word for word in words if word in chosen]

    def weight(self, words: list[str]) -> float:
        """How much the words tell together: many and rare ones the most, one page or two alike."""
        return sum(1 / log2(max(self.pages(word), 2)) for word in words)

    def names_a_page(self, words: list[str]) -> bool:
        return bool(find_by_name(self.connection, fold_name(" ".join(words))))


# --- where questions come from ---------------------------------------------------------------


def _by_first_sentence(rarity: _Rarity) -> Iterator[_Base]:
    """Pages asked by what they say first, without the words of their names."""
    for page_id, slug, title in _pages(rarity.connection, "title"):
        row = rarity.connection.execute(
            "SELECT substr(compiled_truth, 1, ?) FROM pages WHERE id = ?",
            (_LONGEST_SOURCE, page_id),
        ).fetchone()
        held_out = _name_words(title, slug)
        opening = [
            (sentence, rarity.rarest(content_words(sentence, held_out), _MOST_WORDS))
            for sentence in prose_sentences(row[0])[:_OPENING]
        ]
        if opening:
            sentence, words = max(opening, key=lambda said: rarity.weight(said[1]))
            if _enough(words) and not rarity.names_a_page(words):
                yield _Base(slug, words, sentence[:_TRACE])


def _by_heading(rarity: _Rarity) -> Iterator[_Base]:
    """Pages asked by a heading of theirs and the rarest word below it."""
    for page_id, slug, title in _pages(rarity.connection, "heading"):
        rows = rarity.connection.execute(
            "SELECT heading_path, text FROM chunks "
            "WHERE page_id = ? AND kind = 'truth' AND part = 0 ORDER BY section",
            (page_id,),
        )
        below = [(json.loads(path), text) for path, text in rows]
        inner = [
            (path[-1], text)
            for path, text in below
            if path
            and fold_name(path[-1]) != fold_name(title)
            and not is_timeline_heading(path[-1])
        ]
        for turn in range(len(inner)):
            heading, text = inner[(stable_choice(slug, len(inner)) + turn) % len(inner)]
            words = content_words(heading)[:_MOST_WORDS]
            said = content_words(text.replace(heading, "", 1), [*words, *_name_words(title, slug)])
            words += sorted(said, key=rarity.pages)[:1]
            if len(words) >= 2 and said and not rarity.names_a_page(words):
                yield _Base(slug, words, heading[:_TRACE])
                break


def _by_date(rarity: _Rarity) -> Iterator[_Base]:
    """Timeline entries asked by their date and some of their words."""
    rows = rarity.connection.execute(
        "SELECT chunks.id, slug, chunks.date FROM chunks JOIN pages ON pages.id = page_id "
        "WHERE kind = 'timeline' AND part = 0 AND chunks.date IS NOT NULL"
    ).fetchall()
    rows.sort(key=lambda row: stable_choice(f"timeline\0{row[1]}\0{row[2]}\0{row[0]}", 1 << 64))
    for chunk_id, slug, written in rows:
        text = rarity.connection.execute(
            "SELECT text FROM chunks WHERE id = ?", (chunk_id,)
        ).fetchone()[0]
        said = parse_entry(text).words.partition("\n")[0]
        words = rarity.rarest(content_words(said), _FEWEST_WORDS)
        if len(words) >= 2:
            yield _Base(slug, words, said[:_TRACE], lead=f"what happened {_spoken(written)}: ")


def _by_anchor(rarity: _Rarity) -> Iterator[_Base]:
    """Pages asked by the words that lead to them on another page, which is not searched."""
    connection = rarity.connection
    linking = "WHERE id IN (SELECT page_id FROM links WHERE kind <> 'front_matter')"
    for page_id, source, _ in _pages(connection, "link", linking):
        lines = page_text(connection, page_id).split("\n")
        given: set[str] = set()
        for link in links_from(connection, require_page(connection, source))[:_MOST_LINKS_READ]:
            slug, title = link.slug, link.title
            if slug is None or title is None or link.kind == "front_matter":
                continue
            if slug == source or slug in given or len(given) >= _MOST_FROM_A_PAGE:
                continue
            said = _sentence_with(lines[link.line - 1 : link.line], link.label or link.target)
            words = rarity.rarest(content_words(said, _name_words(title, slug)), _MOST_WORDS)
            if _enough(words) and _speaks_of(connection, slug, words):
                given.add(slug)
                yield _Base(slug, words, "", exclude=source)


def _pages(
    connection: sqlite3.Connection, kind: QuestionKind, where: str = ""
) -> list[tuple[int, str, str]]:
    """Pages as (number, slug, title), in the order in which this kind takes them."""
    rows = connection.execute(f"SELECT id, slug, title FROM pages {where}").fetchall()
    return sorted(rows, key=lambda row: stable_choice(f"{kind}\0{row[1]}", 1 << 64))


def _enough(words: list[str]) -> bool:
    """Whether the words make a question; of a script without spaces one is a clause already."""
    return len(words) >= _FEWEST_WORDS or any(map(has_unspaced_script, words))


def _name_words(title: str, slug: str) -> list[str]:
    return content_words(f"{title} {slug}".replace("-", " "))


def _sentence_with(lines: list[str], anchor: str) -> str:
    """The sentence in which a link stands, as far as its line goes."""
    for line in lines:
        for sentence in split_sentences(line):
            if anchor in sentence:
                return sentence
    return " ".join(lines)


def _speaks_of(connection: sqlite3.Connection, slug: str, words: list[str]) -> bool:
    """Whether the page has at least one of the words: else nothing could lead to it."""
    terms = tuple(Term((word,), quoted=True) for word in words)
    found = connection.execute(
        "SELECT 1 FROM pages_fts JOIN pages ON pages.id = pages_fts.rowid "
        "WHERE pages_fts MATCH ? AND pages.slug = ?",
        (fts_expression(terms), slug),
    )
    return found.fetchone() is not None


def _spoken(written: str) -> str:
    """A date as one says it: on 3 April 2026, in April 2026, in 2026."""
    parts = written[:10].split("-")
    try:
        if len(parts) == 3:
            day = date(int(parts[0]), int(parts[1]), int(parts[2]))
            return f"on {day.day} {_MONTHS[day.month - 1]} {day.year}"
        if len(parts) == 2:
            return f"in {_MONTHS[int(parts[1]) - 1]} {int(parts[0])}"
    except (ValueError, IndexError):
        pass
    return f"in {written}"


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


def stable_choice(seed: str, choices: int) -> int:
    """A number from 0 to below `choices` that depends on the seed alone, on every machine."""
    return (
        int.from_bytes(blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()) % choices
    )


def strip_markup(text: str) -> str:
    """A stretch of Markdown without code, addresses and markup; links leave their label."""
    return _MARKUP.sub(_label, text)


def _label(found: re.Match[str]) -> str:
    """What a reader sees of a link; the name of a page without its folder and dashes."""
    if found["wiki"] is not None:
        return f" {found['wiki']} "
    if found["page"] is not None:
        return f" {found['page'].rpartition('/')[2].replace('-', ' ')} "
    return f" {found['label'] or ''} "


def prose_sentences(text: str) -> list[str]:
    """The sentences and list items of a Markdown text, as written, without blocks of code, tables,
    headings and rules."""
    outside_code = _FENCE.split(text)[::2]
    return [
        sentence
        for stretch in outside_code
        for sentence in split_sentences(stretch)
        if not sentence.startswith(_NO_PROSE)
    ]


def split_sentences(text: str) -> list[str]:
    """The sentences, paragraphs and list items of a text, as written."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    edges = [0, *ends, len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges) if text[a:b].strip()]


def content_words(text: str, held_out: Iterable[str] = ()) -> list[str]:
    """The words of a text that tell something, in its order, each once.

    Words with the same beginning as one that is held out are left out too: a title's `Rivers`
    holds out `river`.
    """
    stems = {rough_stem(word) for word in held_out}
    found: dict[str, str] = {}
    for match in _WORD.finditer(strip_markup(text)):
        word = match[0][:_CLAUSE] if has_unspaced_script(match[0]) else match[0]
        key = word.casefold()
        is_short = len(word) < _SHORTEST_WORD and not has_unspaced_script(word)
        is_number = not any(map(str.isalpha, word))
        if is_short or is_number or key in STOP_WORDS or rough_stem(word) in stems:
            continue
        found.setdefault(key, word)
    return list(found.values())


def rough_stem(word: str) -> str:
    """A rough stem: enough to tell that two words are forms of one."""
    key = word.casefold().removesuffix("'s").removesuffix("’s")
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s"):
        if key.endswith(ending) and len(key) - len(ending) >= 3:
            return key[: -len(ending)].removesuffix("e").removesuffix("y")
    return key.removesuffix("e").removesuffix("y") if len(key) > 4 else key


def add_typo(words: Sequence[str], seed: str) -> list[str]:
    """The words with one slip of the finger in the longest of them, inside the word."""
    longest = max(range(len(words)), key=lambda at: (len(words[at]), -at))
    word = words[longest]
    if len(word) < 4:
        return list(words)
    at = 1 + stable_choice(f"{seed} at", len(word) - 2)
    before, here, after = word[:at], word[at], word[at + 1 :]
    near = _NEIGHBOUR_KEYS.get(here.lower(), here)
    slips = (before + after, before + here + here + after, before + near + after,
             before + after[0] + here + after[1:])  # fmt: skip
    wrong = [slip for slip in slips if slip != word]
    return [
        *words[:longest],
        wrong[stable_choice(f"{seed} slip", len(wrong))],
        *words[longest + 1 :],
    ]


def reword(word: str) -> str:
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


def paraphrase(words: Sequence[str], seed: str) -> str:
    """The words said otherwise: in another order and form, inside another question."""
    turn = 1 + stable_choice(f"{seed} turn", max(len(words) - 1, 1))
    turned = [*words[turn:], *words[:turn]]
    forms = [reword(word) if at % 2 == 0 else word for at, word in enumerate(turned)]
    return _TEMPLATES[stable_choice(f"{seed} template", len(_TEMPLATES))].format(" ".join(forms))
