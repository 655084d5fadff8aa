"""Dates in German, French, Spanish, Italian, Portuguese and Dutch questions, put into English."""

from __future__ import annotations

import re

from gbrain.text.periods import MONTH_NAMES

# German, French, Spanish, Italian, Portuguese and Dutch.
FOREIGN_MONTHS = {
    name: number
    for names in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for number, name in enumerate(names.split(), 1)
}
FOREIGN_MONTHS |= {"jänner": 1, "fevrier": 2, "marco": 3, "maerz": 3, "aout": 8, "decembre": 12}
_FOREIGN_SINCE = ("seit", "depuis", "desde", "dal", "sinds")
_FOREIGN_LEADS = (
    "im", "am", "vom", "en", "em", "nel", "ad", "a", "in", "le", "el", "il", "au mois de",
    "à partir de", *_FOREIGN_SINCE,
)  # fmt: skip
_FOREIGN_PHRASES = {
    "gestern": "yesterday", "vorgestern": "two days ago", "heute": "today",
    "letzte woche": "last week", "letzter woche": "last week", "diese woche": "this week",
    "letzten monat": "last month", "diesen monat": "this month", "letztes jahr": "last year",
    "letzten sommer": "last summer", "letzten winter": "last winter",
    "letzten herbst": "last autumn", "letzten frühling": "last spring",
    "letztes wochenende": "last weekend",
    "la semaine dernière": "last week", "le mois dernier": "last month",
    "l'année dernière": "last year", "l'été dernier": "last summer",
    "l'hiver dernier": "last winter",
    "ayer": "yesterday", "la semana pasada": "last week", "el mes pasado": "last month",
    "el año pasado": "last year", "el verano pasado": "last summer",
    "ieri": "yesterday", "la settimana scorsa": "last week", "il mese scorso": "last month",
    "l'anno scorso": "last year",
    "ontem": "yesterday", "semana passada": "last week", "mês passado": "last month",
    "ano passado": "last year",
    "gisteren": "yesterday", "vorige week": "last week", "vorige maand": "last month",
    "vorig jaar": "last year", "afgelopen week": "last week",
}  # fmt: skip
_FOREIGN_DATE = (
    rf"\b(?:({'|'.join(_FOREIGN_LEADS)}) )?(?:([0-3]?[0-9])(?:\.|er|º|°)? (?:de )?)?"
    rf"({'|'.join(sorted(FOREIGN_MONTHS, key=len, reverse=True))})\b"
    r"(?: (?:de |del )?((?:19|20)[0-9]{2})\b)?"
)


def translate_dates(text: str) -> str:
    """Return a question with dates of six other languages in English."""

    def month(match: re.Match[str]) -> str:
        lead, day, name, year = match.groups()
        english = MONTH_NAMES[FOREIGN_MONTHS[name.lower()] - 1]
        # "In August 2025" and "4 August" are English as well, "4. August" is not.
        foreign_lead = lead and lead.lower() not in ("in", "a", "am")
        if english.lower() == name.lower() and not foreign_lead and "." not in match[0]:
            return match[0]
        if not (year or day or lead):
            return match[0]
        word = "since" if lead and lead.lower() in _FOREIGN_SINCE else "in"
        return " ".join(filter(None, (word, day, english, year)))

    lowered = text.lower()
    for phrase, english in _FOREIGN_PHRASES.items():
        if phrase in lowered:
            text = re.sub(rf"\b{phrase}\b", english, text, flags=re.IGNORECASE)
    return re.sub(_FOREIGN_DATE, month, text, flags=re.IGNORECASE)
