"""Words of scripts without spaces: Chinese, Japanese, Thai; they are found as substrings.

FTS5 indexes a whole run of such letters as one token. A sentence is cut at its function words and
the rest into pairs of characters: without a dictionary, those find the words inside it. Libraries
that segment such text have dictionaries of 4 to 200 MB.
"""

from __future__ import annotations

import re

_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_KANA_OR_HAN = "[\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_PIECES = (
    "[\u3005-\u3007\u3400-\u9fff\uf900-\ufaff]+[\u3041-\u309f]?|[\u30a1-\u30ff]+|[\u3041-\u309f]+"
)
_OTHER_LETTERS = re.compile(r"[^\W\d_\u0000-\u024f]")
_PAIRED = "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"

# A word of up to four characters is looked up whole; in Japanese, kana separate up to three.
_MAX_WHOLE = 4
_MAX_WHOLE_BESIDE_KANA = 3

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
_PARTICLES = "はがのをにでともへやかなねよ"
_SINGLE_FUNCTION_WORDS = "是我你他她在有和方事時物"


def has_unspaced_script(text: str) -> bool:
    """Tell whether some of the text is in a script that does not separate words."""
    return not text.isascii() and re.search(_UNSPACED, text) is not None


def is_mostly_latin(text: str) -> bool:
    """Tell whether at most half of the letters are of another alphabet than the Latin one."""
    if text.isascii():
        return True
    others = len(_OTHER_LETTERS.findall(text))
    return not others or 2 * others <= sum(map(str.isalpha, text))


def split_unspaced(word: str) -> list[str]:
    """Return the strings to look for in place of a word without spaces, perhaps a sentence.

    All function words leave the word as it is. Text that is neither Chinese nor Japanese is not
    split, nor is a word that also has other letters.
    """
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
    """Return the overlapping pairs of characters of a word, or threes in an alphabet like Thai."""
    size = 2 if re.search(_PAIRED, word) else 3
    return [word[at : at + size] for at in range(len(word) - size + 1)]
