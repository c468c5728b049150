"""A small experiment in the published format: two seeds of a loss on 40 items with eight trials each."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def spec() -> dict[str, Any]:
    tolerance = {"atol": 1e-4, "rtol": 1e-3}
    cosine = tolerance | {"min_cosine": 0.99}
    optimizer = {"learning_rate": 1e-4, "lora_rank": 8, "seed": 3}
    return {
        "title": "Softer clipping on cups",
        "hypothesis": "It asks more often when it should",
        "method": "both arms train a LoRA",
        "baseline": "the same without it",
        "success_criterion": "the lower bound lies above the margin",
        "command": "train, then evaluate",
        "preflight": {"probe": "one step"},
        "spec_preflight": {"status": "passed", "findings": []},
        "arms": [
            {"name": "hard", "advantage": "group mean", "lr": 1e-4, "seed": 3},
            {"name": "soft", "advantage": "softened", "lr": 1e-4, "seed": 3},
        ],
        "base_model": "cup-1B",
        "training_type": "rl",
        "lora_rank": 8,
        "batch_size": 16,
        "max_seq_len": 512,
        "steps": 10,
        "optimizer": {"name": "adam", "lr": 1e-4},
        "dataset": {"name": "cups", "hf_path": None, "split": "train", "n_examples": 400},
        "eval": {"benchmark": "cups test", "metric": "cups_pass1", "n_examples": 40, "aggregation": None},
        "primary_endpoint": "cups_pass1",
        "decision_rule": {
            "version": 1,
            "method": "paired_hoeffding",
            "unit": "fixed_checkpoint_items",
            "alpha": 0.05,
            "seeds": [3],
            "trials": 8,
            "estimand": "mean difference",
            "criteria": [
                {
                    "id": "primary",
                    "metric": "cups_pass1",
                    "bounds": [0, 1],
                    "margin": -0.05,
                    "weights": {"treatment": 1, "baseline": -1},
                }
            ],
        },
        "activation_gate": {
            "applicable": True,
            "reason": "the arms must differ",
            "checks": [
                {"metric": "executed_loss", "measures": "the name", "one_of": ["soft_clip"]},
                {"metric": "clipped", "measures": "a share", "min": 0.1, "max": 0.9},
            ],
        },
        "correctness_preflight": {
            "required": True,
            "status": "pinned",
            "paths": [
                {
                    "id": "soft_clip",
                    "kind": "loss",
                    "baseline_revision": "aaa111",
                    "reference_revision": "bbb222",
                    "tolerances": {
                        "baseline_loss": tolerance,
                        "baseline_gradient": cosine,
                        "reference_loss": tolerance,
                        "reference_gradient": cosine,
                    },
                }
            ],
        },
        "restoration_preflight": {
            "applicable": True,
            "fixed_batch_required": True,
            "reason": "they start alike",
            "groups": [
                {"arms": [{"name": n, "optimizer": "adam", "optimizer_config": optimizer} for n in ("hard", "soft")]}
            ],
        },
        "generation_audit": {
            "required": False,
            "answer_comparison": "exact",
            "min_sample_size": 100,
            "max_label_errors": 0,
            "max_eval_overlaps": 0,
        },
        "experiment_features": {
            "adaptive_selection": False,
            "checkpoint_restore": False,
            "custom_loss": True,
            "custom_optimizer": False,
            "generated_training_data": False,
            "heldout_loss": False,
            "learned_generator": False,
            "paired_comparison": True,
            "paired_training_arms": True,
            "warmup_adaptation": False,
        },
        "budget": {"gpu_hours": 1.0, "max_wall_minutes": 30},
        "feasibility": None,
        "feasibility_required": True,
        "feasibility_check": {"status": "unknown"},
    }


@pytest.fixture
def evidence() -> dict[str, Any]:
    """Evidence with which every check passes and the rule says validated."""
    measured = {"max_abs_error": 1e-5, "reference_scale": 1.0, "cosine": 1.0}
    checks = ("baseline_loss", "baseline_gradient", "reference_loss", "reference_gradient")
    optimizer = {"learning_rate": 1e-4, "lora_rank": 8, "seed": 3}
    start = {
        "adapter_sha256": "ab",
        "batch_sha256": "cd",
        "logprobs": [-1.5, -0.25],
        "optimizer": "adam",
        "optimizer_config": optimizer,
    }
    return {
        "ended_reason": "completed",
        "correctness": {
            "soft_clip": {
                "fixed_input": "16 rows, sha256 ef",
                "reference_revision": "bbb222",
                "baseline_revision": "aaa111",
                "implementation_revision": "ccc333",
                "precision": "float32",
                "normalization": "token mean",
                "measured": dict.fromkeys(checks, measured),
            }
        },
        "initialization_provenance": {"version": 1, "arms": [start | {"name": n} for n in ("hard", "soft")]},
        "activation": {"executed_loss": "soft_clip", "clipped": 0.4},
        "decision": {
            "cups_pass1": [
                {"item": f"cup-{i}", "treatment": [1] * 6 + [0] * 2, "baseline": [1] * 4 + [0] * 4} for i in range(40)
            ]
        },
        "phases": {"train": {"wall_seconds": 600, "gpu_hours": 0.3}, "eval": {"wall_seconds": 60, "gpu_hours": 0.1}},
    }
