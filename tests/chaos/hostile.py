"""Files made to break their readers, with digests that fit wherever that is possible.

Nobody promises a result here. Survived is any answer in time but a traceback.
"""

import hashlib
import io
import json
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from chaos import subjects
from chaos.damage import flip_bit, truncate, zero_block
from chaos.suite import Family, command
from mixedne.errors import InvalidInputError, parse_json
from mixedne.evaluation.table import _sealed
from mixedne.files import write_json
from mixedne.metrics import format_line
from mixedne.policies import load_policy
from probes.studies import EVALUATIONS, TINY

DEADLINE = 60.0
"""Seconds within which every reader has answered; each takes about one."""

ABSURD = (
    *("null", "true", "-1", "0", "0.5", "1e308", "-1e308", "1e999", "NaN", "-Infinity", "[]"),
    *("{}", '""', '"x"', f'"{"x" * 10**5}"', '"\\ud800"', '"\\u0000"', '"../../x"', "[[1]]"),
    *("9" * 5000, str(2**63), str(2**31), "[" * 500 + "]" * 500, "[" * 10**5 + "]" * 10**5),
    *('{"a":' * 10**5 + "1" + "}" * 10**5, f"[{'8, ' * 10**6}8]", '[1e400, "NaN"]', "1" * 400),
)
"""Texts that JSON readers meet; most of them are JSON."""

ABSURD_TOML = (
    *("-1", "0", "1e308", "nan", "inf", '"x"', "[]", "[[]]", "{}", "true", "9" * 30, "9" * 5000),
    *("[" * 500 + "]" * 500, "[" * 10**5 + "]" * 10**5, '"' + "x" * 10**5 + '"', "1979-05-27"),
    *(f"[{'1, ' * 10**5}1]", "{ first = 0, count = 1000000000 }", '["../x:y"]', '"""', "\x00"),
)


def spoil_json(path: Path, chance: Random) -> str:
    """Put something absurd into a JSON file, with the digest of the new content."""
    document = json.loads(path.read_bytes())
    document.pop("sha256", None)
    name, text = chance.choice([*document, "another"]), chance.choice(ABSURD)
    document[name] = "PLACE"
    content = json.dumps(document).replace('"PLACE"', text)
    if chance.random() < 0.1:
        name, content = "everything", text
    try:
        write_json(path, parse_json(content))
    except (ValueError, TypeError):  # what cannot be parsed has no digest
        path.write_text(content, errors="surrogatepass")
    return f"{name} = {text[:40]}"


