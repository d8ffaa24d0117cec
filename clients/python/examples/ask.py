"""Searches for a question and builds a context for it: python ask.py "why do cells age"."""

import sys

from noteweft import Noteweft, NoteweftError


def main(question: str) -> None:
    """Prints the best notes and the context."""
    with Noteweft.connect() as notes:
        for hit in notes.search(question, limit=5, snippets=1).hits:
            print(f"{hit.score:.2f}  {hit.title}  ({hit.uri})")
            for snippet in hit.snippets:
                print(f"      {' '.join(snippet.text.split())}")

        packed = notes.assemble(question, budget=1000, rendering="markdown")
        print(f"\n{packed.used} of {packed.budget} tokens, {len(packed.items)} notes:\n")
        print(packed.rendered)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(" ".join(sys.argv[1:]))
    except NoteweftError as error:
        sys.exit(str(error))
