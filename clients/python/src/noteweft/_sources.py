"""Notes of a context as texts with citations, for retrievers of frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noteweft.v1 import (
    AssembleRequest,
    AssembleResponse,
    ContextItem,
    ContextLimits,
    ContextMode,
    Filter,
)

#: Default budget in tokens.
BUDGET = 2000


@dataclass(frozen=True)
class Source:
    """A note of a context: its included text, and the metadata that cites it."""

    text: str
    score: float
    metadata: dict[str, Any]


def arguments(
    budget: int, limit: int | None, filter: Filter | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of `assemble`: no rendered text, and no note of which only headings would fit."""
    defaults: dict[str, Any] = {"rendering": "none", "limits": ContextLimits(structural_cap=0)}
    return defaults | {"budget": budget, "limit": limit, "filter": filter} | dict(options)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises `ValueError` if `options` are not parameters of `assemble`, or contain one that the retriever sets."""
    known = set(AssembleRequest.DESCRIPTOR.fields_by_name) | {"timeout"}
    known -= {"query", "budget", "limit", "filter"}
    if unknown := sorted(set(options) - known):
        raise ValueError(
            f"options: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        )


def sources(answer: AssembleResponse) -> list[Source]:
    """Returns the notes of a context, best first."""
    return [
        Source(item.text, item.score, _metadata(item, answer.generation))
        for item in answer.items
        if item.text
    ]


def _metadata(item: ContextItem, generation: int) -> dict[str, Any]:
    """Returns the citation of a note as values that JSON knows.

    Lines and offsets are those of the body, which begins below the frontmatter. The note as a whole has those from its first passage to its last, and the headings of its best passage.
    """
    passages = [
        {
            "start": passage.span.start,
            "end": passage.span.end,
            "first_line": passage.first_line,
            "last_line": passage.last_line,
            "heading_path": list(passage.heading_path),
            "score": passage.evidence,
        }
        for passage in item.passages
    ]
    mode = ContextMode.Name(item.mode).removeprefix("CONTEXT_MODE_").lower()
    metadata: dict[str, Any] = {
        "uri": item.uri,
        "title": item.title,
        "score": item.score,
        "mode": mode,
        "generation": generation,
        "passages": passages,
    }
    if item.passages:
        first, last = item.passages[0], item.passages[-1]
        best = max(item.passages, key=lambda passage: passage.evidence)
        metadata |= {
            "start": first.span.start,
            "end": last.span.end,
            "first_line": first.first_line,
            "last_line": last.last_line,
            "heading_path": list(best.heading_path),
        }
    if item.HasField("relation"):
        metadata["relation"] = item.relation
    return metadata
