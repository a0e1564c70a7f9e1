"""Error curves made up: every state, ends that lie close together."""

from __future__ import annotations

from slide_gui.error_rate import ErrorRate
from slide_gui.gui.pages.curves.points import ErrorPoint, State


def points(depths: int = 5) -> list[ErrorPoint]:
    """Return points at noise 0 to 0.9 by 0.1 and depths 0 to `depths` − 1, per cent, drawn from a formula."""
    found = []
    for depth in range(depths):
        for step in range(10):
            noise = step / 10
            error = 2.1 + 0.02 * depth if depth == 0 else 2.1 - 1.9 * noise * (1 - 0.75 * noise) * (1 - 0.45**depth)
            error += 2.2 * noise**8 * (depth > 0) * (1.0 + 0.12 * depth)
            state: State = "done"
            n, note = 50_000, "σ 2.1, 3.4, 5.0"
            if depth == depths - 1 and step in (6, 7):
                state, n, note = ("refining", 4_000, "") if step == 6 else ("running", 1_000, "")
            if depth == depths - 1 and step > 7:
                continue
            rate = ErrorRate.of_run(error / 100, n)
            found.append(ErrorPoint(noise, depth, rate, f"{noise}/{depth}", state, note))
    found.append(ErrorPoint(0.8, depths - 1, None, f"0.8/{depths - 1}", "running"))
    return found
