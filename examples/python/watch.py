"""Follows a query: prints the result, and again whenever a saved note changes it: python watch.py "why do cells age" [--answers N] """

import argparse

import grpc
from weft import Weft, explain, search

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("question")
arguments.add_argument("--answers", type=int, help="stop after this number of results")


def main(question, answers):
    with Weft() as weft:
        request = search.WatchQueryRequest(search=search.SearchRequest(query=question, limit=5))
        stream = weft.search.WatchQuery(request)
        for n, update in enumerate(stream, start=1):
            print(f"generation {update.answer.generation}:")
            for hit in update.answer.hits:
                mark = "+" if n > 1 and hit.uri in update.added else " "
                print(f"  {mark} {hit.title}")
            for uri in update.removed:
                print(f"  - {uri}")
            if n == answers:
                stream.cancel()
                break


if __name__ == "__main__":
    given = arguments.parse_args()
    try:
        main(given.question, given.answers)
    except KeyboardInterrupt:
        pass
    except grpc.RpcError as error:
        raise SystemExit(explain(error)) from None
