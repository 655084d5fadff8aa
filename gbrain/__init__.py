"""gbrain: a personal knowledge brain in one SQLite file."""

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Brain",
    "Budget",
    "Candidate",
    "ContextChunk",
    "GbrainError",
    "Hit",
    "HitChunk",
    "Scope",
    "Verdict",
    "__version__",
]

# Not imported from typing, which would slow down every start of the program.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.errors import GbrainError
    from gbrain.types import Answer, Budget, Candidate, ContextChunk, Hit, HitChunk, Scope, Verdict
else:

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that `import gbrain` is fast."""
        if name not in __all__:
            raise AttributeError(f"module 'gbrain' has no attribute {name!r}")
        from importlib import import_module

        module = {"Brain": "brain", "GbrainError": "errors"}.get(name, "types")
        return getattr(import_module(f"gbrain.{module}"), name)
