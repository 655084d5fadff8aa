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

    __slots__ = (
        "choices", "default", "described", "help", "high", "kind", "low", "name", "pattern",
        "source",
    )  # fmt: skip
    name: str

    def __init__(
        self,
        default: SettingValue,
        help: str,
        source: str,
        low: float | None,
        high: float | None,
        choices: tuple[str, ...],
        pattern: str,
        described: str,
    ) -> None:
        self.kind, self.default, self.help, self.source = type(default), default, help, source
        self.low, self.high, self.choices = low, high, choices
        self.pattern, self.described = pattern, described

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
            return self.described
        return f"{self.low:.10g} to {self.high:.10g}"


def _setting(
    default: SettingValue,
    help: str,
    source: str = GBRAIN,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    described: str = "any text",
) -> Any:
    return Setting(default, help, source, low, high, choices, pattern, described)


# The headings of the table in `gbrain config list` and gbrain-config(5), by the setting below each.
HEADINGS = {
    "default_limit": "Everyday settings",
    "keyword_weight": "Expert: lanes (each finds pages in its own way) and their weights",
    "search_merge_strategy": "Expert: merging the pages of all lanes into one list",
    "title_weight": "Expert: keyword lane",
    "wing_boost": "Expert: factors that raise or lower the score of a page",
    "rerank_head": "Expert: reranking",
    "threshold": "Expert: which results are shown, and the verdict on them",
    "chunk_k": "Expert: context of --depth auto",
}


