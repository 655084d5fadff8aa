"""Function words of nineteen languages, and which of them a question does not mean literally.

In a brain of several languages, a function word of the rarer ones is rare, so BM25 takes it for
what is asked. The function words themselves show the language. Libraries that detect
languages compare letters, which takes a longer text than a question, and megabytes of tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence, Set
from itertools import pairwise

from gbrain.text.slug import fold_name

STOP_WORDS = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for from
    had has have having he her here hers him his how i if in into is it its just many me more
    most much my no nor not of off on or our ours out over own she should so some such than that
    the their theirs them then there these they this those through to too under up us very was we
    were what when where which while who whom whose why will with would you your yours who's
    what's where's that's it's i'm i've i'd there's let's tell give show""".split()
)

# In lower case and without accents.
_FOREIGN_WORDS = {
    "de": """
        ab aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis
        bist da dann darf das dass dein deine deinen dem den denn der des dessen die dies
        diese diesem diesen dieser dieses doch dort du durch durfen ein eine einem einen
        einer eines er es euch euer fur gab gibt habe haben habt hat hatte hatten hier hin
        ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder
        jedes jetzt kann kannst konnen man mein meine meinem meinen meiner mich mir mit muss
        mussen nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner
        seit sich sie sind so soll sollen sollte uber um und uns unser unsere unserem
        unseren unserer unter vom von vor wann war waren warum was wegen weil welche welchem
        welchen welcher welches wem wen wenn wer werden weshalb wessen wie wieder wieso
        wieviel will wir wird wo woher wohin wollen worden wurde wurden zu zum zur zwischen
    """,
    "fr": """
        a ai as au aucun aussi aux avaient avait avec avez avoir avons c ce cela celle celui
        ces cet cette ceux chez combien comme comment d dans de depuis des donc dont du elle
        elles en entre es est et etaient etait etant ete etes etre eu eux faut il ils j je l
        la laquelle le lequel les lesquels leur leurs lors lui m ma mais me meme mes moi mon
        n ne ni nos notre nous on ont ou par pas pendant peut plus pour pourquoi puis qu
        quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous
        suis sur t ta te tes toi ton tous tout toute toutes tres tu un une va vers vos votre
        vous y
    """,
    "es": """
        a al algun alguna ante antes aquel aquella aqui asi aun aunque bajo cada como con
        contra cual cuales cuando cuanta cuantas cuanto cuantos de del desde despues donde
        dos durante e el ella ellas ellos en entre era eran eres es esa esas ese eso esos
        esta estaba estan estar estas este esto estos estoy fue fueron ha habia han has
        hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros
        nuestra nuestras nuestro nuestros o os otra otro para pero por porque pues que quien
        quienes se sea ser si sido sin sobre son soy su sus tambien tan te tiene tienen todo
        todos tu tus un una unas uno unos y ya yo
    """,
    "it": """
        a abbiamo ad agli ai al alla alle allo anche ancora avere aveva c che chi ci
        ciascuno come con contro cosa cui d da dagli dai dal dalla dalle dallo degli dei del
        dell della delle dello di dopo dove due e ed era erano essere fa fra fu gli ha hai
        hanno ho i il in io l la le lei li lo loro lui ma me mentre mi mia mie miei mio ne
        negli nei nel nell nella nelle nello noi non nostra nostre nostri nostro o ogni per
        perche piu poi prima qual quale quali quando quanta quante quanti quanto quella
        quelle quelli quello questa queste questi questo qui se sei si sia siamo siete sono
        sta stata stato su sua sue sugli sui sul sulla sulle suo suoi ti tra tu tua tuo
        tutti tutto un una uno va vi voi
    """,
    "pt": """
        a ainda antes ao aos apos as ate cada com como da das de dela dele deles depois do
        dois dos e ela elas ele eles em entao entre era eram essa essas esse esses esta
        estao estar estas estava este estes eu foi foram ha isso isto ja la lhe mais mas me
        mesmo meu meus minha minhas muito na nao nas nem no nos nossa nossas nosso nossos
        num numa o onde os ou para pela pelas pelo pelos por porque quais qual quando quanta
        quantas quanto quantos que quem sao se sem ser seu seus sido so sobre sua suas
        tambem te tem tenho ter teu tinha tu tua tudo um uma umas uns voce voces
    """,
    "nl": """
        aan al alle als altijd bij daar dan dat de den der des deze die dit doen door dus
        echter een en er ge geen had hadden heb hebben heeft hem het hier hij hoe hoeveel
        hun ik in is ja je jij jou jouw jullie kan kon kunnen maar me meer men met mij mijn
        moet na naar niet nog nu of om omdat onder ons onze ook op over te tegen toch toen
        tot u uit uw van veel voor waar waarom wanneer want waren was wat we welk welke werd
        wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
    """,
    "sv": """
        alla allt ar at att av blev bli blir da dar de dem den denna deras dess dessa det
        detta dig din dina ditt du efter eller en er era ett for fran ha hade han hans har
        henne hennes hon honom hur i icke inte ja jag kan kunde man med mellan men mig min
        mina mitt mot mycket nagon nagot nagra nar ni nu och om oss over pa sa sadan samma
        sedan sig sin sina sitt ska skulle som till under upp ut utan vad var vara varfor
        varje vars vart vem vet vi vid vilka vilken vilket
    """,
    "da": """
        af alle at blev blive da de dem den denne der deres det dette dig din disse dit dog
        du efter eller en end er et for fra ham han hans har havde hende hendes her hun hvad
        hvem hvilke hvilken hvis hvor hvordan hvorfor hvornar i ikke ind jeg jer jo kan
        kunne man mange med meget men mig min mine mit mod nar ned nogen noget nogle nu og
        ogsa om op os over pa sadan selv sig sin sine sit skal skulle som til ud under vaere
        vaeret var ved vi vil ville vor
    """,
    "pl": """
        ale bardzo bez bo by byc byl byla bylo byly co czy dla dlaczego do gdy gdzie go i
        ich ile im ja jak jaka jaki jakie jako je jego jej jest jestem juz kiedy kto ktora
        ktore ktory ma mam mi mnie moj moja moje my na nad nas nasz nasza nasze nia nic nie
        nim niz o od on ona one oni ono oraz po pod przed przez przy sa sie skad ta tak tam
        te tego tej ten to tu twoj ty tym u w we wiec wszystko wy z za ze
    """,
    "no": """
        alle at av bare ble bli da de deg den denne der deres det dette din disse dit du en
        er et etter for fra ha hadde han hans har hennes her hun hva hvem hvilke hvilken
        hvis hvor hvordan hvorfor i ikke inn jeg kan kunne man mange med meg meget men min
        mine mitt mot mye na nar ned noe noen og ogsa om opp oss over pa sa seg selv sin
        sine sitt skal skulle som til under ut var ved vi vil ville være vært
    """,
    "cs": """
        a aby ale ani asi bez bude budou by byl byla bylo byt ci co do i ja jak jaka jake
        jaky je jeho jeji jen jsem jsi jsme jsou k kam kde kdo kdy kolik ktera ktere ktery
        ma mam mame mezi mi mit mne muj my na nad nam nas ne nebo nez nic o od on ona oni
        pak po pod podle pred pri pro proc proto s se si sve ta tak take tam te ten tento to
        tom tu ty u uz v ve vice vsechno vy z za ze
    """,
    "fi": """
        ei eli en etta han he ja jo joka jos kai kanssa keita keta kuin kuinka kuka kun
        kuten me mihin mika miksi millainen milloin mina minka minun missa mista mita mukaan
        mutta myos ne niin nyt olemme olen olet oli olivat olla on ovat paljonko se seka sen
        siella sina sita tai tama tata te tuo vai vain voi voiko
    """,
    "hu": """
        a ahogy aki amely ami az azt azzal ben csak de e egy egyik el en ez ezt fel ha hany
        hogy hogyan hol honnan hova ide igen is itt jo kell ki kik le lehet lesz maga mar
        meddig meg mely melyik mennyi mennyibe mert mi miert mikor milyen mind mint mit
        nagyon ne nekem nem nincs o on ott s sajat se sem te tol ugy utan vagy vagyok valo
        van vannak volna volt
    """,
    "ro": """
        aceasta acest acestea acesti ai al ale am ar as asta atat au avea avem ca cand care
        cat cate cati cine cu cum da daca dar de deci din dintre dupa e ea ei el ele era
        este eu exista fi fie fost iar il imi in isi la le li lor lui mai mea mei meu mi
        mine nici noastra noi nostru nu o ori pe pentru prin sa sau se si sunt ta tau te tu
        un una unde unei unor unui va voi vor
    """,
    "tr": """
        acaba ama ancak artık bana bazı belki ben beni benim bir biri biz bize bizim bu buna
        bunu bunun cok cunku da daha de degil diye en gibi hangi hem hep her hic icin ile
        ise kac kadar kez ki kim kime kimin mi mu mı nasıl ne neden nerede nereye nicin niye
        o olan olarak oldu ona onlar onu onun sana sen senin sey siz sizin su var ve veya ya
        yok zaman
    """,
    "ru": """
        а без более бы был была были было быть в вам вас во вот все вы где да для до его ее
        если есть еще же за зачем и из или им их к как какая какие какое какои какую когда
        кого кому которая которые которыи кто куда ли мне мое мои моя мы на над нам нас наш
        не него нет ни но ну о об он она они оно от откуда по под почему при про с сам свои
        себя сколько со так там то того тоже тои только том ты у уже чеи чем что чтобы чья
        эта эти это этот я
    """,
    "uk": """
        а без би був була були було бути в вам вас вже ви вона вони все всі від він де для
        до з за звідки зі и иого кого коли кому котрии куди мені ми моя моє моі міи на над
        нам нас наш не немає ні о об по при про протягом під скільки та так там те ти то
        того тои тільки у хто це цеи ця ці чи чии чому що щоб я як яка яке якии які є і із
        іи іх іі
    """,
    "el": """
        αν απο αυτα αυτεσ αυτη αυτο αυτοσ για δε δεν εγω εδω ειμαι ειναι ειχα ειχε εκει ενα
        ενασ εσυ εχει εχω η ηταν θα καθε και κατα μασ με μετα μη μην μια μου να ο οι οταν
        οτι ου οχι ποια ποιεσ ποιο ποιοι ποιοσ πολυ ποσα ποσο ποσοι ποτε που προσ πωσ σασ σε
        σου στα στη στην στισ στο στον τα τη την τησ τι τισ το τον του τουσ των ωσ
    """,
    "ar": """
        اذا الا التي الذي الذين الى ام ان انا انت انتم او اي اين ثم حتى حول خلال ذا ذلك سوف
        على عن عند عندما في قبل قد كان كانت كل كم كما كيف لا لان لكن لم لماذا لن له لها لي
        ليس ما ماذا متى مع من منذ نحن هذا هذه هل هم هنا هناك هو هي و وهو وهي يا يكون
    """,
}
FOREIGN_WORDS = {language: frozenset(words.split()) for language, words in _FOREIGN_WORDS.items()}

