"""Compares the embedders with Python's onnxruntime in texts per CPU-second, on the same texts in one run.

usage: pip install -r benches/compare/requirements.txt && python benches/compare/embed.py

The bench `embed` writes its texts to target/tmp and loads onnxruntime's library from there.
onnxruntime embeds the same texts on one thread, with the bundled file and with the same network in 32-bit floats.
The two take turns, because the speed of a machine changes within minutes; each ratio is the median over all turns.
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
# Minimum cosine between the network in floats and the references of the published one.
LEAST_COSINE = 0.98


def put_library():
    """Links onnxruntime's library to where the bench loads it."""
    library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    link = LEFT / "libonnxruntime.so"
    LEFT.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(library)


def ours():
    """Returns texts per CPU-second by runner and tokens; the bench chooses the batch size."""
    # Names the stage and none of its operations, so criterion measures nothing.
    command = ["cargo", "bench", "--package", "weft-benches", "--", "embed/rates"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = re.compile(r"embed/(\w+)/(\d+): ([\d.]+) texts")
    return {(runner, int(tokens)): {None: float(rate)} for runner, tokens, rate in line.findall(output)}


class Session:
    """An onnxruntime session on one thread."""

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
        """Returns texts per CPU-second in batches of `size`."""
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
    """Runs each program once; returns texts per CPU-second by runner and tokens, then by batch."""
    rates = ours()
    for n in sorted({tokens for _, tokens in rates}):
        texts = json.loads((LEFT / f"texts-{n}.json").read_text(encoding="utf-8"))
        for name, session in sessions.items():
            rates[name, n] = {size: session.rate(texts, size) for size in BATCHES}
    return rates


def fastest(turns):
    """Returns the rates of every turn by runner and tokens, for the batch size that is fastest over all turns."""
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
            own = rates[runner, n]
            same, floats = (ratio(own, rates[name, n]) for name in sessions)
            cells.append(f"{statistics.median(own):.1f} | {floats:.2f} × | {same:.2f} ×")
        print(f"| {runner} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
