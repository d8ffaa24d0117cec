"""Texts per CPU-second of the embedders beside those of Python's onnxruntime, on the same texts in one run.

usage: pip install -r benches/compare/requirements.txt && python benches/compare/embed.py

The bench `embed` leaves its texts in target/tmp and finds onnxruntime's library there; onnxruntime gets the same texts, one thread: with the bundled file, and with the same network in 32-bit floats.
The two take turns, because a machine's speed changes within minutes: a ratio is the median of those of each turn.
"""

import json
import re
import statistics
import subprocess
import time
from pathlib import Path

import numpy
import onnxruntime
from tokenizers import Tokenizer

from float_model import unrounded

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "crates/indexer/models"
LEFT = ROOT / "target/tmp"
TURNS = 9
ROUNDS = 9
BATCHES = [1, 8]
# What the network in floats must agree with the published one, which made the references.
LEAST_COSINE = 0.98


def put_library():
    """Lays onnxruntime's library where the bench looks for it."""
    library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    link = LEFT / "libonnxruntime.so"
    LEFT.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(library)


def ours():
    """Texts per CPU-second by runner and tokens, in batches of its own choice."""
    # Names the stage and no operation of it: what criterion measures is not asked for.
    command = ["cargo", "bench", "--package", "weft-benches", "--", "embed/rates"]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = re.compile(r"embed/(\w+)/(\d+): ([\d.]+) texts")
    return {(runner, int(tokens)): {None: float(rate)} for runner, tokens, rate in line.findall(told)}


class Session:
    """onnxruntime on one thread."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(MODELS / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()

    def embed(self, texts):
        read = self.tokenizer.encode_batch(texts)
        ids = numpy.array([text.ids for text in read], "i8")
        mask = numpy.array([text.attention_mask for text in read], "i8")
        weights = mask.astype("f4")
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        states = self.session.run(None, given)[0]
        means = (states * weights[:, :, None]).sum(1) / weights.sum(1, keepdims=True)
        return means / numpy.linalg.norm(means, axis=1, keepdims=True)

    def rate(self, texts, size):
        """Texts per CPU-second in batches of `size`."""
        rates = []
        for _ in range(ROUNDS + 1):
            before = time.process_time()
            for at in range(0, len(texts), size):
                self.embed(texts[at : at + size])
            rates.append(len(texts) / (time.process_time() - before))
        return statistics.median(rates[1:])


def check(session):
    lines = (MODELS / "reference.jsonl").read_text(encoding="utf-8").splitlines()
    for line in map(json.loads, lines):
        cosine = float(session.embed([line["text"]])[0] @ numpy.array(line["vector"]))
        assert cosine >= LEAST_COSINE, (cosine, line["text"])


def turn(sessions):
    """Each program once: texts per CPU-second by runner and tokens, then by batch."""
    rates = ours()
    for n in sorted({tokens for _, tokens in rates}):
        texts = json.loads((LEFT / f"texts-{n}.json").read_text(encoding="utf-8"))
        for name, session in sessions.items():
            rates[name, n] = {size: session.rate(texts, size) for size in BATCHES}
    return rates


def fastest(turns):
    """The rates of every turn by runner and tokens, with the batches that are fastest over all turns."""
    by_batch = {
        key: [[rates[key][size] for rates in turns] for size in sizes]
        for key, sizes in turns[0].items()
    }
    return {key: max(rates, key=statistics.median) for key, rates in by_batch.items()}


def ratio(rates, others):
    return statistics.median(rate / other for rate, other in zip(rates, others))


def main():
    put_library()
    file = MODELS / "minilm-q8row.onnx"
    sessions = {
        "Python onnxruntime, bundled file": Session(str(file)),
        "Python onnxruntime, 32-bit floats": Session(unrounded(file).SerializeToString()),
    }
    for session in sessions.values():
        check(session)
    rates = fastest([turn(sessions) for _ in range(TURNS)])
    tokens = sorted({tokens for _, tokens in rates})
    runners = dict.fromkeys(name for name, _ in rates)
    print("Texts per CPU-second, one thread\n")
    print("| runner | " + " | ".join(f"{n} tokens | of floats | of the same file" for n in tokens) + " |")
    print("|---" * (1 + 3 * len(tokens)) + "|")
    for runner in runners:
        cells = []
        for n in tokens:
            told = rates[runner, n]
            same, floats = (ratio(told, rates[name, n]) for name in sessions)
            cells.append(f"{statistics.median(told):.1f} | {floats:.2f} × | {same:.2f} ×")
        print(f"| {runner} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
