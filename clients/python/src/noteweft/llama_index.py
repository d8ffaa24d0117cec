"""Retriever for LlamaIndex: `pip install noteweft-client[llama-index]`.

from noteweft.llama_index import NoteweftRetriever

retriever = NoteweftRetriever(budget=1000)
for node in retriever.retrieve("Why did sailors need a clock?"):
    print(node.metadata["title"], node.metadata["first_line"])
"""

from __future__ import annotations

import asyncio
from typing import Any

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(
        "this retriever needs its extra: pip install 'noteweft-client[llama-index]'"
    ) from error

from noteweft._sources import BUDGET, arguments, check_options, sources
from noteweft.client import AsyncNoteweft, Noteweft
from noteweft.v1 import AssembleResponse, Filter

#: Metadata that a language model sees beside the text; the rest is for programs.
SHOWN = {"title", "heading_path"}


class NoteweftRetriever(BaseRetriever):
    """Retrieves the passages that answer a question best, within a token budget, as one node for each note.

    The metadata of a node cites it: `uri`, `title`, `score`, `heading_path`, `first_line`, `last_line`, `start` and `end`, and the same for each of its `passages`. Language models see only the title and the headings.
    """

    def __init__(
        self,
        client: Noteweft | None = None,
        *,
        async_client: AsyncNoteweft | None = None,
        budget: int = BUDGET,
        limit: int | None = None,
        filter: Filter | None = None,
        options: dict[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        """Creates a retriever.

        Args:
            client: Connection to the daemon; `Noteweft.connect()` if absent.
            async_client: Connection for asynchronous calls; they use `client` in a thread if absent.
            budget: Budget in tokens for all nodes together.
            limit: Maximum number of notes; the setting `context.candidates` if absent.
            filter: Notes to retrieve from.
            options: Further arguments of `Noteweft.assemble`, such as `mode` or `timeout`.
            callback_manager: As for every retriever of LlamaIndex.
            verbose: As for every retriever of LlamaIndex.
        """
        check_options(options or {})
        self._client = client or Noteweft.connect()
        self._async_client = async_client
        self._arguments = arguments(budget, limit, filter, options or {})
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._client.assemble(query_bundle.query_str, **self._arguments))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_client is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        answer = await self._async_client.assemble(query_bundle.query_str, **self._arguments)
        return _nodes(answer)


def _nodes(answer: AssembleResponse) -> list[NodeWithScore]:
    """Returns the notes of a context as nodes, best first."""
    nodes = []
    for source in sources(answer):
        hidden = sorted(set(source.metadata) - SHOWN)
        node = TextNode(
            id_=source.metadata["uri"],
            text=source.text,
            metadata=source.metadata,
            excluded_llm_metadata_keys=hidden,
            excluded_embed_metadata_keys=hidden,
        )
        nodes.append(NodeWithScore(node=node, score=source.score))
    return nodes
