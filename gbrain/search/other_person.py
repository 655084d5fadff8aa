"""Find out whether what fits a question on a page is said of another person than it asks about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gbrain.store.keyword_tokens import KeywordTokenizer
from gbrain.text.conversations import Conversation, asked_speaker, is_name, read_conversation
from gbrain.text.slug import fold_name
from gbrain.types import Term

# How much more of the question's words, by weight, must be said of another person. With -.05, .05,
# .1 and .2, of LoCoMo's adversarial questions .90, .87, .87 and .83 are not graded strong, and .07,
# .04, .03 and .03 of its right first hits no longer are. The similarity of lines adds nothing.
_MIN_LEAD = 0.05
# A reply does not repeat what it replies to: a word said of the same person in one of the two turns
# before counts in part.
_TURNS_BEFORE, _SHARE_BEFORE = 2, 0.75
# Of a long page, this many lines before and after the best chunk are read.
_MAX_LINES_AROUND = 300


class OtherPerson(NamedTuple):
    """The person whom a question names, and the person whom the best lines are about.

    `known` says that some page mentions the person whom the question names.
    """

    asked: str
    found: str
    known: bool = True


def find_other_person(
    question: str, weights: Mapping[Term, float], text: str, lines: tuple[int, int]
) -> OtherPerson | None:
    """Return the person whom the fitting lines of a page are about, if it is another person.

    `weights` are the question's terms, rare ones weighing more; `lines` are the best chunk's.
    """
    around = text.splitlines(keepends=True)
    around = around[max(0, lines[0] - 1 - _MAX_LINES_AROUND) : lines[1] + _MAX_LINES_AROUND]
    conversation = read_conversation("".join(around))
    asked = asked_speaker(question, conversation) if conversation else None
    if conversation is None or asked is None:
        return None
    others = {
        term: weight
        for term, weight in weights.items()
        if not is_name(asked, fold_name(" ".join(term.words)).split())
    }
    shares = _shares_by_person(conversation, others)
    found = max(conversation.speakers, key=lambda name: (shares.get(name, 0.0), name != asked))
    if shares.get(found, 0.0) - shares.get(asked, 0.0) < _MIN_LEAD:
        return None
    return OtherPerson(asked, found)


def _shares_by_person(
    conversation: Conversation, weights: Mapping[Term, float]
) -> dict[str, float]:
    """Return the share of the words, by weight, that two or three turns say of each speaker."""
    total = sum(weights.values())
    said = _weights_by_turn(conversation, list(weights))
    best: dict[str, float] = {}
    for turn, people in said.items():
        for name, here in people.items():
            held = dict(here)
            for earlier in range(turn - _TURNS_BEFORE, turn):
                for term, weight in said.get(earlier, {}).get(name, {}).items():
                    held[term] = max(held.get(term, 0.0), _SHARE_BEFORE * weight)
            share = sum(weights[term] * weight for term, weight in held.items()) / total
            best[name] = max(best.get(name, 0.0), share)
    return best


def _weights_by_turn(
    conversation: Conversation, terms: Sequence[Term]
) -> dict[int, dict[str, dict[Term, float]]]:
    """Return by turn and person how much each term is said of that person."""
    read = _tokenizer().words
    spellings = [[" ".join(term.words), *term.synonyms, *term.forms] for term in terms]
    wanted = [[frozenset(words) for words in read(written)] for written in spellings]
    found: dict[int, dict[str, dict[Term, float]]] = defaultdict(lambda: defaultdict(dict))
    sentences = read([remark.text for remark in conversation.remarks])
    for remark, words in zip(conversation.remarks, map(set, sentences), strict=True):
        for term, spelled in zip(terms, wanted, strict=True):
            if any(spelling and spelling <= words for spelling in spelled):
                for name, weight in remark.about.items():
                    here = found[remark.turn][name]
                    here[term] = max(here.get(term, 0.0), weight)
    return found


@lru_cache(maxsize=1)
def _tokenizer() -> KeywordTokenizer:
    return KeywordTokenizer()
