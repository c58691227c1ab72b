"""A little of every family of faults, with fixed seeds; and that failures are seen."""

import json
from pathlib import Path
from random import Random

import pytest

from chaos import damage
from chaos.damage import Damage
from chaos.families import FAMILIES
from chaos.suite import UNFINISHED, Family, Result, as_table, run_family
from mixedne.policies import Policy, load_policy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # the commands turn warnings into notes
]

FEW = {
    **{"kills": 2, "study-kills": 1, "damage": 48, "hostile": 27},
    **{"full-disk": 9, "writers": 5, "environments": 24},
}


@pytest.mark.parametrize("name", list(FAMILIES))
def test_all_is_survived(name: str, tmp_path: Path) -> None:
    result = run_family(FAMILIES[name], 1, range(FEW[name]), tmp_path / name)
    assert result.tried == FEW[name]
    assert not result.failures, "\n\n".join(result.failures)


def test_a_loader_that_looks_at_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the digest's check gone, a flipped bit of the weights is loaded in silence."""

    def careless(path: Path) -> Policy:
        described = path / "policy.json"
        document = json.loads(described.read_text())
        del document["safetensors_sha256"], document["sha256"]
        described.write_text(json.dumps(document))
        return load_policy(path)

    def flip_weight(path: Path, chance: Random) -> None:
        weights = path.parent / "policy.safetensors"
        if weights.exists():
            content = bytearray(weights.read_bytes())
            content[-2] ^= 1  # of the last number
            weights.write_bytes(content)

    monkeypatch.setattr(damage, "load_policy", careless)
    monkeypatch.setattr(damage, "DAMAGES", (flip_weight,))
    monkeypatch.setattr(
        damage, "READERS", {"load_policy (finished, interrupted, study)": damage.read_policy}
    )
    monkeypatch.setattr(damage, "files_in", lambda folder: [folder / "policy.safetensors"])
    result = run_family(Damage, 0, [0], tmp_path / "damage")
    [failure] = result.failures
    assert failure.startswith("--seed 0 --only damage --number 0\n")
    assert "flip_weight of policy.safetensors of finished, then load_policy" in failure
    assert "another result in silence" in failure
    assert "| damage | 1 | 0 | 0 | 1 |" in as_table([result])


class Tripping(Family):
    """Survives twice, of which one is unfinished, and then trips."""

    name, attempts = "tripping", 3

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        self.doing = f"attempt {number}"
        if number == 2:
            raise RuntimeError("tripped")
        return (UNFINISHED, "survived")[number]


def test_what_an_attempt_raises_is_a_failure(tmp_path: Path) -> None:
    result = run_family(Tripping, 5, range(3), tmp_path / "work")
    [failure] = result.failures
    assert failure.startswith("--seed 5 --only tripping --number 2\nattempt 2\nTraceback")
    assert failure.endswith("RuntimeError: tripped")
    assert "| tripping | 3 | 1 | 1 | 1 | 0 | 1 survived |" in as_table([result])
    assert not (tmp_path / "work").exists()


def test_no_family_no_row() -> None:
    assert as_table([]).count("\n") == 2
    assert "| nothing | 0 | 0 | 0 | 0 |" in as_table([Result("nothing")])