MONTHS_BY_LANGUAGE = {
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
_ENGLISH_MONTHS_TOO = frozenset("april august september november december".split())
# What shows the language of a question: its function words and its months, as they are folded.
_SIGNS = {
    language: words.union(map(fold_name, MONTHS_BY_LANGUAGE.get(language, "").split()))
    - _ENGLISH_MONTHS_TOO
    for language, words in FOREIGN_WORDS.items()
}
# Beginnings of questions that are not English, of words that each are.
_OPENINGS = {
    "de": ("was hat", "was ist", "was war", "wo hat", "wo ist", "wo war"),
    "fr": ("comment est", "comment va"),
    "es": ("como es", "como esta"),
    "it": ("che fa", "che ha", "chi ha", "come sta", "come va", "dove sta", "dove va"),
    "pt": ("como esta", "como vai"),
    "nl": ("hoe is", "hoe was"),
}
_GERMAN_PARTICIPLE = (
    r"\w+ \w+ .*\b(?:(?:ab|an|auf|aus|bei|da|durch|ein|fest|her|hin|los|mit|nach|um|unter|vor|weg"
    r"|weiter|wieder|zu|zuruck|zusammen)?ge\w{2,}(?:t|en)|\w{2,}iert)"
)
# Whole questions by their first word, a verb or question word that is also English, a name or an
# abbreviation: its second word or its participle shows the language ("Hat Ben angerufen?").
_WHOLE_QUESTIONS = {
    "hat": ("de", _GERMAN_PARTICIPLE),
    "ist": ("de", _GERMAN_PARTICIPLE),
    "war": ("de", _GERMAN_PARTICIPLE),
    "wo": ("de", r"wo (?:wohn|lieg|steh|leb|arbeite|bleib|komm|geh|kauf|find)(?:e|t|en|et)\b.*"),
    "was": ("de", r"was (?:macht|sagt|kostet|isst|trinkt|kommt|braucht|heisst|passiert)\b.*"),
    "ha": ("es", r"ha \w{2,}[ai]do\b.*"),
    "han": ("es", r"han \w{2,}[ai]do\b.*"),
    "hai": ("it", r"hai \w{2,}[aiu]to\b.*"),
    "ho": ("it", r"ho \w{2,}[aiu]to\b.*"),
}

# English words too, abbreviations and names: they hardly show that a question is foreign.
_ENGLISH_TOO = frozenset(
    """
    a ad ai al ale alla alle allen allo also am ama ami an ani ante as asta at ate au aus avril
    bana bare ben beni bin bir biz ble bli bo buna by c ca care cat cate che chi ci cine
    co com come comment como con contra cu cum d dal dan dar dat deci dela den di die dies
    dig din dit do dog dont door dos dove due e ea ed ele eli elle en end er era es esse
    est este et eu fa fel fi fie for fra fu fur gab ge go ha had ham han hans har has hat
    hay he hem hep her hic ho hoe hol hon hun i iar ide il ile im imi in ind inn ins is
    ise isi ist j ja jake jen jest jo jos julio k kai kam kan kell kik kim kuka kun l las lei li
    lo lor los lui m ma maga mai mam man mar marco mars mas mayo me mea med meg mei meme men mes
    met mi
    mia mika min mina mind mine mint mir mis mit mita mod mon mot mu my n na nad nada nam
    nar nas ne ned nem ni nic nim no noe noi non nu nun o ob od of oli om on ona one oni
    ono op opp ori os oss ott over pa pak par para pas pe pela pendant per plus po pod por
    pour pri prima prin pro proc s sa sana sans sau se sea sedan seg sei sem sen ser sera
    si sia sin sina sine sit sita siz so som son sous sta su sue sui sunt sur sus t ta tai
    tak take tam tama tan tata tau te tem ten ter ti til till to todo tol tom ton tot tout
    tra tres tu tuo ty u um un una unde under unei uno uns ut utan uz v va vai vain valo
    van var vars ve ved vers vet vi vice vid vil ville voi volt vor w want war was we will
    wo y ya yo yok z za ze zo
    """.split()
)
# "What have I written about": a question for notes, whose verb is on no page that answers it.
_REQUEST_OPENINGS = frozenset(
    """what where when which do did have has had is are was tell show find give list search look
    remind anything something everything all can could please my summarise summarize""".split()
)
_REQUEST_FUNCTION_WORDS = frozenset(
    """what where when which do did have has had is are was there i we my our me us you the a any
    all of in for it that can could tell show give list""".split()
)
_REQUEST_WORDS = frozenset(
    """learn learned learnt know known knew write wrote written note noted notes record recorded
    save saved say said jot jotted down read find search look up remind remember recall anything
    something everything information info summarise summarize summary please ever already else page
    pages entry entries""".split()
)
# Before "on" one of these shows a request: "anything on macOS" is one, "did I save on heating" not.
_REQUEST_SIGNS = frozenset(
    """anything something everything note notes noted page pages entry entries information info
    know write wrote written""".split()
)
_MAX_REQUEST_WORDS = 10
# The same in other languages: a word of each set shows it, and the last are those of the request.
_FOREIGN_REQUESTS = {
    "de": ("ich wir", "uber zu", "gelernt geschrieben notiert aufgeschrieben gelesen weiss wissen"),
    "fr": ("j je nous", "sur", "appris ecrit note sais savons lu"),
    "es": ("que", "sobre", "aprendi escribi anote lei sabemos"),
    "it": ("ho abbiamo so", "su sul sulla", "imparato scritto annotato letto sappiamo"),
}
# A grade in French and a bed in Italian, unless one of these words is before it: "j'ai noté".
_BEFORE_VERB = {"note": ("ai", "avons", "je", "nous"), "letto": ("ho", "abbiamo")}

# Parts of many names: it takes two of them to show it.
_PARTICLES = frozenset("da de del della der du el la le les von zu".split())

_SURE, _HALF_SURE, _UNSURE = 4, 2, 1

_ELISIONS = frozenset("c d j l m n qu s t all dall dell nell sull un quest".split())


def question_stop_words(words: Sequence[str]) -> frozenset[str]:
    """Return the words that a question does not mean literally.

    These are the stop words of the languages that its function words show, and the words that only
    ask for notes.
    """
    languages = question_languages(words)
    tables = [FOREIGN_WORDS[one] for one in languages] or [STOP_WORDS]
    known = tables[0].union(*tables[1:])
    asked = known.union(_request_words(words, languages))
    # "What did I learn about" is a search for "learn".
    return known if all(is_stop_word(word, asked) for word in words) else asked


def question_languages(words: Iterable[str]) -> tuple[str, ...]:
    """Return the languages other than English that the function words of a question show best.

    English words that look like foreign ones only count in a question that has others of that
    language, and more of those than English ones.
    """
    written = {fold_name(part): part for word in words for part in _split_compound(word)}
    opening = " ".join([*written][:2])
    whole = _read_whole_question([*written])
    english = sum(
        _HALF_SURE if word in _ENGLISH_TOO else _SURE for word in written.keys() & STOP_WORDS
    )
    best = max(_SURE, english + 1), 0
    languages: list[str] = []
    for language, table in _SIGNS.items():
        found = written.keys() & table
        evidence = sum(_evidence(word, written[word]) for word in found)
        evidence += _SURE if language == whole or opening in _OPENINGS.get(language, ()) else 0
        score = evidence, len(found)
        if score > best:
            best, languages = score, []
        if score == best:
            languages.append(language)
    return tuple(languages)


def _read_whole_question(words: list[str]) -> str | None:
    """Return the language that the first word of a question and its verb show together."""
    language, pattern = _WHOLE_QUESTIONS.get(words[0] if words else "", ("", ""))
    return language if pattern and re.fullmatch(pattern, " ".join(words)) else None


def _evidence(word: str, written: str) -> int:
    if word in _PARTICLES:
        return _HALF_SURE
    return _UNSURE if word in _ENGLISH_TOO and written.isascii() else _SURE


def _request_words(words: Sequence[str], languages: Sequence[str]) -> Collection[str]:
    """Return the words of a question that only ask for notes, folded; none if it asks otherwise.

    In "what did I learn about sailing" that is "learn". `languages` are those of the question, none
    for English.
    """
    folded = [fold_name(part) for word in words for part in _split_compound(word)]
    for language in languages:
        askers, signs, verbs = (
            set(part.split()) for part in _FOREIGN_REQUESTS.get(language, ("",) * 3)
        )
        if not (askers.isdisjoint(folded) or signs.isdisjoint(folded)):
            pairs = set(pairwise(folded))
            return {
                verb
                for verb in verbs
                if verb not in _BEFORE_VERB
                or any((before, verb) in pairs for before in _BEFORE_VERB[verb])
            }
    end = next((at for at, word in enumerate(folded) if word in ("about", "on", "regarding")), 0)
    request = folded[:end]
    if languages or not 1 < end <= _MAX_REQUEST_WORDS or request[0] not in _REQUEST_OPENINGS:
        return ()
    if not (_REQUEST_FUNCTION_WORDS | _REQUEST_WORDS).issuperset(request):
        return ()
    if folded[end] == "on" and _REQUEST_SIGNS.isdisjoint(request):
        return ()
    return _REQUEST_WORDS.intersection(request).difference(folded[end:])


def is_stop_word(word: str, stop_words: Set[str] = STOP_WORDS) -> bool:
    """Tell whether a word, or each part of a foreign compound such as `faut-il`, is a stop word."""
    if word.casefold() in stop_words:
        return True
    # "To-do" and "who-is-who" are names of things.
    if stop_words >= STOP_WORDS:
        return False
    return all(fold_name(part) in stop_words for part in _split_compound(word))


def strip_elision(word: str) -> str:
    """Return a word without the article or pronoun before an apostrophe: `l'anniversaire`."""
    before, apostrophe, after = word.partition("'")
    return after if apostrophe and after and before.casefold() in _ELISIONS else word


def _split_compound(word: str) -> list[str]:
    return word.replace("-", "'").split("'")
