"""Compares the vector index with hnswlib in queries per CPU-second and recall, on the same vectors in one run.

usage: pip install -r benches/compare/requirements.txt && python benches/compare/vectors.py

Runs the bench `vector`, which writes its vectors to target/tmp, then hnswlib on the same vectors (one thread, queries in batches, so that Python adds no cost), then the bench again.
Each rate of the bench is the lower of the two runs, so that a machine that slows down in between can only favor hnswlib.
"""

import re
import statistics
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import hnswlib
import numpy

ROOT = Path(__file__).resolve().parents[2]
DIMENSION = 384
K = 10
EFS = [16, 32, 64, 128, 256, 512]
# Intermediate values for hnswlib only, so that its rate is not that of an ef far above the required one.
FINER = [80, 96, 112, 144, 160, 176, 192]
# Links per row; hnswlib keeps twice as many in the lowest layer.
MS = [16, 24, 32]
EF_CONSTRUCTION = 200
ROUNDS = 9
# Rates below this recall are not compared.
LEAST_RECALL = 0.99


def ours():
    """Returns (ef, recall, rate) of each walk that the bench reports."""
    command = ["cargo", "bench", "--package", "weft-benches", "--", "vector/walk"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = re.compile(r"vector/walk_ef(\d+)/\d+: recall@\d+ ([\d.]+), (\d+) queries")
    return [(int(ef), float(recall), float(rate)) for ef, recall, rate in line.findall(output)]


def theirs(m, rows, queries, truth):
    """Yields (ef, recall, rate) of hnswlib with `m` links per row."""
    index = hnswlib.Index(space="ip", dim=DIMENSION)
    index.init_index(max_elements=len(rows), M=m, ef_construction=EF_CONSTRUCTION)
    index.add_items(rows)
    for ef in EFS + FINER:
        index.set_ef(ef)
        found, _ = index.knn_query(queries, K, num_threads=1)
        hits = sum(len(set(row) & true) for row, true in zip(found.tolist(), truth))
        rates = []
        for _ in range(ROUNDS):
            before = time.thread_time()
            index.knn_query(queries, K, num_threads=1)
            rates.append(len(queries) / (time.thread_time() - before))
        yield ef, hits / (K * len(queries)), statistics.median(rates)


def read(name):
    return numpy.fromfile(ROOT / "target/tmp" / f"{name}.f32", "<f4").reshape(-1, DIMENSION)


def exact(rows, queries):
    scores = queries.astype("f8") @ rows.T.astype("f8")
    return [set(row) for row in numpy.argpartition(-scores, K, axis=1)[:, :K].tolist()]


def best(curve):
    return max((rate for _, recall, rate in curve if recall >= LEAST_RECALL), default=0.0)


def main():
    curves = {"noteweft": ours()}
    rows, queries = read("vectors"), read("queries")
    truth = exact(rows, queries)
    for m in MS:
        curves[f"hnswlib {version('hnswlib')}, M {m}"] = list(theirs(m, rows, queries, truth))
    curves["noteweft"] = [min(pair, key=lambda point: point[2]) for pair in zip(curves["noteweft"], ours())]
    print(f"recall@{K} / queries per CPU-second, {len(rows)} rows of {DIMENSION} dimensions\n")
    print("| index | " + " | ".join(f"ef {ef}" for ef in EFS) + f" | best at recall ≥ {LEAST_RECALL} |")
    print("|---" * (len(EFS) + 2) + "|")
    for name, curve in curves.items():
        shown = [point for point in curve if point[0] in EFS]
        cells = " | ".join(f"{recall:.4f} / {rate:,.0f}" for _, recall, rate in shown)
        print(f"| {name} | {cells} | {best(curve):,.0f} |")
    others = max(best(curve) for name, curve in curves.items() if name != "noteweft")
    print(f"\n{best(curves['noteweft']) / others:.2f} × the best of hnswlib")


if __name__ == "__main__":
    main()
