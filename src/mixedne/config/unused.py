"""Which fields of a configuration do nothing; reports ask as well, so nothing is imported here."""

_LANGEVIN_ONLY = (
    "sigma0",
    "thermal_decay",
    "inner_growth",
    "inner_max",
    "inner_steps",
    "beta",
    "inner",
)
_RMS_ONLY = ("rms_decay", "rms_epsilon")
_DETERMINISTIC_ONLY = (
    *("sigma", "policy_delay", "critics", "target_noise", "target_noise_clip"),
    *("inner_growth", "inner_max"),
)
_SAC_ONLY = ("initial_temperature", "target_entropy", "entropy_coefficient")
_ACTOR_CRITIC_ONLY = (
    *("critic_layer_norm", "critic_optimizer", "critic_learning_rate", "critic_weight_decay"),
    *("normalise_observations", "tau", "batch_size", "replay_size"),
    *("collect_steps", "updates", "random_steps", "update_after"),
)
_VPG_ONLY = (
    *("inner_steps", "horizon", "trajectories", "normalise_returns", "clip_gradient"),
    *("gamma_weights", "share_factors"),
)


def without_effect(agent: str, solver: str | None) -> dict[str, tuple[str, ...]]:
    """The fields that do nothing for an agent and a solver, by what they would need."""
    return {
        "agent ddpg or td3": () if agent in ("ddpg", "td3") else _DETERMINISTIC_ONLY,
        "agent ddpg, td3 or sac": _ACTOR_CRITIC_ONLY if agent == "vpg" else (),
        "agent sac": () if agent == "sac" else _SAC_ONLY,
        "agent vpg": () if agent == "vpg" else _VPG_ONLY,
        "solver mixedne-ld": () if solver == "mixedne-ld" else _LANGEVIN_ONLY,
        "solver mixedne-ld or gad": _RMS_ONLY if solver in (None, "extra-adam") else (),
    }
