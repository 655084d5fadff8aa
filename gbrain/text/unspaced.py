"""Words of scripts without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese, and Korean.

`index_text` separates their characters, so that FTS5 indexes each and finds any word inside of a
sentence as a phrase, with the frequency of the whole word for BM25. A question is cut at its
function words and the rest into pairs of characters: without a dictionary, those find the words
inside of it. Libraries that segment such text have dictionaries of 4 to 200 MB. Korean has spaces,
but particles follow a word without one.
"""

from __future__ import annotations

import re

# Put between the characters of such a script: FTS5 takes it for a space, and pages do not have it.
SEPARATOR = "\x1f"

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN_BEYOND = "\U00020000-\U0003ffff"
_KANA = "\u3031-\u3035\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u3131-\u318e\uac00-\ud7af"
_MARKED = "\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17dd"
_UNSPACED = f"[{_MARKED}{_HAN}{_HAN_BEYOND}{_KANA}{_HANGUL}\u3105-\u312f\u31a0-\u31bf]"
_BOUNDARY = rf"(?<={_UNSPACED})(?=\w)|(?<=\w)(?={_UNSPACED})"
_KANA_OR_HAN = "[\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_PIECES = (
    "[\u3005-\u3007\u3400-\u9fff\uf900-\ufaff]+[\u3041-\u309f]?|[\u30a1-\u30ff]+|[\u3041-\u309f]+"
)
_OTHER_LETTERS = re.compile(r"[^\W\d_\u0000-\u024f]")
_PAIRED = f"[{_HAN}{_HAN_BEYOND}{_KANA}{_HANGUL}]"

# A word of up to four characters is looked up whole; in Japanese, kana separate up to three.
_MAX_WHOLE = 4
_MAX_WHOLE_BESIDE_KANA = 3
# A longer run in Thai is more than one word.
_MAX_WHOLE_THAI = 5
_THAI_GROUP = 4

_JAPANESE_FUNCTION_WORDS = "|".join(
    """でしょうか ましたか でしたか ますか ですか ました でした ません ください ましょう
    どのくらい どのように どうやって どうして について という ている ていた ています
    です ます どこ いつ だれ どれ どの どう なぜ なに なん いくら いくつ から まで とは には では
    何曜日 何時 何故 何処 何 誰 教えて""".split()
)
_CHINESE_FUNCTION_WORDS = "|".join(
    """什么时候 为什么 怎么样 是什么 有没有 是不是 什么 怎么 怎样 如何 哪里 哪儿 哪个 哪些 哪 多少
    多久 几个 请问 可以 应该 我们 你们 他们 她们 这个 那个 一下 為什麼 什麼 怎麼 哪裡 應該 我們
    的 了 吗 呢 吧 嗎 谁 誰""".split()
)
_THAI_FUNCTION_WORDS = "|".join(
    """เมื่อไหร่ เมื่อไร เท่าไหร่ เท่าไร อย่างไร ยังไง ที่ไหน อันไหน วันไหน คนไหน เพราะอะไร ทำไม อะไร ใคร ไหน กี่
    หรือเปล่า หรือไม่ หรือ บ้าง ไหม มั้ย ครับ ค่ะ คะ ของ และ กับ แล้ว ที่ ใน เป็น คือ มี ได้ ให้ จะ ต้อง ไป มา ว่า ไว้
    นี้ นั้น ฉัน ผม เรา คุณ เขา""".split()
)
_KOREAN_FUNCTION_WORDS = frozenset(
    """무엇 무엇인가요 뭐 뭐예요 뭐지 누구 누구예요 누구인가요 누가 언제 언제인가요 언제예요 언제죠
    어디 어디예요 어디에 어디서 어떻게 어떤 어느 왜 얼마 얼마나 얼마예요 얼마인가요 몇 있나요
    있어요 없나요 하나요 해요 하는 되나요 수 것 그 이 저 및 또는 그리고 좀""".split()
)
# Longest first: 에서는 before 는.
_KOREAN_PARTICLES = """에서는 에게서 으로는 이라는 에서 에게 한테 까지 부터 으로 이나 이랑 처럼
    보다 마다 에는
    은 는 이 가 을 를 에 의 로 와 과 도 만 께""".split()
_PARTICLES = "はがのをにでともへやかなねよ"
_SINGLE_FUNCTION_WORDS = "是我你他她在有和方事時物"


def has_unspaced_script(text: str) -> bool:
    """Tell whether some of the text is in a script that does not separate words."""
    # Compiling the pattern takes 2 ms, which texts with dashes or Greek letters do not need.
    if text.isascii() or not any("\u0e01" <= c < "\u2000" or c >= "\u2e80" for c in set(text)):
        return False
    return re.search(_UNSPACED, text) is not None


