"""Retriever for LangChain: `pip install noteweft-client[langchain]`.

from noteweft.langchain import NoteweftRetriever

retriever = NoteweftRetriever(budget=1000)
for document in retriever.invoke("Why did sailors need a clock?"):
    print(document.metadata["title"], document.metadata["first_line"])
"""

from __future__ import annotations

from typing import Any

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, field_validator
except ImportError as error:
    raise ImportError(
        "this retriever needs its extra: pip install 'noteweft-client[langchain]'"
    ) from error

from noteweft._sources import BUDGET, arguments, check_options, sources
from noteweft.client import AsyncNoteweft, Noteweft
from noteweft.v1 import AssembleResponse, Filter


class NoteweftRetriever(BaseRetriever):
    """Retrieves the passages that answer a question best, within a token budget, as one document for each note.

    The metadata of a document cites it: `source` and `uri`, `title`, `score`, `heading_path`, `first_line`, `last_line`, `start` and `end`, and the same for each of its `passages`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: Connection to the daemon.
    client: Noteweft = Field(default_factory=Noteweft.connect, exclude=True)
    #: Connection for asynchronous calls; they use `client` in a thread if absent.
    async_client: AsyncNoteweft | None = Field(default=None, exclude=True)
    #: Budget in tokens for all documents together.
    budget: int = Field(default=BUDGET, ge=0)
    #: Maximum number of notes; the setting `context.candidates` if absent.
    limit: int | None = Field(default=None, ge=1, le=1000)
    #: Notes to retrieve from.
    filter: Filter | None = None
    #: Further arguments of `Noteweft.assemble`, such as `mode` or `timeout`.
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("options")
    @classmethod
    def _options_are_known(cls, options: dict[str, Any]) -> dict[str, Any]:
        check_options(options)
        return options

    def _arguments(self) -> dict[str, Any]:
        return arguments(self.budget, self.limit, self.filter, self.options)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(self.client.assemble(query, **self._arguments()))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager)
        return _documents(await self.async_client.assemble(query, **self._arguments()))


def _documents(answer: AssembleResponse) -> list[Document]:
    """Returns the notes of a context as documents, best first."""
    return [
        Document(
            id=source.metadata["uri"],
            page_content=source.text,
            metadata={"source": source.metadata["uri"], **source.metadata},
        )
        for source in sources(answer)
    ]
