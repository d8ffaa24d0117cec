"""Searches for a question and builds a context for it: python ask.py "why do cells age" """

import sys

import grpc
from weft import Weft, common, context, explain, search


def main(question):
    with Weft() as weft:
        request = search.SearchRequest(query=question, limit=5)
        answer = weft.search.Search(request, timeout=10)
        for hit in answer.hits:
            print(f"{hit.score:.2f}  {hit.title}  ({hit.uri})")
            for snippet in hit.snippets[:1]:
                print(f"      {' '.join(snippet.text.split())}")

        request = context.AssembleRequest(
            query=question, budget=1000, rendering=common.RENDERING_MARKDOWN
        )
        packed = weft.context.Assemble(request, timeout=10)
        print(f"\n{packed.used} of {packed.budget} tokens, {len(packed.items)} notes:\n")
        print(packed.rendered)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(" ".join(sys.argv[1:]))
    except grpc.RpcError as error:
        sys.exit(explain(error))