def index_text(text: str) -> str:
    """Return a text as the keyword index gets it, or a query's word or phrase as it is looked up.

    This is the only place that decides where a script without spaces is divided: for SQLite the
    result goes to FTS5's `porter unicode61`, and another store has to give its index the same text.
    Most texts are returned as they are.
    """
    return re.sub(_BOUNDARY, SEPARATOR, text) if has_unspaced_script(text) else text


def plain_text(text: str) -> str:
    """Return a text that `index_text` returned as it was before."""
    return text.replace(SEPARATOR, "")


def is_mostly_latin(text: str) -> bool:
    """Tell whether at most half of the letters are of another alphabet than the Latin one."""
    if text.isascii():
        return True
    others = len(_OTHER_LETTERS.findall(text))
    return not others or 2 * others <= sum(map(str.isalpha, text))


def split_unspaced(word: str) -> list[str]:
    """Return the strings to look for in place of a word without spaces, perhaps a sentence.

    All function words leave the word as it is, and so do letters of other scripts in it.
    """
    if re.fullmatch(f"[{_HANGUL}]+", word):
        return _split_korean(word)
    if re.fullmatch(f"[{_MARKED}]+", word):
        return _split_marked(word)
    if re.fullmatch(f"{_KANA_OR_HAN}+", word) is None:
        return [word]
    has_kana = re.search("[\u3041-\u309f]", word) is not None
    function_words = _JAPANESE_FUNCTION_WORDS if has_kana else _CHINESE_FUNCTION_WORDS
    found: list[str] = []
    for run in re.split(function_words, word):
        if run == word and len(run) <= _MAX_WHOLE and not has_kana:
            return [word]
        for piece in re.findall(_PIECES, run):
            found += _words_of_piece(piece, has_kana)
    return list(dict.fromkeys(found)) or [word]


def _split_korean(word: str) -> list[str]:
    """Return a Korean word without the particle at its end; a function word as it is."""
    if word in _KOREAN_FUNCTION_WORDS:
        return [word]
    for particle in _KOREAN_PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return [word.removesuffix(particle)]
    return [word]


def _split_marked(word: str) -> list[str]:
    """Return the words of a Thai sentence, cut at its function words; long ones in groups."""
    found: list[str] = []
    for run in re.split(_THAI_FUNCTION_WORDS, word):
        if len(run) > 1:
            found += [run] if len(run) <= _MAX_WHOLE_THAI else character_groups(run)
    return list(dict.fromkeys(found)) or [word]


def is_function_word(word: str) -> bool:
    """Tell whether a word of such a script carries no meaning alone."""
    return word in _KOREAN_FUNCTION_WORDS


def _words_of_piece(piece: str, has_kana: bool) -> list[str]:
    last_is_kana = "\u3041" <= piece[-1] <= "\u309f"
    if "\u3041" <= piece[0] <= "\u309f":
        # Kana alone: the ending of the word before, or a word of several letters.
        word = piece[:-1] if piece[-1] in _PARTICLES else piece
        return [word] if len(word) > 2 else []
    # One kana belongs to the word if it follows one character, as in 釣り and 好き.
    if last_is_kana and (len(piece) > 2 or piece[-1] in _PARTICLES):
        piece = piece[:-1]
    if piece in _SINGLE_FUNCTION_WORDS:
        return []
    is_katakana = "\u30a1" <= piece[0] <= "\u30ff"
    whole = is_katakana or len(piece) <= (_MAX_WHOLE_BESIDE_KANA if has_kana else 2)
    return [piece] if whole else character_groups(piece)


def looser_forms(word: str) -> list[str]:
    """Return parts of a word that no page contains, which its other forms may have in common."""
    if len(word) == 2 and "\u3041" <= word[-1] <= "\u309f":
        return [word[0]]
    return character_groups(word) if len(word) > 2 else []


def character_groups(word: str) -> list[str]:
    """Return the overlapping pairs of characters of a word, or fours in an alphabet like Thai.

    A vowel sign or tone mark stays with the letter before it.
    """
    if re.search(_PAIRED, word):
        return [word[at : at + 2] for at in range(len(word) - 1)]
    letters = [at for at, sign in enumerate(word) if sign.isalnum()]
    ends = [*letters[1:], len(word)]
    last = max(len(letters) - _THAI_GROUP, 0)
    groups = [word[letters[at] : ends[min(at + _THAI_GROUP, len(ends)) - 1]]
              for at in range(last + 1)] if letters else []  # fmt: skip
    return groups
