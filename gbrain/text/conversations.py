"""Read who says what in chats, interviews and meeting notes, and of whom each sentence speaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from gbrain.text.language import detect_language
from gbrain.text.slug import fold_name

# "Ann: …", "- **Ann:** …", "[12:30] Ann: …", "12.03.24, 18:22 - Ann: …", "Ann (12:30): …"
_TIME = r"\[?\d{1,4}[-./:][\d:./, -]*\d(?: ?[AaPp][Mm])?\]?(?: [-–—])?[ \t]+"
_WORD = r"[^\W\d_][^\s:：*_|<>\[\]()`]*+"
_LABEL = re.compile(
    rf"[ \t>*+-]*+(?:{_TIME})?(?:\*\*|__)?(?P<name>{_WORD}(?: {_WORD}){{0,3}})(?:\*\*|__)?"
    r"(?: ?[\[(][\d:. ]+[\])])?(?::(?:\*\*|__)?(?=\s)|：(?:\*\*|__)?)"
)
_NICKNAME = re.compile(rf"(?:{_TIME})?<(?P<name>{_WORD})> ")
_NEW_BLOCK = re.compile(r"\s*(?:#{1,6} |```|~~~|---\s*\Z)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?!\[)|(?<=[。！？])|\n")
_IN_BRACKETS = re.compile(r"\[[^\[\]\n]*\]")

# Turns that someone needs on a page to be one of its speakers: one "Status: open" does not count.
_MIN_TURNS = 2
# From this share of turns with "I" or "you" it is a conversation; else labels may be fields.
_MIN_PERSONAL_SHARE = 0.2
# A question can be answered by this many of the turns after it.
_MAX_REPLIES = 6

# The first and the second person, by language.
_PRONOUNS = {
    "en": ("i my me mine we our ours us myself ourselves", "you your yours yourself u ur"),
    "de": (
        "ich mein meine meinem meinen meiner meins mich mir wir uns unser unsere unserem unseren",
        "du dein deine deinem deinen deiner dich dir ihr euch euer eure eurem euren",
    ),
    "fr": ("je j moi me m mon ma mes nous notre nos", "tu toi te t ton ta tes vous votre vos"),
    "es": (
        "yo me mi mis mí mío mía nosotros nosotras nos nuestro nuestra nuestros",
        "tú tu tus te ti tuyo tuya usted ustedes vosotros os vuestro vuestra",
    ),
    "it": (
        "io mi mio mia miei mie noi ci nostro nostra nostri",
        "tu ti te tuo tua tuoi tue voi vi vostro vostra",
    ),
    "pt": ("eu me mim meu minha meus minhas nós nosso nossa", "tu te ti teu tua você vocês"),
    "nl": ("ik mij mijn me wij we ons onze", "jij je jou jouw jullie u uw"),
}
_I = frozenset("i ich je yo io eu ik".split())
# "Who gave Ann the ring?" is answered by what others say, "Who did Ann meet?" is not.
_ASKS_FOR_SOMEONE = re.compile(
    r"(?i)\A\W*(?:who(?:se)?\b(?! (?:did|do|does|is|was|has|had|will|would)\b)"
    r"|(?:wer|wessen|qui|quién|chi|quem)\b)"
)


class Remark(NamedTuple):
    """A sentence of a conversation.

    `turn` counts from 0. `about` has the weight, from 0 to 1, with which it speaks of each speaker.
    """

    turn: int
    text: str
    about: Mapping[str, float]


class Conversation(NamedTuple):
    """Speakers and what they say; `personal` if they say "I" and "you" as people do."""

    speakers: tuple[str, ...]
    remarks: tuple[Remark, ...]
    personal: bool


def read_conversation(text: str) -> Conversation | None:
    """Return the conversation in a text; None if fewer than two people speak in it."""
    turns = list(_read_turns(text))
    counts = Counter(speaker for speaker, _ in turns)
    speakers = tuple(name for name, number in counts.items() if number >= _MIN_TURNS)
    turns = [turn for turn in turns if turn[0] in speakers]
    if len(speakers) < 2:
        return None
    first, second = _find_pronouns(" ".join(said for _, said in turns))
    addressed = sum(bool(first.search(said) or second.search(said)) for _, said in turns)
    personal = addressed >= _MIN_PERSONAL_SHARE * len(turns)
    remarks: list[Remark] = []
    partner = next(name for name, _ in turns if name != turns[0][0])
    last = turns[0][0]
    for number, (speaker, said) in enumerate(turns):
        partner = last if last != speaker else partner
        last = speaker
        replying = _replying(turns, number) or [partner]
        for sentence in filter(str.strip, _SENTENCE_END.split(said)):
            plain = _IN_BRACKETS.sub("", sentence).rstrip()
            about = {speaker: 1.0}
            if personal:
                asks = plain.endswith(("?", "？"))
                says_i, says_you = bool(first.search(plain)), bool(second.search(plain))
                says_you = says_you or (asks and not says_i)
                about = _weigh_people(speaker, replying if asks else [partner], says_i, says_you)
            about |= dict.fromkeys(_named(plain, speakers, speaker), 1.0)
            remarks.append(Remark(number, sentence, about))
    return Conversation(speakers, tuple(remarks), personal)


def _read_turns(text: str) -> Iterator[tuple[str, str]]:
    """Yield each label with the text up to the next label, heading or code block."""
    speaker, said = "", ""
    for line in text.splitlines(keepends=True):
        label = _LABEL.match(line) or _NICKNAME.match(line)
        if label or _NEW_BLOCK.match(line):
            if speaker:
                yield speaker, said
            speaker, said = "", ""
        if label and (not label["name"][0].islower() or label.re is _NICKNAME):
            speaker, said = label["name"], line[label.end() :]
        elif speaker:
            said += line
    if speaker:
        yield speaker, said


def _find_pronouns(text: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the first and the second person in the language of a text."""
    first, second = _PRONOUNS.get(detect_language(text) or "en", ("", ""))
    return _any_word(first), _any_word(second)