def spoil_metrics(path: Path, chance: Random) -> str:
    """Put something absurd into a line, with checksums that fit."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    name = chance.choice(list(lines[0]))
    values: tuple[Any, ...] = (None, True, -1, 10**300, 1e308, "x" * 10**5, [], {}, [[1]], "\ud800")
    value = chance.choice(values)
    lines[chance.randrange(len(lines))][name] = value
    checksum, content = 0, ""
    for line in lines:
        line.pop("crc32", None)
        text, checksum = format_line(line, checksum)
        content += text
    path.write_text(content)
    return f"{name} = {str(value)[:40]}"


def spoil_weights(path: Path, chance: Random) -> str:
    """Alter the header of a safetensors file, or its numbers, and let the digest fit."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    header.pop("__metadata__", None)
    name = chance.choice(list(header))
    part = chance.choice(("shape", "dtype", "data_offsets", "name", "body", "size"))
    if part in ("shape", "data_offsets"):
        header[name][part] = [chance.choice((0, -1, 1, 7, 2**40, 2**63, 2**64 - 1)) for _ in "ab"]
    elif part == "dtype":
        header[name][part] = chance.choice(("F64", "BF16", "I8", "F8_E4M3", "X", None, 3))
    elif part == "name":
        header[chance.choice(("x", "../x", "x" * 10**5, ""))] = header.pop(name)
    elif part == "body":
        spoilt = struct.pack("<f", chance.choice((float("nan"), float("inf"), 3e38, -3e38)))
        place = chance.randrange(len(body) // 4) * 4
        body = body[:place] + spoilt + body[place + 4 :]
    text = json.dumps(header).encode()
    said = chance.choice((0, 2**63, 2**64 - 1, len(text) + 1)) if part == "size" else len(text)
    path.write_bytes(struct.pack("<Q", said) + text + body)
    _fit_digest(path)
    return f"{part} of {name}"


def _fit_digest(path: Path) -> None:
    described = path.with_suffix(".json")
    document = json.loads(described.read_text())
    document.pop("sha256")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    write_json(described, {**document, "safetensors_sha256": digest})


def spoil_table(path: Path, chance: Random) -> str:
    """Damage a Parquet file in a few places, and let its checksum fit."""
    count = chance.randint(1, 4)
    for _ in range(count):
        chance.choice((flip_bit, flip_bit, zero_block, truncate))(path, chance)
    path.write_bytes(_sealed(path.read_bytes()))
    return f"{count} damages"


def write_toml(path: Path, chance: Random) -> str:
    lines = (TINY.format(solvers='"gad"', seeds=2, steps=100) + EVALUATIONS).splitlines()
    places = [number for number, line in enumerate(lines) if "=" in line]
    place, value = chance.choice(places), chance.choice(ABSURD_TOML)
    name = chance.choice((lines[place].split("=")[0], "x", "a.b.c"))
    lines[place] = f"{name} = {value}"
    path.write_text("\n".join(lines))
    return f"{name} = {value[:40]}"


def write_zip(path: Path, chance: Random) -> str:
    """A file as Stable-Baselines3 writes them, without a pickle, and damaged."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", chance.choice(ABSURD).encode(errors="surrogatepass"))
        archive.writestr("policy.pth", chance.randbytes(100) + bytes(10**7))
        archive.writestr("_stable_baselines3_version", "2.5.0")
    path.write_bytes(content.getvalue())
    if chance.random() < 0.5:
        chance.choice((flip_bit, truncate, zero_block))(path, chance)
        return "damaged"
    return "absurd data"


SPOILERS: dict[str, Callable[[Path, Random], str]] = {
    **dict.fromkeys(("policy.json", "config.json", "finished.json", "plan"), spoil_json),
    "policy.safetensors": spoil_weights,
    "evaluation.parquet": spoil_table,
    "metrics.jsonl": spoil_metrics,
    "mine.toml": write_toml,
    "model.zip": write_zip,
}


class Hostile(Family):
    """Policies, tables, configurations, plans, studies and archives that a stranger might send."""

    name, attempts = "hostile", 400

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        subjects.make_study(folder / "mine.toml", folder / "study")

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        kind = list(SPOILERS)[number % len(SPOILERS)]
        study = subjects.fresh_copy(self.folder / "study", work / "subject")
        run = next((study / "runs").iterdir())
        places = {"plan": study / "studies" / "mine.json"}
        places |= {name: work / name for name in ("mine.toml", "model.zip")}
        path = places.get(kind, run / kind)
        self.doing = f"{kind}: {SPOILERS[kind](path, chance)}"
        grid = ("--mass", "1", "--episodes", "1", "--threads", "1")
        readers: list[tuple[str | Path, ...]] = [
            ("evaluate", run, *grid, "--out", work / "table.parquet"),
            ("evaluate", run, *grid),
            ("report", study, "--out", work / "page.html"),
            ("study", self.folder / "mine.toml", "--out", study, "--dry-run", "--reference-costs"),
        ]
        if kind == "mine.toml":
            readers = [("study", path, "--dry-run", "--reference-costs")]
        if kind == "model.zip":
            readers = [
                ("evaluate", path, "--task", "InvertedPendulum-v5", *grid, *trust)
                for trust in ((), ("--trust-pickle",))
            ]
        refused = False
        before = self.doing
        for reader in readers:
            self.doing = f"{before}, then {' '.join(map(str, reader[:1]))}"
            started = time.monotonic()
            refused |= command(*reader).is_refusal(2)
            seconds = time.monotonic() - started
            assert seconds < DEADLINE, f"it took {seconds:.0f} s"
        if kind.startswith("policy"):
            try:
                load_policy(run)
            except InvalidInputError:
                refused = True
        self.counts[kind] += 1
        return "refused" if refused else "read"
