"""Dates in German, French, Spanish, Italian, Portuguese and Dutch questions, put into English.

Tables of our own: dateparser takes .19 s to import and .3 s a question, and of eleven questions it
read five wrongly, among them "Wo" and "Die" as dates. Chinese and Japanese are in `cjk_dates.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import partial

from gbrain.text.cjk_dates import translate_cjk_dates
from gbrain.text.periods import MONTH_NAMES
from gbrain.text.stop_words import MONTHS_BY_LANGUAGE, question_languages

# Swedish and Polish are read in entries only.
FOREIGN_MONTHS = {
    name: number
    for names in MONTHS_BY_LANGUAGE.values()
    for number, name in enumerate(names.split(), 1)
}
FOREIGN_MONTHS |= {"jänner": 1, "fevrier": 2, "marco": 3, "maerz": 3, "aout": 8, "decembre": 12}
# Leads that are words of English, or of names in it: "a mars bar", "El Mayo".
_LEADS_IN_ENGLISH = frozenset("in am a ad no le el il du en em ab tot".split())
_LEADS_OF_DAYS = frozenset("am le el il vom".split())
# Months that are other things in English: a planet, a drink, a sauce, names.
_NAMES_TOO = frozenset("mars mai mei marco avril mayo julio juli juni augustus".split())


def _table(rows: str) -> dict[str, str]:
    """Return the words of each line by language as keys of its first word; _ is a blank."""
    return {
        word.replace("_", " "): english.replace("_", " ")
        for english, *words in map(str.split, rows.strip().splitlines())
        for word in words
    }


_LEADS = _table(
    """
    in im am vom en em nel nell' ad a in le el il du no au_mois_de im_monat el_mes_de im_laufe_des
    since seit seit_dem depuis desde dal sinds vanaf ab à_partir_de a_partir_de
    before vor vor_dem avant antes_de prima_di voor
    after nach nach_dem après después_de depois_de dopo
    until bis bis_zum jusqu'en jusqu'à hasta fino_a até tot
    """
)
_UNITS = _table(
    """
    day tag tage tagen jour jours día días dia dias giorno giorni dag dagen
    week woche wochen semaine semaines semana semanas settimana settimane week weken
    month monat monate monaten mois mes meses mese mesi mês maand maanden
    quarter quartal quartale trimestre trimestres trimestri kwartaal kwartalen
    year jahr jahre jahren an ans année années año años anno anni ano anos jaar jaren
    weekend wochenende week-end fin_de_semana fine_settimana fim_de_semana weekend weekeinde
    spring frühling frühjahr printemps primavera lente voorjaar
    summer sommer été verano estate verão zomer
    autumn herbst automne otoño autunno outono herfst najaar
    winter winter hiver invierno inverno
    Monday montag lundi lunes lunedì segunda-feira maandag
    Tuesday dienstag mardi martes martedì terça-feira dinsdag
    Wednesday mittwoch mercredi miércoles mercoledì quarta-feira woensdag
    Thursday donnerstag jeudi jueves giovedì quinta-feira donderdag
    Friday freitag vendredi viernes venerdì sexta-feira vrijdag
    Saturday samstag sonnabend samedi sábado sabato zaterdag
    Sunday sonntag dimanche domingo domenica zondag
    """
)
_SEASONS = {"spring", "summer", "autumn", "winter"}
_NEAR_DAYS = _table(
    """
    yesterday gestern hier ayer ieri ontem gisteren
    today heute aujourd'hui hoy oggi hoje vandaag
    tomorrow morgen demain mañana domani amanhã
    two_days_ago vorgestern avant-hier anteayer l'altro_ieri anteontem eergisteren
    """
)
# Before or after the unit: letzte Woche, la semaine dernière.
_WAYS_BEFORE = _table(
    """
    last letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes
    last vorige vorigen voriges voriger vorig afgelopen laatste scorso scorsa último última
    this diese diesen dieser dieses diesem ce cet cette este esta questo questa quest' deze dit
    next nächste nächsten nächster nächstes nächstem kommende kommenden kommendes
    next prochaine prochain próximo próxima prossimo prossima volgende volgend komende
    """
)
_WAYS_AFTER = _table(
    """
    last dernier dernière passé passée pasado pasada scorso scorsa passato passata passado passada
    next prochain prochaine próximo próxima prossimo prossima que_viene que_vem
    """
)
_COUNTS = _table(
    """
    1 ein eine einem einer un une una uno um uma een één
    2 zwei deux dos due dois duas twee
    3 drei trois tres tre três drie
    4 vier quatre cuatro quattro quatro vier
    5 fünf cinq cinco cinque vijf
    6 sechs six seis sei zes
    7 sieben sept siete sette sete zeven
    8 acht huit ocho otto oito acht
    9 neun neuf nueve nove negen
    10 zehn dix diez dieci dez tien
    11 elf onze once undici elf
    12 zwölf douze doce dodici doze twaalf
    """
)
_ORDINALS = _table(
    """
    1 erstes ersten erste premier primer primero primo primeiro eerste 1. 1er 1º 1° 1e
    2 zweites zweiten zweite deuxième second segundo secondo tweede 2. 2e 2º 2°
    3 drittes dritten dritte troisième tercer tercero terzo terceiro derde 3. 3e 3º 3°
    4 viertes vierten vierte quatrième cuarto quarto vierde 4. 4e 4º 4°
    """
)


# Next to these words the day is a time of the day: am Morgen, por la mañana.
_OTHER_MEANING = {
    "morgen": ("jeden", "am", "guten", "gestern", "heute", "elke", "goede"),
    "mañana": ("la",),
}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_MONTH = _any(FOREIGN_MONTHS)
_UNIT = _any(_UNITS)
_COUNT = rf"[0-9]{{1,4}}|{_any(_COUNTS)}"
_YEAR = r"(?:19|20)[0-9]{2}"
_DATED_MONTH = (
    rf"(?:([0-3]?[0-9])(?:\.|er|º|°)? (?:de )?)?({_MONTH})(?: (?:de |del |des jahres )?({_YEAR}))?"
)
_LONE_MONTH = rf"(?:{_MONTH}|{_any(MONTH_NAMES).lower()})(?: (?:de |del )?{_YEAR})?|{_YEAR}"
_FOREIGN_RANGE = (
    rf"\b(?:(zwischen|entre|tra|fra|tussen) ({_LONE_MONTH}) (?:und|et|y|ed|e|en) ({_LONE_MONTH})"
    rf"|(?:von|vom|de|da|dal|van|del) ({_LONE_MONTH}) (?:bis zum|bis|à|al|a|até|tot|t/m) "
    rf"({_LONE_MONTH}))\b"
)
_FOREIGN_AGO = (
    rf"\b(?:(?:vor|il y a|hace|há|faz) ({_COUNT}) ({_UNIT})"
    rf"|({_COUNT}) ({_UNIT}) (?:fa|geleden|atrás))\b"
)
_FOREIGN_RECENT = (
    rf"\b(?:in |in den |im |durant |en |nei |nas |nos )?(?:den |der |les |los |las |gli |le |de )?"
    rf"(?:letzten|vergangenen|derniers|dernières|últimos|últimas|ultimi|ultime|"
    rf"afgelopen) ({_COUNT}) ({_UNIT})\b"
)
_FOREIGN_COUNT_BEFORE = (
    rf"\b(?:les|los|las|gli|le|os|as|dei|nei|nelle) ({_COUNT}) "
    rf"(?:derniers|dernières|últimos|últimas|ultimi|ultime) ({_UNIT})\b"
)
_FOREIGN_WAY = (
    rf"(?:\b(?:in der |in dem |in |im |am |dans |en |de |op |nel |nella |na |no )?"
    rf"(?:la |le |el |il |der |die |dem |das |a |o |l')?"
    rf"({_any(_WAYS_BEFORE)}) ?({_UNIT})\b"
    rf"|\b(?:la |le |l'|el |il |na |no |a |o |nella |nel )?({_UNIT}) ({_any(_WAYS_AFTER)})\b)"
)
_FOREIGN_QUARTER = (
    rf"\b(?:im |au |en el |el |le |il |nel |no |in het |het )?({_any(_ORDINALS)}) "
    rf"(?:quartal|trimestre|kwartaal)(?: (?:de |del |des jahres |van )?({_YEAR}))?\b"
)
_FOREIGN_SEASON = (
    rf"\b(?:im|en|au|à l'|nel|nell'|in|in de|no|na|em|l') ?"
    rf"({_any(word for word, unit in _UNITS.items() if unit in _SEASONS)})"
    rf"(?: (?:de |del |von |van )?({_YEAR}))?\b"
)
_FOREIGN_YEAR = (
    rf"\b(?:im jahr|im jahre|en|em|nel|l'année|en el año|nell'anno) ({_YEAR})\b(?![-/.])"
)
_WEEKDAYS = [word for word, unit in _UNITS.items() if unit.endswith("day") and unit != "day"]
_FOREIGN_WEEKDAY = rf"\b(?:(am|seit|el|on|op|na|no|seit dem) )({_any(_WEEKDAYS)})\b"
_FOREIGN_DATE = rf"\b(?:({_any(_LEADS)}) )?{_DATED_MONTH}\b"


def _split_words(text: str) -> list[str]:
    return "".join(c if c.isalpha() else " " for c in text.lower()).split()


# A question of ASCII letters matches a pattern only with one of these words. Those that are English
# as well never change it alone.
_SIGNS = frozenset(
    _split_words(
        " ".join((*FOREIGN_MONTHS, *_LEADS, *_UNITS, *_WAYS_BEFORE, *_WAYS_AFTER))
        + " zwischen entre tra fra tussen von da van del y hace faz fa geleden"
        " letzten vergangenen derniers ultimi ultime afgelopen jahr jahre anno"
    )
).difference(_split_words(f"in a am an week weekend end {' '.join(MONTH_NAMES)}"))
# The unit may follow these without a blank: imsommer.
_JOINED = (*_WAYS_BEFORE, "im", "en", "au", "nel", "in", "no", "na", "em", "de")
_UNIT_STARTS = frozenset(_split_words(unit)[0] for unit in _UNITS)


def _may_have_foreign_date(text: str) -> bool:
    """Return False for a question that certainly has no date to translate, as most have none."""
    # The point in "4. August" is not English.
    if not text.isascii() or ". " in text:
        return True
    words = _split_words(text)
    return not _SIGNS.isdisjoint(words) or any(
        word.removeprefix(start) in _UNIT_STARTS
        for word in words
        for start in _JOINED
        if word.startswith(start)
    )


def translate_dates(text: str, today: date) -> str:
    """Return a question with dates of eight other languages in English."""
    if not text.isascii():
        text = translate_cjk_dates(text, today)
    # Compiling the patterns takes 16 ms, a sixth of a whole command.
    if _may_have_foreign_date(text):
        text = _translate_phrases(text)
    words = {word.strip("?!.,;:¿¡\"'()").lower() for word in text.split()}
    for phrase, english in _NEAR_DAYS.items():
        if phrase in words and _means_day(phrase, words):
            text = re.sub(rf"\b{phrase}\b", english, text, flags=re.IGNORECASE)
    return text


def _translate_phrases(text: str) -> str:
    # Compiles the letters of alphabets, which takes 3 ms.
    from gbrain.text.language import question_language

    language = question_language(text)
    for pattern, translate in (
        (_FOREIGN_RANGE, _range),
        (_FOREIGN_AGO, _ago),
        (_FOREIGN_RECENT, _recent),
        (_FOREIGN_COUNT_BEFORE, _recent),
        (_FOREIGN_QUARTER, _quarter),
        (_FOREIGN_WAY, _way),
        (_FOREIGN_DATE, partial(_month, language)),
        (_FOREIGN_SEASON, partial(_season, language)),
        (_FOREIGN_YEAR, _in_year),
        (_FOREIGN_WEEKDAY, _weekday),
    ):
        text = re.sub(pattern, translate, text, flags=re.IGNORECASE)
    return text


def _means_day(phrase: str, words: set[str]) -> bool:
    """Tell whether a word means a day in the question; some mean another thing as well."""
    if phrase == "hier":
        return "fr" in question_languages(words)
    return words.isdisjoint(_OTHER_MEANING.get(phrase, ()))


def _english_month(written: str) -> str:
    """Return a month with or without a year, or a year, in English."""
    name, _, year = written.partition(" ")
    if name.isdigit():
        return name
    number = FOREIGN_MONTHS.get(name.lower())
    english = MONTH_NAMES[number - 1] if number else name
    return f"{english} {year[-4:]}".strip()


def _range(match: re.Match[str]) -> str:
    if match[1]:
        return f"between {_english_month(match[2])} and {_english_month(match[3])}"
    if match[4].isdigit() != match[5].isdigit():
        return match[0]
    return f"from {_english_month(match[4])} to {_english_month(match[5])}"


def _number(written: str) -> str:
    return _COUNTS.get(written.lower(), written)


def _plural(count: str, unit: str) -> str:
    return f"{count} {_UNITS[unit.lower()]}{'' if count == '1' else 's'}"


def _ago(match: re.Match[str]) -> str:
    count, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    if _UNITS[unit.lower()] not in ("day", "week", "month", "quarter", "year"):
        return match[0]
    return f"{_plural(_number(count), unit)} ago"


def _recent(match: re.Match[str]) -> str:
    if _UNITS[match[2].lower()] not in ("day", "week", "month", "quarter", "year"):
        return match[0]
    return f"in the last {_plural(_number(match[1]), match[2])}"


def _way(match: re.Match[str]) -> str:
    if match[1]:
        way, unit = _WAYS_BEFORE[match[1].lower()], _UNITS[match[2].lower()]
    else:
        way, unit = _WAYS_AFTER[match[4].lower()], _UNITS[match[3].lower()]
    return match[0] if unit == "day" else f"{way} {unit}"


def _quarter(match: re.Match[str]) -> str:
    return f"in Q{_ORDINALS[match[1].lower()]} {match[2] or ''}".strip()


def _is_clearly_dated(language: str, match: re.Match[str]) -> bool:
    """Tell whether a month of another language than the question's is still a date."""
    lead, day, name, year = (group.lower() if group else "" for group in match.groups())
    if year or not name.isascii() or "." in match[0]:
        return True
    if day:
        return lead in _LEADS_OF_DAYS
    # "Im Mars" is German, but its month is not; "desde maio" is clear in any language.
    foreign = language == "en" or _LEADS.get(lead) != "in"
    return bool(lead) and foreign and lead not in _LEADS_IN_ENGLISH


