"""Every setting in one table: type, range, default, source; help and validation follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gbrain.errors import BadSetting

# Where a rule comes from, as the documentation names it.
GIGABRAIN, JEFFS, ENGRAM, FUSION, SIFT, GBRAIN = (
    "gigabrain", "jeffs-brain", "engram", "retrieval fusion", "siftcoder", "gbrain",
)  # fmt: skip

SettingValue = str | int | float | bool


class Setting:
    """One row of the table; as an attribute of `Settings` it gives the default."""

    __slots__ = ("choices", "default", "help", "high", "kind", "low", "name", "source")
    name: str

    def __init__(
        self,
        default: SettingValue,
        help: str,
        source: str,
        low: float | None,
        high: float | None,
        choices: tuple[str, ...],
    ) -> None:
        self.kind, self.default, self.help, self.source = type(default), default, help, source
        self.low, self.high, self.choices = low, high, choices

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, settings: object, owner: type) -> Any:
        return self if settings is None else self.default

    @property
    def allowed(self) -> str:
        """The values it takes, in words."""
        if self.choices:
            return " | ".join(self.choices)
        if self.kind is bool:
            return "on | off"
        if self.kind is str:
            return "any text"
        return f"{self.low:.10g} to {self.high:.10g}"


def _setting(
    default: SettingValue,
    help: str,
    source: str = GBRAIN,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    return Setting(default, help, source, low, high, choices)


class Settings:
    """A brain's settings; each attribute is a row of the table that `gbrain config list` prints.

    Not a dataclass: a search would pay for the making of one, and grow slower with each row.
    """

    search_mode: str = _setting(
        "auto", "Lanes that `query` uses; auto is hybrid once the brain has vectors", JEFFS,
        choices=("auto", "hybrid", "bm25", "semantic"),
    )  # fmt: skip
    search_merge_strategy: str = _setting(
        "set-union", "How the lanes' pages become one list", GIGABRAIN,
        choices=("set-union", "set-union-rank", "rrf", "blend"),
    )  # fmt: skip
    both_bonus: float = _setting(
        0.6, "set-union: share of the weaker lane's score that a page in both lanes gains",
        GIGABRAIN, low=0, high=1,
    )  # fmt: skip
    chunk_bonus: float = _setting(
        0.4, "set-union: share of what a page's best passage has by words and meaning together "
        "that its vector score gains", low=0, high=1,
    )  # fmt: skip
    rank_bonus: float = _setting(
        0.25, "set-union-rank: what a page in both lanes gains", GIGABRAIN, low=0, high=1
    )
    rrf_k: int = _setting(60, "rrf: score is weight / (rrf_k + rank)", JEFFS, low=1, high=1000)
    semantic_weight: float = _setting(
        1.0, "Weight of the vector lane; 0 switches it off", FUSION, low=0, high=5
    )
    keyword_weight: float = _setting(
        1.0, "Weight of the keyword lane; 0 switches it off", FUSION, low=0, high=5
    )
    graph_weight: float = _setting(
        0.0, "Weight of the graph lane: pages the query names and their links; 0 switches it off",
        ENGRAM, low=0, high=5,
    )  # fmt: skip
    associative_weight: float = _setting(
        0.0, "Weight of the associative lane: one Hopfield step, then the nearest; 0 is off",
        ENGRAM, low=0, high=5,
    )  # fmt: skip
    hopfield_beta: float = _setting(
        8.0, "Associative lane: how much the nearest vectors outweigh the others", ENGRAM,
        low=0, high=1000,
    )  # fmt: skip
    intent_weights: bool = _setting(
        False, "Weigh lanes by what is asked: why, when, who, how or what", ENGRAM
    )
    candidate_pool: int = _setting(
        50, "Pages that each lane hands to the merge", SIFT, low=1, high=1000
    )
    default_limit: int = _setting(10, "Hits shown without --limit", ENGRAM, low=1, high=1000)
    default_token_budget: int = _setting(
        4000, "Tokens that --depth auto may fill without --budget", GIGABRAIN, low=1, high=1_000_000
    )
    chunk_k: int = _setting(
        10, "--depth auto: a passage is worth k / (k + its place) in each lane", low=1, high=1000
    )
    page_standing: float = _setting(
        0.5, "--depth auto: share of its page's score that a passage gains", low=0, high=5
    )
    answer_bonus: float = _setting(
        0.2, "--depth auto: what the text right behind a question gains", low=0, high=5
    )
    context_floor: float = _setting(
        0.1, "--depth auto: passages worth less than this share of the best are left out",
        low=0, high=1,
    )  # fmt: skip
    short_circuit: bool = _setting(
        True, "Answer at once when the query is a page's slug, title or alias", GIGABRAIN
    )
    wing_boost: float = _setting(
        1.0, "Names favour people and companies, how-to concepts and resources, by 1.15, say; "
        "1 is off", GIGABRAIN, low=1, high=10,
    )  # fmt: skip
    date_boost: bool = _setting(
        True, "Favour entries and pages of the time that the query mentions", ENGRAM
    )
    date_day_factor: float = _setting(
        3.0, "date_boost: at most a day away from that time", ENGRAM, low=0, high=10
    )
    date_week_factor: float = _setting(
        1.5, "date_boost: at most seven days away", ENGRAM, low=0, high=10
    )
    date_month_factor: float = _setting(
        1.08, "date_boost: at most thirty days away", ENGRAM, low=0, high=10
    )
    exact_boost: float = _setting(
        1.0, "Favour pages with the quoted phrase, or whose title is asked for, by 1.22, say; "
        "1 is off", ENGRAM, low=1, high=10,
    )  # fmt: skip
    preference_boost: bool = _setting(
        False, "Asked what I prefer, favour notes in the first person", JEFFS
    )
    preference_stated_factor: float = _setting(
        2.35, "preference_boost: a passage that says what its writer likes", JEFFS, low=0, high=10
    )
    preference_personal_factor: float = _setting(
        2.1, "preference_boost: another passage in the first person", JEFFS, low=0, high=10
    )
    preference_reference_factor: float = _setting(
        0.82, "preference_boost: impersonal text of a reference page", JEFFS, low=0, high=10
    )
    preference_generic_factor: float = _setting(
        0.9, "preference_boost: other impersonal text", JEFFS, low=0, high=10
    )
    concrete_boost: bool = _setting(
        False, "Asked for a fact, favour short factual passages over long prose", JEFFS
    )
    concrete_fact_factor: float = _setting(
        2.2, "concrete_boost: a short passage with a number or a date", JEFFS, low=0, high=10
    )
    roll_up_factor: float = _setting(
        0.45, "concrete_boost: summaries, digests and index pages", JEFFS, low=0, high=10
    )
    long_prose_factor: float = _setting(
        0.75, "concrete_boost: a long passage of prose", JEFFS, low=0, high=10
    )
    importance_boost: bool = _setting(
        False, "Multiply by 0.8 + 0.4 x importance (front matter, 0 to 1 or up to 10)", ENGRAM
    )
    access_boost: bool = _setting(
        False, "Multiply by 1 + 0.1 x ln(1 + times the page was opened)", ENGRAM
    )
    recency_tau_days: float = _setting(
        0.0, "Fade by exp(-age / tau); 0 is off", SIFT, low=0, high=1_000_000
    )
    recency_half_life_days: float = _setting(
        0.0, "The same by half-life, tau x ln 2; recency_tau_days goes first; 0 is off", ENGRAM,
        low=0, high=1_000_000,
    )  # fmt: skip
    recency_floor: float = _setting(0.0, "No page fades below this factor", SIFT, low=0, high=1)
    recency_of: str = _setting(
        "dated", "What fades: dated notes, or all, those without a date by their last change",
        ENGRAM, choices=("dated", "all"),
    )  # fmt: skip
    drop_superseded: bool = _setting(
        True, "Leave out pages with superseded_by in front matter, unless pinned", SIFT
    )
    noise_sigma: float = _setting(
        0.0, "Spread of a gaussian factor around 1 on each score; 0 is off", ENGRAM, low=0, high=1
    )
    noise_seed: int = _setting(
        0, "Which noise; the same seed and query give the same", ENGRAM, low=0, high=1_000_000_000
    )
    threshold: float = _setting(
        0.0, "Least share of the best hit's final score; 0 is off", ENGRAM, low=0, high=1
    )
    relevance_floor: float = _setting(
        0.0, "Least cosine of a page that no lane but the vector lane found; 0 is off", low=0,
        high=1,
    )  # fmt: skip
    rerank: str = _setting(
        "off", "Who gives a second opinion on the first pages", ENGRAM,
        choices=("off", "cross-encoder", "overlap", "command", "learned"),
    )  # fmt: skip
    rerank_head: int = _setting(20, "Pages that are reranked", JEFFS, low=1, high=1000)
    rerank_chunks: int = _setting(2, "Passages of a page that the reranker reads", low=1, high=100)
    rerank_mix: float = _setting(
        0.85, "Weight of the reranker's opinion against the fused score", low=0, high=1
    )
    rerank_command: str = _setting(
        "",
        "rerank command: program that reads a question and passages and prints scores; "
        "runs only where it was set or agreed to",
        JEFFS,
    )
    rerank_seconds: float = _setting(
        10.0, "rerank command: how long it may take", low=0.1, high=600
    )
    unanimity: bool = _setting(
        False, "Do not rerank when two of the lanes' first three pages are the same", JEFFS
    )
    mmr_lambda: float = _setting(
        1.0, "Relevance against variety, 1 to 0, in the order of hits; 1 is off", low=0, high=1
    )
    title_weight: float = _setting(2.0, "Keyword lane: weight of the title", low=0, high=100)
    slug_weight: float = _setting(1.0, "Keyword lane: weight of the slug", low=0, high=100)
    truth_weight: float = _setting(1.0, "Keyword lane: weight of compiled truth", low=0, high=100)
    timeline_weight: float = _setting(1.0, "Keyword lane: weight of the timeline", low=0, high=100)
    tags_weight: float = _setting(1.0, "Keyword lane: weight of tags", low=0, high=100)
    aliases_weight: float = _setting(2.0, "Keyword lane: weight of aliases", low=0, high=100)
    chunk_weight: float = _setting(
        0.5, "Keyword lane: weight of a page's best passage beside the page itself", low=0, high=10
    )
    all_words_bonus: float = _setting(
        0.1, "Keyword lane: share of its score that a page holding every word gains", low=0, high=5
    )
    verdict_strong: float = _setting(
        0.6, "Confidence from which an answer is called strong", low=0, high=1
    )
    verdict_nothing: float = _setting(
        0.2, "Confidence below which a query is said to find nothing", low=0, high=1
    )
    hypothetical_questions: str = _setting(
        "off", "Questions that pages answer, searched too: those in front matter, or derived ones",
        ENGRAM, choices=("off", "authored", "derived"),
    )  # fmt: skip
    questions_weight: float = _setting(
        0.2, "Keyword lane: weight of a page's questions beside the page itself", low=0, high=10
    )
    retry_ladder: bool = _setting(
        True, "Keyword lane: read a query that finds nothing in looser and looser ways", JEFFS
    )
    fuzzy_similarity: float = _setting(
        0.3, "Least share of three-letter pieces that a repaired word has in common", JEFFS,
        low=0, high=1,
    )  # fmt: skip
    repair_words: bool = _setting(
        True, "Repair a misspelt word that no page holds beside words that some hold"
    )
    record_queries: bool = _setting(
        False, "Keep questions and what they found in the brain, for gaps and train-reranker"
    )
    keep_queries: int = _setting(
        10_000, "record_queries: how many of the latest questions are kept", low=1, high=1_000_000
    )
    record_access: bool = _setting(True, "Count how often a page is opened", ENGRAM)
    stale_days: int = _setting(
        180, "gaps: days after which a page that others moved past is stale", low=1, high=36_500
    )
    capture_page: str = _setting("inbox", "Page that capture writes to without --to")
    busy_seconds: float = _setting(
        10.0, "How long a write waits for another program's write", low=0, high=600
    )

    @property
    def lane_weights(self) -> dict[str, float]:
        """The weight of each lane by its name."""
        return {
            "vector": self.semantic_weight,
            "fts": self.keyword_weight,
            "graph": self.graph_weight,
            "associative": self.associative_weight,
        }

    def __init__(self, **changed: SettingValue) -> None:
        self.__dict__.update(changed)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("settings do not change; with_values makes others")


@cache
def all_settings() -> Mapping[str, Setting]:
    """Every setting by name, in the order of the table."""
    return {name: row for name, row in vars(Settings).items() if isinstance(row, Setting)}


def find_setting(name: str) -> Setting:
    """The setting called `name`; raises BadSetting with the nearest name."""
    table = all_settings()
    if name not in table:
        from gbrain.messages import did_you_mean, similar_names

        containing = [known for known in table if name and name in known]
        similar = similar_names(name, table) or containing[:3]
        hint = did_you_mean(similar, "gbrain config list shows them all.")
        raise BadSetting(f"There is no setting {name!r}", hint=hint)
    return table[name]


def parse_value(name: str, written: str) -> SettingValue:
    """`written` as a value of the setting `name`; raises BadSetting when it may not be that."""
    setting = find_setting(name)
    value = _converted(setting.kind, written.strip())
    allowed = value is not None and (not setting.choices or value in setting.choices)
    if allowed and isinstance(value, int | float) and not isinstance(value, bool):
        low = setting.low if setting.low is not None else value
        high = setting.high if setting.high is not None else value
        allowed = low <= value <= high
    if not allowed or value is None:
        raise BadSetting(f"{name} cannot be {written!r}", hint=f"It takes {setting.allowed}.")
    return value


def _converted(kind: type, written: str) -> SettingValue | None:
    if kind is bool:
        flags = {"on": True, "true": True, "yes": True, "1": True}
        flags |= {"off": False, "false": False, "no": False, "0": False}
        return flags.get(written.casefold())
    if kind is str:
        return written
    try:
        number = int(written) if kind is int else float(written)
    except ValueError:
        return None
    return number


def format_value(value: SettingValue) -> str:
    """A value as `config set` takes it."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def override_settings(settings: Settings, written: Mapping[str, str]) -> Settings:
    """`settings` with some changed; raises BadSetting for what cannot be."""
    values = {name: parse_value(name, text) for name, text in written.items()}
    return Settings(**{**vars(settings), **values})
