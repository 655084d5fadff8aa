"""The settings of a brain, one row each: type, range, default and help; parse and check values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gbrain.errors import BadSetting

# The projects whose ideas a setting comes from, as the documentation names them.
GIGABRAIN, JEFFS, ENGRAM, FUSION, SIFT, GBRAIN = (
    "gigabrain", "jeffs-brain", "engram", "retrieval fusion", "siftcoder", "gbrain",
)  # fmt: skip

SettingValue = str | int | float | bool


class Setting:
    """A row of the table; as an attribute of a `Settings` instance, it is the default value."""

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
        """Describe the allowed values: choices separated by bars, or `0 to 1`."""
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
    """The settings of a brain, immutable; `gbrain config list` prints them in this order.

    Not a dataclass: creating one with this many fields would slow down every search.
    """

    search_mode: str = _setting(
        "auto", "Lanes that answer a query; auto means hybrid once the brain has vectors", JEFFS,
        choices=("auto", "hybrid", "bm25", "semantic"),
    )  # fmt: skip
    search_merge_strategy: str = _setting(
        "set-union", "How the lanes' candidates are merged into one list", GIGABRAIN,
        choices=("set-union", "set-union-rank", "rrf", "blend"),
    )  # fmt: skip
    both_bonus: float = _setting(
        0.6, "Merge set-union: share of its lower lane scores added to a page that several lanes "
        "found", GIGABRAIN, low=0, high=1,
    )  # fmt: skip
    chunk_bonus: float = _setting(
        0.4, "Merge set-union: share of the best chunk's mean keyword and vector score added to a "
        "page's vector score", low=0, high=1,
    )  # fmt: skip
    literal_bonus: float = _setting(
        0.5, "Merge set-union: share of its keyword score added to a page that contains every "
        "word of a short query", low=0, high=5,
    )  # fmt: skip
    rank_bonus: float = _setting(
        0.25, "Merge set-union-rank: score added to a page that several lanes found", GIGABRAIN,
        low=0, high=1,
    )  # fmt: skip
    rrf_k: int = _setting(
        60, "Merge rrf: the constant k in score = weight / (k + rank)", JEFFS,
        low=1, high=1000,
    )  # fmt: skip
    semantic_weight: float = _setting(
        1.0, "Weight of the vector lane in the merge; 0 switches the lane off", FUSION,
        low=0, high=5,
    )  # fmt: skip
    keyword_weight: float = _setting(
        1.0, "Weight of the keyword lane in the merge; 0 switches the lane off", FUSION,
        low=0, high=5,
    )  # fmt: skip
    graph_weight: float = _setting(
        0.0, "Weight of the graph lane (pages that the query names, and their links) in the "
        "merge; 0 switches the lane off", ENGRAM, low=0, high=5,
    )  # fmt: skip
    associative_weight: float = _setting(
        0.0, "Weight of the associative lane (vectors close to one Hopfield recall) in the merge; "
        "0 switches the lane off", ENGRAM, low=0, high=5,
    )  # fmt: skip
    hopfield_beta: float = _setting(
        8.0, "Associative lane: sharpness of the recall; higher counts only the most similar "
        "vectors", ENGRAM, low=0, high=1000,
    )  # fmt: skip
    intent_weights: bool = _setting(
        False, "Adjust lane weights to the kind of question: why, when, who, how or what", ENGRAM
    )
    candidate_pool: int = _setting(
        50, "Maximum number of pages that each lane passes to the merge", SIFT, low=1, high=1000
    )
    default_limit: int = _setting(
        10, "Maximum number of hits without --limit", ENGRAM, low=1, high=1000
    )
    default_token_budget: int = _setting(
        4000, "Maximum tokens of context for --depth auto without --budget", GIGABRAIN,
        low=1, high=1_000_000,
    )  # fmt: skip
    chunk_k: int = _setting(
        10, "Context of --depth auto: the constant k in k / (k + rank), a chunk's value in each "
        "lane", low=1, high=1000,
    )  # fmt: skip
    page_standing: float = _setting(
        0.5, "Context of --depth auto: share of its page's score added to a chunk's value",
        low=0, high=5,
    )  # fmt: skip
    answer_bonus: float = _setting(
        1.2, "Context of --depth auto: log-odds added to text right after a question", low=0, high=5
    )
    context_floor: float = _setting(
        0.002, "Context of --depth auto: minimum relevance of text, as a share of the best",
        low=0, high=1,
    )  # fmt: skip
    short_circuit: bool = _setting(
        True, "Skip the lanes when the query is exactly a page's slug, title or alias", GIGABRAIN
    )
    wing_boost: float = _setting(
        1.0, "Factor for people and companies when the query is a name, and for concepts and "
        "resources when it asks how to; 1 is off, 1.15 is typical", GIGABRAIN, low=1, high=10,
    )  # fmt: skip
    date_boost: bool = _setting(
        True, "Favour entries and pages dated near a date that the query mentions", ENGRAM
    )
    date_day_factor: float = _setting(
        3.0, "Factor of date_boost for dates at most 1 day away", ENGRAM, low=0, high=10
    )
    date_week_factor: float = _setting(
        1.5, "Factor of date_boost for dates 2 to 7 days away", ENGRAM, low=0, high=10
    )
    date_month_factor: float = _setting(
        1.08, "Factor of date_boost for dates 8 to 30 days away", ENGRAM, low=0, high=10
    )
    exact_boost: float = _setting(
        1.0, "Factor for pages that contain the quoted phrase or have the title that is asked for; "
        "1 is off, 1.22 is typical", ENGRAM, low=1, high=10,
    )  # fmt: skip
    preference_boost: bool = _setting(
        False, "Favour notes in the first person when the query asks for the user's preferences",
        JEFFS,
    )  # fmt: skip
    preference_stated_factor: float = _setting(
        2.35, "Factor of preference_boost for first-person chunks that state a preference", JEFFS,
        low=0, high=10,
    )  # fmt: skip
    preference_personal_factor: float = _setting(
        2.1, "Factor of preference_boost for other first-person chunks", JEFFS, low=0, high=10
    )
    preference_reference_factor: float = _setting(
        0.82, "Factor of preference_boost for impersonal chunks of reference pages", JEFFS,
        low=0, high=10,
    )  # fmt: skip
    preference_generic_factor: float = _setting(
        0.9, "Factor of preference_boost for other impersonal chunks", JEFFS, low=0, high=10
    )
    concrete_boost: bool = _setting(
        False, "Favour short factual chunks over long prose when the query asks for a fact", JEFFS
    )
    concrete_fact_factor: float = _setting(
        2.2, "Factor of concrete_boost for short chunks with a number or a date", JEFFS,
        low=0, high=10,
    )  # fmt: skip
    roll_up_factor: float = _setting(
        0.45, "Factor of concrete_boost for summaries, digests and index pages", JEFFS,
        low=0, high=10,
    )  # fmt: skip
    long_prose_factor: float = _setting(
        0.75, "Factor of concrete_boost for long chunks of prose", JEFFS, low=0, high=10
    )
    importance_boost: bool = _setting(
        False, "Multiply scores by 0.8 + 0.4 x importance (a front matter key: 0 to 1, or up to "
        "10)", ENGRAM,
    )  # fmt: skip
    access_boost: bool = _setting(
        False, "Multiply scores by 1 + 0.1 x ln(1 + times the page was opened)", ENGRAM
    )
    recency_tau_days: float = _setting(
        0.0, "Lower the scores of old notes by exp(-age / tau), tau in days; 0 is off", SIFT,
        low=0, high=1_000_000,
    )  # fmt: skip
    recency_half_life_days: float = _setting(
        0.0, "Halve the scores of old notes once in this many days, if recency_tau_days is 0; "
        "0 is off", ENGRAM, low=0, high=1_000_000,
    )  # fmt: skip
    recency_floor: float = _setting(
        0.0, "Minimum factor that recency_tau_days and recency_half_life_days apply", SIFT,
        low=0, high=1,
    )  # fmt: skip
    recency_of: str = _setting(
        "dated", "Notes that recency settings apply to: dated, only episodes (journal, meetings), "
        "or all, undated ones by their last change", ENGRAM,
        choices=("dated", "episodes", "all"),
    )  # fmt: skip
    drop_superseded: bool = _setting(
        True, "Leave out pages with superseded_by in front matter, unless they are pinned", SIFT
    )
    noise_sigma: float = _setting(
        0.0, "Standard deviation of random noise that multiplies scores around 1; 0 is off",
        ENGRAM, low=0, high=1,
    )  # fmt: skip
    noise_seed: int = _setting(
        0, "Seed of noise_sigma; the same seed and query give the same noise", ENGRAM,
        low=0, high=1_000_000_000,
    )  # fmt: skip
    threshold: float = _setting(
        0.0, "Minimum score of a hit, as a share of the best hit's; 0 is off", ENGRAM,
        low=0, high=1,
    )  # fmt: skip
    relevance_floor: float = _setting(
        0.0, "Minimum cosine similarity of a page that only the vector lane found; 0 is off",
        low=0, high=1,
    )  # fmt: skip
    rerank: str = _setting(
        "off", "Reranker that reorders the first pages", ENGRAM,
        choices=("off", "cross-encoder", "overlap", "command", "learned"),
    )  # fmt: skip
    rerank_head: int = _setting(
        20, "Number of first pages that the reranker scores", JEFFS, low=1, high=1000
    )
    rerank_chunks: int = _setting(
        2, "Maximum number of chunks of a page that the reranker reads", low=1, high=100
    )
    rerank_mix: float = _setting(
        0.85, "Weight of the reranker's score against the merged score; 1 is the reranker alone",
        low=0, high=1,
    )  # fmt: skip
    rerank_command: str = _setting(
        "",
        "Program for rerank command: reads a question and chunks as JSON, prints scores; runs "
        "only on a machine where you set or confirmed it",
        JEFFS,
    )
    rerank_seconds: float = _setting(
        10.0, "Maximum time in seconds that rerank_command may take", low=0.1, high=600
    )
    unanimity: bool = _setting(
        False, "Skip the reranker when the keyword and vector lanes share two of their first three "
        "pages", JEFFS,
    )  # fmt: skip
    mmr_lambda: float = _setting(
        1.0, "Balance of relevance and variety in the order of hits; 1 is relevance only, lower "
        "separates similar pages", low=0, high=1,
    )  # fmt: skip
    title_weight: float = _setting(
        2.0, "Keyword lane: weight of words in the title", low=0, high=100
    )
    slug_weight: float = _setting(1.0, "Keyword lane: weight of words in the slug", low=0, high=100)
    truth_weight: float = _setting(
        1.0, "Keyword lane: weight of words in the compiled truth (the text above the timeline)",
        low=0, high=100,
    )  # fmt: skip
    timeline_weight: float = _setting(
        1.0, "Keyword lane: weight of words in the timeline", low=0, high=100
    )
    tags_weight: float = _setting(1.0, "Keyword lane: weight of words in tags", low=0, high=100)
    aliases_weight: float = _setting(
        2.0, "Keyword lane: weight of words in aliases", low=0, high=100
    )
    chunk_weight: float = _setting(
        0.5, "Keyword lane: weight of the best chunk's score, added to the page's own score",
        low=0, high=10,
    )  # fmt: skip
    all_words_bonus: float = _setting(
        0.1, "Keyword lane: share of its score added to a page that contains every query word",
        low=0, high=5,
    )  # fmt: skip
    verdict_strong: float = _setting(
        0.6, "Minimum confidence of an answer that is called strong", low=0, high=1
    )
    verdict_nothing: float = _setting(
        0.2, "Confidence below which a query is reported as finding nothing", low=0, high=1
    )
    hypothetical_questions: str = _setting(
        "off", "Search the questions that pages answer: from front matter (authored), and also "
        "derived from title, headings and entries (derived)", ENGRAM,
        choices=("off", "authored", "derived"),
    )  # fmt: skip
    questions_weight: float = _setting(
        0.2, "Keyword lane: weight of the score of a page's questions (hypothetical_questions)",
        low=0, high=10,
    )  # fmt: skip
    retry_ladder: bool = _setting(
        True, "Keyword lane: relax a query that finds nothing, step by step", JEFFS
    )
    fuzzy_similarity: float = _setting(
        0.3, "Minimum share of trigrams that a misspelt word and its correction have in common",
        JEFFS, low=0, high=1,
    )  # fmt: skip
    repair_words: bool = _setting(
        True, "Suggest what a misspelt word means that no page contains, if other words are found"
    )
    record_queries: bool = _setting(
        False, "Record queries and their hits in the brain, for gbrain gaps and train-reranker"
    )
    keep_queries: int = _setting(
        10_000, "Maximum number of queries that record_queries keeps; the oldest are deleted",
        low=1, high=1_000_000,
    )  # fmt: skip
    record_access: bool = _setting(True, "Count how often each page is opened", ENGRAM)
    stale_days: int = _setting(
        180, "Days without a change after which gbrain gaps may list a page as stale",
        low=1, high=36_500,
    )  # fmt: skip
    capture_page: str = _setting(
        "inbox", "Slug of the page that gbrain capture adds to, without --to"
    )
    busy_seconds: float = _setting(
        10.0, "Maximum time in seconds that a write waits for another program's write",
        low=0, high=600,
    )  # fmt: skip

    @property
    def lane_weights(self) -> dict[str, float]:
        """Return the weight of each lane, by the name of the lane."""
        return {
            "vector": self.semantic_weight,
            "fts": self.keyword_weight,
            "graph": self.graph_weight,
            "associative": self.associative_weight,
        }

    def __init__(self, **changes: SettingValue) -> None:
        self.__dict__.update(changes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("settings are immutable; use override_settings")


@cache
def all_settings() -> Mapping[str, Setting]:
    """Return every setting by name, in the order of the table."""
    return {name: row for name, row in vars(Settings).items() if isinstance(row, Setting)}


def find_setting(name: str) -> Setting:
    """Return the setting called `name`; raise BadSetting with similar names if there is none."""
    table = all_settings()
    if name not in table:
        from gbrain.messages import did_you_mean, similar_names

        containing = [known for known in table if name and name in known]
        similar = similar_names(name, table) or containing[:3]
        hint = did_you_mean(similar, "gbrain config list shows them all.")
        raise BadSetting(f"There is no setting {name!r}", hint=hint)
    return table[name]


def parse_value(name: str, text: str) -> SettingValue:
    """Return `text` as a value of the setting `name`; raise BadSetting if it is not allowed."""
    setting = find_setting(name)
    value = _convert(setting.kind, text.strip())
    allowed = value is not None and (not setting.choices or value in setting.choices)
    if allowed and isinstance(value, int | float) and not isinstance(value, bool):
        low = setting.low if setting.low is not None else value
        high = setting.high if setting.high is not None else value
        allowed = low <= value <= high
    if not allowed or value is None:
        raise BadSetting(f"{name} cannot be {text!r}", hint=f"It takes {setting.allowed}.")
    return value


def _convert(kind: type, text: str) -> SettingValue | None:
    """Return the text as a value of this type; None if it is not one."""
    if kind is bool:
        flags = {"on": True, "true": True, "yes": True, "1": True}
        flags |= {"off": False, "false": False, "no": False, "0": False}
        return flags.get(text.casefold())
    if kind is str:
        return text
    try:
        return int(text) if kind is int else float(text)
    except ValueError:
        return None


def format_value(value: SettingValue) -> str:
    """Return a value as `gbrain config set` accepts it."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def override_settings(settings: Settings, changes: Mapping[str, str]) -> Settings:
    """Return `settings` with these changes; raise BadSetting for a value that is not allowed."""
    values = {name: parse_value(name, text) for name, text in changes.items()}
    return Settings(**{**vars(settings), **values})