def _any_word(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{words.replace(' ', '|')})\b" if words else r"(?!)")


def _replying(turns: Sequence[tuple[str, str]], number: int) -> list[str]:
    """Return who speaks after a turn, until its speaker does again."""
    speaker = turns[number][0]
    after = (name for name, _ in turns[number + 1 : number + 1 + _MAX_REPLIES])
    return list(dict.fromkeys(takewhile(lambda name: name != speaker, after)))


def _weigh_people(
    speaker: str, partners: Sequence[str], says_i: bool, says_you: bool
) -> dict[str, float]:
    """Return of whom a sentence speaks, by its pronouns."""
    if says_i != says_you:
        return {speaker: 1.0} if says_i else dict.fromkeys(partners, 1.0)
    # "I bet you …" speaks of both. Without a pronoun it is more often the speaker.
    own, others = (0.6, 0.6) if says_i else (0.7, 0.3)
    return {**dict.fromkeys(partners, others), speaker: own}


def _named(sentence: str, speakers: Sequence[str], speaker: str) -> Iterator[str]:
    """Yield the other speakers whom a sentence names without addressing them."""
    for name in speakers:
        called = name.split()[0]
        if name == speaker or called not in sentence:
            continue
        before, _, after = sentence.partition(called)
        addressed = len(before.split()) < 2 or before.endswith(", ") or after[:1] in (*",!?.;:", "")
        if not addressed:
            yield name


def asked_speaker(question: str, conversation: Conversation) -> str | None:
    """Return the one speaker whose facts a question asks for; None if there are none or several.

    Where labels may be fields of a form, the question must write the name as the label does.
    """
    words = fold_name(question).split()
    asked = [name for name in conversation.speakers if is_name(name, words)]
    if len(asked) != 1 or not _I.isdisjoint(words) or _ASKS_FOR_SOMEONE.match(question):
        return None
    called = asked[0].split()[0]
    written_so = any(word.startswith(called) for word in question.split()[1:])
    return asked[0] if conversation.personal or written_so else None


def is_name(name: str, words: Sequence[str]) -> bool:
    """Tell whether one of the folded words is a part of a name, or its genitive."""
    parts = fold_name(name).split()
    return any(word in (part, f"{part}s") for part in parts for word in words)
