"""Follows a query: prints the hits, and again whenever a saved note changes them: python watch.py "why do cells age"."""

import argparse
import contextlib

from noteweft import Noteweft, NoteweftError
from noteweft.v1 import SearchRequest


def main(question: str, n_answers: int | None) -> None:
    """Prints the hits until `n_answers` have been printed, or without end."""
    with (
        Noteweft.connect() as notes,
        notes.watch_query(SearchRequest(query=question, limit=5)) as updates,
    ):
        for n, update in enumerate(updates, start=1):
            print(f"generation {update.answer.generation}:")
            for hit in update.answer.hits:
                mark = "+" if n > 1 and hit.uri in update.added else " "
                print(f"  {mark} {hit.title}")
            for uri in update.removed:
                print(f"  - {uri}")
            if n == n_answers:
                break


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("question")
    arguments.add_argument("--answers", type=int, help="stop after this number of results")
    given = arguments.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            main(given.question, given.answers)
    except NoteweftError as error:
        raise SystemExit(str(error)) from None
