"""All families, by name."""

from chaos.damage import Damage
from chaos.faults import Environments, FullDisk, Writers
from chaos.hostile import Hostile
from chaos.kills import Kills, StudyKills
from chaos.suite import Family

FAMILIES: dict[str, type[Family]] = {
    kind.name: kind
    for kind in (Kills, StudyKills, Damage, Hostile, FullDisk, Writers, Environments)
}
