"""Forms of irregular English verbs, which have different stems.

The verdict uses them. As terms of the keyword lane they do not help: on LoCoMo nDCG@10 falls from
.8768 to .8752, without the thirty commonest verbs to .8761.
"""

from __future__ import annotations

from functools import cache

# Base form, past tense, participle if it differs. Without be, do and have, stop words, and without
# forms that are more often another word: "found" a company, a "rose", a "saw".
_VERBS = """
    awake awoke awoken, become became, begin began begun, bend bent, bleed bled,
    blow blew blown, break broke broken, bring brought, build built, burn burnt, buy bought,
    catch caught, choose chose chosen, come came, dig dug, draw drew drawn, dream dreamt,
    drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
    fight fought, find found, fly flew flown, forget forgot forgotten, forgive forgave forgiven,
    freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown,
    hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led,
    learn learnt, leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid,
    ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,
    seek sought, sell sold, send sent, shake shook shaken, shine shone, shoot shot,
    sing sang sung, sink sank sunk, sit sat, sleep slept, speak spoke spoken, spend spent,
    stand stood, steal stole stolen, stick stuck, swear swore sworn, swim swam swum,
    take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown,
    understand understood, wake woke woken, wear wore worn, win won, write wrote written
"""
# Past forms that are other words as well: only the base form shows that the verb is meant.
_AMBIGUOUS = frozenset(
    "found fell felt left led rose saw shot spoke stuck hid bent fed tore".split()
)


@cache
def _forms() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for verb in _VERBS.split(","):
        forms = verb.split()
        for form in forms:
            if form not in _AMBIGUOUS:
                found[form] = tuple(other for other in forms if other != form)
    return found


def verb_forms(word: str) -> tuple[str, ...]:
    """Return the other forms of an irregular English verb; none for any other word."""
    return _forms().get(word.casefold(), ())
