"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Derandomised, so that a run depends on the code alone; what breaks a property becomes a test of its own.
settings.register_profile(
    "kinsplit",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("kinsplit")
