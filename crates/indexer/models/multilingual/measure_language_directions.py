"""measure_language_directions.py MODEL.onnx TOKENIZER.json UDHR2.zip TLDR.git OUT : the directions in which languages differ.

Reads texts of one content in many languages: the Universal Declaration of Human Rights (udhr2 of nltk_data, public domain)
and the pages of tldr (github.com/tldr-pages/tldr, CC BY 4.0; only prose, no commands).
For each collection and role, the mean vector of a language is taken relative to the mean of all languages, after the mean of each page is removed.
The first N_DIRECTIONS singular vectors of the languages' means are written as rows of little-endian float32.
Needs numpy, onnxruntime and tokenizers; one thread, so that two runs give the same bytes.
"""
import collections, hashlib, io, re, subprocess, sys, zipfile
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer

N_DIRECTIONS = 14
PARAGRAPHS = 32  # of the declaration, per language
PAGES = 60  # of tldr, per language
# Names in udhr2, and in tldr where it has enough pages.
LANGUAGES = {
    "eng": "en", "deu": "de", "fra": "fr", "spa": "es", "ita": "it", "por_BR": "pt_BR", "nld": "nl", "pol": "pl",
    "cat": "ca", "ron": "ro", "rus": "ru", "ukr": "uk", "tur": "tr", "arb": "ar", "pes_1": "fa", "hin": "hi",
    "ben": "bn", "tam": "ta", "ind": "id", "cmn_hans": "zh", "cmn_hant": "zh_TW", "jpn": "ja", "kor": "ko",
    "swe": None, "dan": None, "nob": None, "fin": None, "ces": None, "slk": None, "hrv": None, "hun": None,
    "bul": None, "ell_monotonic": None, "heb": None, "tha": None, "vie": None, "est": None, "lit": None,
    "swh": None, "tgl": None, "kat": None,
}


class Encoder:
    def __init__(self, model, tokenizer):
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def __call__(self, text):
        ids = np.array([self.tokenizer.encode(text).ids], np.int64)
        rows = self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        mean = rows.astype(np.float64).mean(0)
        return mean / np.linalg.norm(mean)


def declaration(path):
    """Yields (language, paragraph number, text)."""
    archive = zipfile.ZipFile(path)
    for name in LANGUAGES:
        lines = io.TextIOWrapper(archive.open(f"udhr2/{name}.txt"), encoding="utf8")
        lines = (re.sub(r"\s+", " ", line).strip() for line in lines)
        # Headings such as "Article 3" are short in every language.
        least = 15 if name[:3] in ("cmn", "jpn", "kor") else 45
        for at, text in enumerate([line for line in lines if len(line) >= least][::2][:PARAGRAPHS]):
            yield name, at, text


def tldr(path):
    """Yields (language, page, text)."""
    git = lambda *args: subprocess.run(["git", "-C", path, *args], capture_output=True, check=True).stdout.decode()
    folder = lambda short: "pages" if short == "en" else f"pages.{short}"
    shorts = {name: short for name, short in LANGUAGES.items() if short}
    pages = {n: {p.split("/", 1)[1] for p in git("ls-tree", "-r", "--name-only", "HEAD", folder(s)).split()} for n, s in shorts.items()}
    counts = collections.Counter(page for own in pages.values() for page in own)
    is_example = re.compile(r"^- ", re.M)
    common = []
    for page, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if count >= 6 and page in pages["eng"]:
            # Pages with fewer examples are aliases.
            if len(is_example.findall(git("show", f"HEAD:pages/{page}"))) >= 3:
                common.append(page)
    for name, short in shorts.items():
        for page in [page for page in common if page in pages[name]][:PAGES]:
            text = git("show", f"HEAD:{folder(short)}/{page}")
            lines = [line[2:] for line in text.split("\n") if line.startswith(("> ", "- ")) and "<http" not in line and "`" not in line]
            yield name, page, re.sub(r"[\[\]{}]", "", " ".join(line.rstrip(":： ") for line in lines))


def language_means(items, encode):
    """Returns the mean vector of each language after that of each page is removed, by alternating averages."""
    vectors = [(language, page, encode(text)) for language, page, text in items]
    of_language, of_page = collections.defaultdict(list), collections.defaultdict(list)
    for at, (language, page, _) in enumerate(vectors):
        of_language[language].append(at)
        of_page[page].append(at)
    rows = np.array([vector for _, _, vector in vectors])
    language_part = np.zeros_like(rows)
    for _ in range(10):
        page_part = np.zeros_like(rows)
        for places in of_page.values():
            page_part[places] = (rows - language_part)[places].mean(0)
        for places in of_language.values():
            language_part[places] = (rows - page_part)[places].mean(0)
    means = {language: language_part[places[0]] for language, places in of_language.items()}
    # Relative to the languages of both collections, so that the collections can be averaged.
    center = np.mean([means[name] for name, short in LANGUAGES.items() if short], axis=0)
    return {language: mean - center for language, mean in means.items()}


def main():
    model, tokenizer, udhr, pages, out = sys.argv[1:]
    encoder = Encoder(model, tokenizer)
    groups = []
    for items in (list(declaration(udhr)), list(tldr(pages))):
        print(len(items), "texts,", len({language for language, _, _ in items}), "languages", flush=True)
        for prefix in ("query: ", "passage: "):
            groups.append(language_means(items, lambda text: encoder(prefix + text)))
    means = np.array([np.mean([group[name] for group in groups if name in group], axis=0) for name in LANGUAGES])
    _, strengths, directions = np.linalg.svd(means - means.mean(0), full_matrices=False)
    print("singular values", np.round(strengths, 3))
    rows = directions[:N_DIRECTIONS]
    # The sign of a singular vector is arbitrary: its largest component is positive.
    rows = rows * np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(1)])[:, None]
    data = rows.astype("<f4").tobytes()
    open(out, "wb").write(data)
    print(hashlib.sha256(data).hexdigest())


main()
