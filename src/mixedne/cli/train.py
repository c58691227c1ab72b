"""``mixedne train``: train one run."""

import dataclasses
import shlex
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

from mixedne.cli.console import counting, notes_only, print_json
from mixedne.cli.streams import note
from mixedne.compilation import use_compilation_cache
from mixedne.config import FALLBACK, SETTINGS, Config, configure, is_in_tables, unused_fields
from mixedne.config.configure import choose, preset_config, protagonist_task, set_files
from mixedne.config.presets import OWN_AGENTS
from mixedne.errors import InvalidInputError
from mixedne.files import find_modules_here
from mixedne.names import CHOICES, SOLVERS, either


@dataclass(frozen=True)
class Train:
    """Train one agent, with or without an adversary, and write a run folder."""

    config: Config
    out: Annotated[
        Path | None,
        arg(metavar="DIR", help="The run folder; by default runs/NAME, named after the options."),
    ] = None
    resume: Annotated[
        FlagCreatePairsOff[bool],
        arg(help="Continue the run in that folder; without --out, the newest with its name."),
    ] = False
    no_cache: Annotated[
        FlagCreatePairsOff[bool],
        arg(help="Compile from scratch, without the user's cache of compiled programs."),
    ] = False
    protagonist: Annotated[
        str | None,
        arg(
            metavar="NAME",
            help="The agent to train in a pettingzoo:module:factory task; the first by default.",
        ),
    ] = None
    json: Annotated[
        FlagCreatePairsOff[bool],
        arg(help="Print one JSON document: the run folder and the last evaluation."),
    ] = False

    @classmethod
    def parse(cls, arguments: Sequence[str], read: Callable[[type, Sequence[str]], Any]) -> "Train":
        """Parse the arguments; ``read`` fills a dataclass from them."""
        words = [word for word in arguments if word not in ("-h", "--help")]
        values: dict[str, Any] = {}
        for name, value in dataclasses.asdict(read(_options(Config("")), words)).items():
            values |= value if isinstance(value, dict) else {name: value}  # a group, or an option
        options = [word[2:].partition("=")[0] for word in words if word.startswith("--")]
        names = {option.replace("-", "_") for option in options}
        names |= {name.removeprefix("no_") for name in names}
        given = {name: values[name] for name in SETTINGS if name in names and name != "task"}
        find_modules_here(values["task"])
        if values["task"]:
            values["task"] = protagonist_task(values["task"], values["protagonist"])
        agent = given.get("agent") or OWN_AGENTS.get(values["preset"], values["agent"])
        if given.get("solver", "") is None and agent != "sac":
            raise InvalidInputError(f"{agent} needs a solver: {either(tuple(SOLVERS))}")
        if len(words) < len(arguments):
            chosen = {name: value for name, value in given.items() if name in CHOICES}
            task = values["task"]
            default = preset_config(choose(task, **chosen)) if task else Config("")
            read(_options(default), ["--help"])  # ends the program
        if not values["task"]:
            raise InvalidInputError("train needs a task, e.g. mixedne train Hopper-v5")
        config = configure(values["task"], **given)
        if files := set_files(given):
            from mixedne.evaluation.sets import warn_of_sets

            with notes_only():
                warn_of_sets(files, config.task)
        return cls(config, *(values[field.name] for field in dataclasses.fields(cls)[1:]))

    def run(self) -> None:
        """Train, showing progress on stderr, and print the run folder."""
        if not self.no_cache:
            use_compilation_cache()

        from mixedne.metrics import last_evaluation
        from mixedne.training.run import train_config, watching

        config = self.config
        if not is_in_tables(config):
            unused = unused_fields(config.agent, config.solver, config.formulation)
            used = [name for name in FALLBACK[config.agent] if name not in unused]
            note(
                f"the paper's tables have no {config.task} with {config.agent}, {config.solver}, "
                + (config.formulation if config.delta is None else f"delta {config.delta:g}")
                + ": "
                + ", ".join(f"{name} is {getattr(config, name):g}" for name in used)
            )
        try:
            with notes_only(), watching(config, counting) as watch:
                run = train_config(config, out=self.out, resume=self.resume, watch=watch)
        except KeyboardInterrupt as stop:
            done = "stopped and saved" if stop.args else "stopped"
            words = [word for word in sys.argv[1:] if word != "--resume"]
            note(f"{done}; go on with: {shlex.join(['mixedne', *words, '--resume'])}")
            raise
        results = last_evaluation(run.path)
        if self.json:
            print_json({"run": str(run.path), "steps": config.steps, "evaluation": results})
            return
        for result in results:
            mean, deviation = (
                "unknown" if result[name] is None else f"{result[name]:.1f}"
                for name in ("return_mean", "return_std")
            )
            axis = "rho" if "rho" in result else "mass"
            at = f"{axis} {result[axis]:g}"
            if result["step"] != config.steps:
                at += f" after {result['step']:,} of {config.steps:,} steps"
            note(f"return {mean} ± {deviation} at {at} ({result['episodes']} episodes)")
        print(run.path)


def _options(default: Config) -> type:
    """A dataclass of all options with these defaults, grouped by agent, solver and formulation."""
    types = typing.get_type_hints(Config)
    first: list[Any] = []
    groups: dict[str, list[Any]] = {}
    for name, known in SETTINGS.items():
        option = arg(help=known.help, prefix_name=False)
        place = first if name in (*CHOICES, "steps", "seed") else groups.setdefault(known.group, [])
        place.append((name, Annotated[types[name], option], getattr(default, name)))
    task = arg(help=SETTINGS["task"].help, metavar="TASK", help_behavior_hint="(required)")
    first[0] = ("task", Annotated[str | None, Positional, task], default.task or None)
    own = typing.get_type_hints(Train, include_extras=True)
    first += [(f.name, own[f.name], f.default) for f in dataclasses.fields(Train)[1:]]
    for number, (title, fields) in enumerate(groups.items()):
        group: Any = dataclasses.make_dataclass("Group", fields)
        kind = Annotated[group, arg(name=title)]
        first.append((f"group{number}", kind, dataclasses.field(default_factory=group)))
    return dataclasses.make_dataclass("Options", first)
