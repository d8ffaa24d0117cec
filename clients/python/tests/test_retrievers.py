"""Retrievers with the real frameworks."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from daemons import Daemon
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, TextNode

from noteweft import AsyncNoteweft, Filter, Noteweft, NotFound
from noteweft.langchain import NoteweftRetriever as LangChainRetriever
from noteweft.llama_index import NoteweftRetriever as LlamaIndexRetriever

QUESTION = "Why did sailors need a clock to know where they were?"


def check_citations(notes: Noteweft, text: str, metadata: Mapping[str, Any]) -> None:
    """Follows a citation into the note: its offsets and lines contain the text."""
    body = notes.get_note(metadata["uri"]).body
    assert json.loads(json.dumps(dict(metadata))) == metadata
    assert 0 < metadata["score"] <= 1
    assert metadata["passages"]
    lines = body.split("\n")
    for passage in metadata["passages"]:
        cited = body[passage["start"] : passage["end"]]
        assert cited.strip() in text
        for line in cited.split("\n"):
            assert any(
                line in each for each in lines[passage["first_line"] - 1 : passage["last_line"]]
            )
        assert all(heading in body for heading in passage["heading_path"])
    ends = metadata["passages"][0], metadata["passages"][-1]
    assert (metadata["start"], metadata["end"]) == (ends[0]["start"], ends[1]["end"])
    assert (metadata["first_line"], metadata["last_line"]) == (
        ends[0]["first_line"],
        ends[1]["last_line"],
    )
    assert metadata["heading_path"] in [passage["heading_path"] for passage in metadata["passages"]]


def test_langchain_documents_cite_their_notes(notes: Noteweft) -> None:
    documents = LangChainRetriever(client=notes, budget=800).invoke(QUESTION)
    assert len(documents) > 2
    assert "The Longitude Problem/2 Four minutes to a degree" in [each.id for each in documents]
    for document in documents:
        check_citations(notes, document.page_content, document.metadata)
        assert document.metadata["source"] == document.metadata["uri"] == document.id
    scores = [document.metadata["score"] for document in documents]
    assert scores == sorted(scores, reverse=True)


def test_langchain_retriever_is_part_of_a_chain(notes: Noteweft) -> None:
    retriever = LangChainRetriever(client=notes, budget=400)

    def join(documents: list[Document]) -> str:
        return "\n".join(f"[{each.metadata['title']}] {each.page_content}" for each in documents)

    prompt = ChatPromptTemplate.from_template("{notes}\n\n{question}")
    chain = {"notes": retriever | RunnableLambda(join), "question": RunnablePassthrough()} | prompt
    text = chain.invoke("leap second").to_string()
    assert "[Leap second] # Leap second" in text
    assert text.endswith("leap second")


def test_langchain_settings_reach_the_daemon(notes: Noteweft) -> None:
    few = LangChainRetriever(client=notes, budget=300, options={"mode": "keyword", "timeout": 5})
    n_tokens = notes.assemble(QUESTION, budget=300, mode="keyword", rendering="none").used
    assert n_tokens <= 300
    assert few.invoke(QUESTION)
    one = LangChainRetriever(client=notes, limit=1, filter=Filter(paths=["Calendars"]))
    (document,) = one.invoke("week")
    assert document.metadata["uri"].startswith("Calendars/")
    with pytest.raises(NotFound):
        LangChainRetriever(client=notes, filter=Filter(linked_to=["Nothing"])).invoke("week")
    with pytest.raises(ValueError, match="options: unknown fuel; known: as_of, budget_chars"):
        LangChainRetriever(client=notes, options={"fuel": 1})


def test_langchain_retrieves_asynchronously(daemon: Daemon, notes: Noteweft) -> None:
    expected = LangChainRetriever(client=notes).invoke("leap second")

    async def main() -> None:
        in_thread = LangChainRetriever(client=notes)
        assert await in_thread.ainvoke("leap second") == expected
        async with AsyncNoteweft.connect(daemon.address) as connection:
            retriever = LangChainRetriever(client=notes, async_client=connection)
            assert await retriever.ainvoke("leap second") == expected

    asyncio.run(main())


def test_langchain_connects_by_itself(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_ADDR", daemon.address)
    assert LangChainRetriever().invoke("leap second")


def test_llama_index_nodes_cite_their_notes(notes: Noteweft) -> None:
    nodes = LlamaIndexRetriever(notes, budget=800).retrieve(QUESTION)
    assert len(nodes) > 2
    assert "The Longitude Problem/2 Four minutes to a degree" in [each.node_id for each in nodes]
    for node in nodes:
        check_citations(notes, node.text, node.metadata)
        assert node.score == node.metadata["score"]


def test_llama_index_shows_models_titles_and_headings_only(notes: Noteweft) -> None:
    (node,) = LlamaIndexRetriever(notes, limit=1).retrieve("leap second")
    assert isinstance(node.node, TextNode)
    shown = node.node.get_content(MetadataMode.LLM)
    assert shown.startswith("title: Leap second\n")
    assert "generation: " not in shown
    assert "passages: " not in shown


def test_llama_index_retriever_feeds_a_query_engine(notes: Noteweft) -> None:
    engine = RetrieverQueryEngine.from_args(LlamaIndexRetriever(notes, budget=300), llm=MockLLM())
    answer = engine.query("leap second")
    # The model repeats its prompt.
    assert "twenty-seven extra seconds" in str(answer)
    assert answer.source_nodes[0].metadata["title"] == "Leap second"


def test_llama_index_retrieves_asynchronously(daemon: Daemon, notes: Noteweft) -> None:
    expected = [node.node_id for node in LlamaIndexRetriever(notes).retrieve("leap second")]

    async def main() -> None:
        blocking = await LlamaIndexRetriever(notes).aretrieve("leap second")
        async with AsyncNoteweft.connect(daemon.address) as connection:
            retriever = LlamaIndexRetriever(notes, async_client=connection)
            concurrent = await retriever.aretrieve("leap second")
        assert (
            expected == [each.node_id for each in blocking] == [each.node_id for each in concurrent]
        )

    asyncio.run(main())


def test_llama_index_rejects_unknown_options(notes: Noteweft) -> None:
    with pytest.raises(ValueError, match="options: unknown query; known"):
        LlamaIndexRetriever(notes, options={"query": "other"})


@pytest.mark.parametrize(
    ("module", "dependency", "extra"),
    [
        ("langchain", "langchain_core.callbacks", "langchain"),
        ("llama_index", "llama_index.core.callbacks", "llama-index"),
    ],
)
def test_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, dependency: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, dependency, None)
    monkeypatch.delitem(sys.modules, f"noteweft.{module}", raising=False)
    with pytest.raises(ImportError, match=re.escape(f"noteweft-client[{extra}]")):
        importlib.import_module(f"noteweft.{module}")
