"""The paper's eight tasks in Gymnasium's two versions: the numbers of their specifications."""

from mixedne.tasks.mujoco_tasks import (
    Ant,
    Humanoid,
    InvertedPendulum,
    Planar,
    Reacher,
    Runner,
    TaskSpec,
)

VERSIONS = ("v4", "v5")
"""Of Gymnasium's MuJoCo tasks."""


def _task_specs(*, v4: bool) -> dict[str, TaskSpec]:
    """By task, in the paper's order."""
    return {
        "Walker2d": Planar(
            reset_noise=5e-3,
            skipped=1,
            clip_velocity=True,
            control_cost=1e-3,
            pays_last_step=v4,
            lowest=0.8,
            highest=2.0,
            most_lean=1.0,
        ),
        "Hopper": Planar(
            reset_noise=5e-3,
            skipped=1,
            clip_velocity=True,
            control_cost=1e-3,
            pays_last_step=v4,
            lowest=0.7,
            most_lean=0.2,
            state_limit=100.0,
        ),
        "HalfCheetah": Runner(reset_noise=0.1, normal_velocity=True, skipped=1, control_cost=0.1),
        "Ant": Ant(
            reset_noise=0.1,
            normal_velocity=True,
            skipped=2,
            fields=("xpos",) if v4 else ("xpos", "cfrc_ext"),
            control_cost=0.5,
            pays_last_step=v4,
            contact_cost=0.0 if v4 else 5e-4,
        ),
        "Swimmer": Runner(reset_noise=0.1, skipped=2, control_cost=1e-4),
        "Reacher": Reacher(reset_noise=0.1, fields=("xpos",), late=v4, observed=3 if v4 else 2),
        "Humanoid": Humanoid(
            reset_noise=1e-2,
            skipped=2,
            fields=("xipos", "cinert", "cvel", "qfrc_actuator", "cfrc_ext"),
            forward_reward=1.25,
            healthy_reward=5.0,
            control_cost=0.1,
            pays_last_step=v4,
            contact_cost=0.0 if v4 else 5e-7,
            first_body=0 if v4 else 1,
            first_dof=0 if v4 else 6,
        ),
        "InvertedPendulum": InvertedPendulum(reset_noise=0.01, pays_last_step=v4),
    }


TASK_SPECS = {
    (name, version): spec
    for version in VERSIONS
    for name, spec in _task_specs(v4=version == "v4").items()
}
"""By task and version."""
