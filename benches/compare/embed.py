"""Texts per CPU-second of the embedders beside those of Python's onnxruntime, on the same texts in one run.

usage: pip install -r benches/compare/requirements.txt && python benches/compare/embed.py

Runs the bench `embed`, which leaves its texts in target/tmp and finds onnxruntime's library there, then gives the texts to onnxruntime, one thread: with the bundled file, and with the same network in 32-bit floats.
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
ROUNDS = 9
BATCHES = [1, 8]
# What the network in floats must agree with the published one, which made the references.
LEAST_COSINE = 0.98


def ours():
    """Texts per CPU-second by runner and tokens."""
    library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    link = LEFT / "libonnxruntime.so"
    link.unlink(missing_ok=True)
    LEFT.mkdir(parents=True, exist_ok=True)
    link.symlink_to(library)
    command = ["cargo", "bench", "--package", "weft-benches", "--bench", "embed"]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = re.compile(r"embed/(\w+)/(\d+): ([\d.]+) texts")
    return {(runner, int(tokens)): float(rate) for runner, tokens, rate in line.findall(told)}


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
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        states = self.session.run(None, given)[0]
        means = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return means / numpy.linalg.norm(means, axis=1, keepdims=True)

    def rate(self, texts):
        """Texts per CPU-second, with whatever batches are fastest."""
        return max(self.rate_in(texts, size) for size in BATCHES)

    def rate_in(self, texts, size):
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


def main():
    rates = ours()
    file = MODELS / "minilm-q8row.onnx"
    sessions = {
        "Python onnxruntime, bundled file": Session(str(file)),
        "Python onnxruntime, 32-bit floats": Session(unrounded(file).SerializeToString()),
    }
    for session in sessions.values():
        check(session)
    tokens = sorted({tokens for _, tokens in rates})
    for n in tokens:
        texts = json.loads((LEFT / f"texts-{n}.json").read_text(encoding="utf-8"))
        for name, session in sessions.items():
            rates[name, n] = session.rate(texts)
    runners = dict.fromkeys(name for name, _ in rates)
    print("Texts per CPU-second, one thread\n")
    print("| runner | " + " | ".join(f"{n} tokens | of floats | of the same file" for n in tokens) + " |")
    print("|---" * (1 + 3 * len(tokens)) + "|")
    for runner in runners:
        cells = []
        for n in tokens:
            rate = rates[runner, n]
            same, floats = (rates[name, n] for name in sessions)
            cells.append(f"{rate:.1f} | {rate / floats:.2f} × | {rate / same:.2f} ×")
        print(f"| {runner} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