class Settings:
    """The settings of a brain, immutable; `gbrain config list` prints them in this order.

    Not a dataclass: creating one with this many fields would slow down every search.
    """

    default_limit: int = _setting(
        10, "Maximum number of results when --limit is not given", ENGRAM, low=1, high=1000
    )
    default_token_budget: int = _setting(
        4000, "Maximum number of tokens that --depth auto prints when --budget is not given",
        GIGABRAIN, low=1, high=1_000_000,
    )  # fmt: skip
    search_mode: str = _setting(
        "auto", "How gbrain query finds pages: by keyword (bm25), by meaning (semantic), or both "
        "(hybrid); auto is hybrid once the brain has vectors",
        JEFFS, choices=("auto", "hybrid", "bm25", "semantic"),
    )  # fmt: skip
    rerank: str = _setting(
        "off", "Sort the first results again: cross-encoder (packaged model, takes a second or "
        "more), overlap (shared words), learned (gbrain train-reranker), "
        "cross-encoder and then learned, or command (rerank_command)",
        ENGRAM,
        choices=("off", "cross-encoder", "overlap", "command", "learned", "cross-encoder+learned"),
    )  # fmt: skip
    short_circuit: bool = _setting(
        True, "Answer with the page itself when the query is a page's slug, title or alias",
        GIGABRAIN,
    )  # fmt: skip
    repair_words: bool = _setting(
        True, "Suggest a correction for a word that no page contains, if the other words are found"
    )
    date_boost: bool = _setting(
        True, "Favour pages and timeline entries dated near a date that the query mentions", ENGRAM
    )
    recency_half_life_days: float = _setting(
        0.0, "Favour recent notes: the score of a note halves each time it gets this many days "
        "older; 0 is off", ENGRAM, low=0, high=1_000_000,
    )  # fmt: skip
    drop_superseded: bool = _setting(
        True, "Leave out pages that another page supersedes (superseded_by in front matter), "
        "unless they are pinned (pinned: true)", SIFT,
    )  # fmt: skip
    capture_page: str = _setting(
        "inbox", "Slug of the page that gbrain capture adds to when --to is not given"
    )
    write_through: bool = _setting(
        True, "Write every change of a page to its file in the imported folder; off: only gbrain "
        "export writes files",
    )  # fmt: skip
    default_folder: str = _setting(
        "", "Imported folder that new pages are written to (default: the only folder)"
    )
    use_trash: bool = _setting(
        False, "Move the file of a deleted page to the trash of your system; its text is in the "
        "page's history in any case",
    )  # fmt: skip
    keep_warm: str = _setting(
        "off", "Keep a process open after gbrain query, which makes the next commands faster, "
        "until there was no command for this time, such as 15m",
        pattern=r"off|\d{1,4}[mh]", described="off, or a time such as 15m or 2h",
    )  # fmt: skip
    idle_minutes: int = _setting(
        30, "Minutes without a command after which the process of gbrain up ends; 0 is never",
        low=0, high=100_000,
    )  # fmt: skip
    record_queries: bool = _setting(
        False, "Record queries and their results in the brain, for gbrain gaps and gbrain "
        "train-reranker",
    )  # fmt: skip
    keep_queries: int = _setting(
        10_000, "Maximum number of recorded queries; the oldest are deleted", low=1, high=1_000_000
    )
    record_access: bool = _setting(True, "Count how often each page is opened", ENGRAM)
    stale_days: int = _setting(
        180, "Days without a change after which gbrain gaps may list a page as stale",
        low=1, high=36_500,
    )  # fmt: skip
    busy_seconds: float = _setting(
        10.0, "Seconds that a write waits while another program writes, before it fails",
        low=0, high=600,
    )  # fmt: skip

    keyword_weight: float = _setting(
        1.0, "Weight of the keyword lane, which finds pages by their words; 0 switches it off",
        FUSION, low=0, high=5,
    )  # fmt: skip
    semantic_weight: float = _setting(
        1.0, "Weight of the vector lane, which finds pages by meaning; 0 switches it off",
        FUSION, low=0, high=5,
    )  # fmt: skip
    graph_weight: float = _setting(
        0.0, "Weight of the graph lane, which finds pages that the query names and pages linked "
        "with them; 0 switches it off", ENGRAM, low=0, high=5,
    )  # fmt: skip
    associative_weight: float = _setting(
        0.0, "Weight of the associative lane, which finds pages similar to the mean of the chunks "
        "closest to the query; 0 switches it off", ENGRAM, low=0, high=5,
    )  # fmt: skip
    hopfield_beta: float = _setting(
        8.0, "Associative lane: higher values take the mean of fewer, closer chunks",
        ENGRAM, low=0, high=1000,
    )  # fmt: skip
    intent_weights: bool = _setting(
        False, "Adjust the weights to the kind of question: why, when, who, how or what", ENGRAM
    )
    candidate_pool: int = _setting(
        50, "Maximum number of pages that each lane finds", SIFT, low=1, high=1000
    )
    dense_multiplier: int = _setting(
        0, "How many pages the vector lane finds for each result that is shown; 0 uses "
        "candidate_pool. If this or bm25_multiplier is set, the graph and associative lanes find "
        "one page for each result", ENGRAM, low=0, high=100,
    )  # fmt: skip
    bm25_multiplier: int = _setting(
        0, "How many pages the keyword lane finds for each result that is shown; 0 uses "
        "candidate_pool", ENGRAM, low=0, high=100,
    )  # fmt: skip

    search_merge_strategy: str = _setting(
        "set-union", "How scores are merged: set-union takes the best lane's score plus "
        "both_bonus, set-union-rank the best rank plus rank_bonus, rrf adds up ranks, blend adds "
        "up scores", GIGABRAIN, choices=("set-union", "set-union-rank", "rrf", "blend"),
    )  # fmt: skip
    both_bonus: float = _setting(
        0.6, "set-union: bonus for a page found by several lanes, as a share of its lower scores",
        GIGABRAIN, low=0, high=1,
    )  # fmt: skip
    chunk_bonus: float = _setting(
        0.4, "set-union: bonus for a page found by both lanes, as a share of its best chunk's "
        "score; added to its vector score", low=0, high=1,
    )  # fmt: skip
    coverage_power: float = _setting(
        0.2, "set-union: how much less a page's keyword score counts if the page lacks words of "
        "the query; 0 is off", low=0, high=5,
    )  # fmt: skip
    full_coverage: float = _setting(
        0.6, "set-union: share of the query's words that some page must contain for both_bonus and "
        "chunk_bonus to count in full; 0 for none", low=0, high=1,
    )  # fmt: skip
    literal_bonus: float = _setting(
        0.5, "set-union: bonus for a page with every word of a short query, as a share of its "
        "keyword score", low=0, high=5,
    )  # fmt: skip
    rank_bonus: float = _setting(
        0.25, "set-union-rank: bonus for a page found by several lanes",
        GIGABRAIN, low=0, high=1,
    )  # fmt: skip
    rrf_k: int = _setting(
        60, "rrf: the constant k in weight / (k + rank); higher makes first ranks count less",
        JEFFS, low=1, high=1000,
    )  # fmt: skip

    title_weight: float = _setting(2.0, "Weight of words in the title", low=0, high=100)
    slug_weight: float = _setting(1.0, "Weight of words in the slug", low=0, high=100)
    truth_weight: float = _setting(
        1.0, "Weight of words in the text above the timeline (the compiled truth)", low=0, high=100
    )
    timeline_weight: float = _setting(1.0, "Weight of words in the timeline", low=0, high=100)
    tags_weight: float = _setting(1.0, "Weight of words in tags", low=0, high=100)
    aliases_weight: float = _setting(2.0, "Weight of words in aliases", low=0, high=100)
    chunk_weight: float = _setting(
        0.5, "Weight of the score of the page's best chunk, added to the score of the page",
        low=0, high=10,
    )  # fmt: skip
    all_words_bonus: float = _setting(
        0.1, "Bonus for a page with every word of the query, as a share of its score",
        low=0, high=5,
    )  # fmt: skip
    retry_ladder: bool = _setting(True, "Relax a query that finds nothing, step by step", JEFFS)
    fuzzy_similarity: float = _setting(
        0.3, "Lowest similarity of a correction to the misspelt word: the share of three-letter "
        "groups that both contain", JEFFS, low=0, high=1,
    )  # fmt: skip
    hypothetical_questions: str = _setting(
        "authored", "Also search the questions that a page answers: those in its front matter "
        "(authored), or also questions made from its title, headings and entries (derived)",
        ENGRAM, choices=("off", "authored", "derived"),
    )  # fmt: skip
    questions_weight: float = _setting(
        0.2, "Weight of the score of a page's questions (hypothetical_questions)", low=0, high=10
    )

    wing_boost: float = _setting(
        1.0, "Factor for people and companies when the query is a name, and for concepts and "
        "resources when it asks how to do something; 1 is off, 1.15 is typical",
        GIGABRAIN, low=1, high=10,
    )  # fmt: skip
    date_day_factor: float = _setting(
        5.0, "date_boost: factor for what is dated in the time asked about", ENGRAM, low=0, high=10
    )
    date_week_factor: float = _setting(
        1.5, "date_boost: factor for dates up to 7 days from that time", ENGRAM, low=0, high=10
    )
    date_month_factor: float = _setting(
        1.08, "date_boost: factor for dates 8 to 30 days from that time", ENGRAM, low=0, high=10
    )
    exact_boost: float = _setting(
        1.0, "Factor for pages with the quoted phrase, or with the title that is asked for; 1 is "
        "off, 1.22 is typical", ENGRAM, low=1, high=10,
    )  # fmt: skip
    preference_boost: bool = _setting(
        False, "Favour notes in the first person when the query asks what you like or prefer", JEFFS
    )
    preference_stated_factor: float = _setting(
        2.35, "preference_boost: factor for first-person chunks that state a preference",
        JEFFS, low=0, high=10,
    )  # fmt: skip
    preference_personal_factor: float = _setting(
        2.1, "preference_boost: factor for other first-person chunks", JEFFS, low=0, high=10
    )
    preference_reference_factor: float = _setting(
        0.82, "preference_boost: factor for impersonal chunks of reference pages",
        JEFFS, low=0, high=10,
    )  # fmt: skip
    preference_generic_factor: float = _setting(
        0.9, "preference_boost: factor for other impersonal chunks", JEFFS, low=0, high=10
    )
    concrete_boost: bool = _setting(
        False, "Favour short facts over long prose when the query asks for a fact", JEFFS
    )
    concrete_fact_factor: float = _setting(
        2.2, "concrete_boost: factor for short chunks with a number or a date",
        JEFFS, low=0, high=10,
    )  # fmt: skip
    roll_up_factor: float = _setting(
        0.45, "concrete_boost: factor for summaries, digests and index pages", JEFFS, low=0, high=10
    )
    long_prose_factor: float = _setting(
        0.75, "concrete_boost: factor for long chunks of prose", JEFFS, low=0, high=10
    )
    importance_boost: bool = _setting(
        False, "Favour pages with a high importance (a front matter key, 0 to 1 or up to 10): "
        "factor 0.8 + 0.4 x importance", ENGRAM,
    )  # fmt: skip
    access_boost: bool = _setting(
        False, "Favour pages that you open often: factor 1 + 0.1 x ln(1 + times opened)", ENGRAM
    )
    recency_tau_days: float = _setting(
        0.0, "Favour recent notes: factor exp(-age in days / this number); 0 is off; used instead "
        "of recency_half_life_days", SIFT, low=0, high=1_000_000,
    )  # fmt: skip
    recency_floor: float = _setting(
        0.0, "Lowest factor for an old note (recency_half_life_days, recency_tau_days)",
        SIFT, low=0, high=1,
    )  # fmt: skip
    recency_of: str = _setting(
        "dated", "Which notes lose score with age: dated ones, only episodes (journals, meetings), "
        "or all, with undated notes by their last change",
        ENGRAM, choices=("dated", "episodes", "all"),
    )  # fmt: skip
    noise_sigma: float = _setting(
        0.0, "Standard deviation of a random factor (mean 1) on each score; 0 is off",
        ENGRAM, low=0, high=1,
    )  # fmt: skip
    noise_seed: int = _setting(
        0, "Seed of noise_sigma; the same seed and query give the same noise",
        ENGRAM, low=0, high=1_000_000_000,
    )  # fmt: skip

    rerank_head: int = _setting(
        20, "Number of first results that the reranker sorts again", JEFFS, low=1, high=1000
    )
    rerank_chunks: int = _setting(
        2, "Maximum number of chunks that the reranker reads of each page", low=1, high=100
    )
    rerank_mix: float = _setting(
        0.85, "Weight of the reranker's score in the new score; 1 ignores the earlier score",
        low=0, high=1,
    )  # fmt: skip
    rerank_command: str = _setting(
        "", "Program for rerank command: it reads a question and chunks as JSON and prints "
        "scores; it runs only on a computer where you set or confirmed it", JEFFS,
    )  # fmt: skip
    rerank_seconds: float = _setting(
        10.0, "Maximum seconds that rerank_command may take", low=0.1, high=600
    )
    unanimity: bool = _setting(
        False, "Skip reranking when the keyword and vector lanes share two of their first three "
        "pages", JEFFS,
    )  # fmt: skip

    threshold: float = _setting(
        0.0, "Drop results whose score is below this share of the best one, and all results if the "
        "verdict is nothing; 0 is off", ENGRAM, low=0, high=1,
    )  # fmt: skip
    relevance_floor: float = _setting(
        0.0,
        "Drop pages found by the vector lane alone with a lower similarity; 0 is off",
        low=0,
        high=1,
    )
    mmr_lambda: float = _setting(
        1.0,
        "Order of results: 1 is by score alone, lower values move similar pages apart",
        low=0,
        high=1,
    )
    verdict_strong: float = _setting(
        0.6, "Lowest confidence, 0 to 1, at which the verdict is strong", low=0, high=1
    )
    verdict_nothing: float = _setting(
        0.2, "Confidence, 0 to 1, below which the verdict is nothing", low=0, high=1
    )

    chunk_k: int = _setting(
        10, "The constant k in k / (k + rank), the value of a chunk in each lane; higher makes "
        "first ranks count less", low=1, high=1000,
    )  # fmt: skip
    page_standing: float = _setting(
        0.5, "Share of its page's score that is added to the value of a chunk", low=0, high=5
    )
    answer_bonus: float = _setting(
        0.5, "How much to favour text right after a question, such as the reply in a chat; 0 is "
        "off", low=0, high=5,
    )  # fmt: skip
    context_floor: float = _setting(
        0.0095, "Stop when 1,000 more tokens would have less than this share of the answer; higher "
        "prints less", low=0, high=1000,
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

    def lane_pool(self, lane: str, limit: int) -> int:
        """Return how many pages a lane finds for a query with at most `limit` results."""
        multipliers = {"vector": self.dense_multiplier, "fts": self.bm25_multiplier}
        # The graph and associative lanes find as many as there are results.
        multiplier = multipliers.get(lane, min(1, sum(multipliers.values())))
        pool: int = multiplier * limit or self.candidate_pool
        return pool

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
    if allowed and setting.pattern:
        from re import fullmatch

        allowed = fullmatch(setting.pattern, str(value)) is not None
    if allowed and isinstance(value, int | float) and not isinstance(value, bool):
        low = setting.low if setting.low is not None else value
        high = setting.high if setting.high is not None else value
        allowed = low <= value <= high
    if not allowed or value is None:
        raise BadSetting(
            f"{name} cannot be {text!r}",
            hint=f"Allowed: {setting.allowed}. The default is {format_value(setting.default)}.",
        )
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