def _is_name(match: re.Match[str]) -> bool:
    """Tell whether a month in a text of no clear language is a name: "3 mars bars", "El Mayo"."""
    lead, day, name, _ = match.groups()
    before_words = re.match(r"\s+[^\W\d_]", match.string[match.end() :]) is not None
    if day:
        english = match.string.isascii() and name.lower() in _NAMES_TOO
        return english and not lead and before_words
    return bool(lead) and lead.lower() in _LEADS_OF_DAYS


def _season(language: str | None, match: re.Match[str]) -> str:
    # "In estate" is no summer in an English question.
    if language == "en" and not match[2] and match[0].isascii():
        return match[0]
    return f"in {_UNITS[match[1].lower()]} {match[2] or ''}".strip()


def _in_year(match: re.Match[str]) -> str:
    return f"in {match[1]}"


def _weekday(match: re.Match[str]) -> str:
    return f"{'since' if match[1].lower().startswith('seit') else 'on'} {_UNITS[match[2].lower()]}"


def _month(language: str | None, match: re.Match[str]) -> str:
    """Return a month in English, if the question is in its language or it is clearly a date."""
    lead, day, name, year = match.groups()
    english = MONTH_NAMES[FOREIGN_MONTHS[name.lower()] - 1]
    # "In August 2025" and "4 August" are English as well, "4. August" is not.
    foreign_lead = lead and lead.lower() not in ("in", "a", "am")
    if english.lower() == name.lower() and not foreign_lead and "." not in match[0]:
        return match[0]
    if not (year or day or lead):
        return match[0]
    if not language and not year and _is_name(match):
        return match[0]
    asked_in = MONTHS_BY_LANGUAGE.get(language or "", "")
    if language and name.lower() not in asked_in.split() and not _is_clearly_dated(language, match):
        return match[0]
    word = _LEADS[lead.lower()] if lead else "in"
    return " ".join(filter(None, (word, day, english, year)))
