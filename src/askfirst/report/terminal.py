"""A frame of a run under watch, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from askfirst.reading import visible
from askfirst.report.live import Curve, Frame, Progress

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 16  # of a curve, in characters, at most
ROOMY, FEW = 100, 4  # columns from which on all curves have room, and how many have below
FIXED = 20  # columns for step, time left and dev
ROWS = 12  # variants
MOST = 600  # characters of a message
STYLES = {"SHIP": "green", "DISCARD": "red", "INCONCLUSIVE": "yellow"}


def shown(frame: Frame, width: int) -> RenderableType:
    """The whole frame for a terminal of so many columns."""
    return Group(_head(frame, width), _gates(frame), *_variants(frame, width), *_warnings(frame), *_rollout(frame))


def spark(curve: Curve, width: int) -> str:
    """A curve in one line: shares between 0 and 1, other values between their lowest and highest."""
    size = -(-len(curve.points) // width)
    means = [sum(part) / len(part) for part in (curve.points[i : i + size] for i in range(0, len(curve.points), size))]
    low, high = (0.0, 1.0) if curve.share else (min(means), max(means))
    top = len(BARS) - 1
    places = [top // 2 if high == low else round(top * (value - low) / (high - low)) for value in means]
    return "".join(BARS[min(top, max(0, place))] for place in places)


def duration(seconds: float) -> str:
    """Seconds as a clock shows them: 1:05, or 2:00:00."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def facts(frame: Frame) -> list[str]:
    """What there is to say of the whole run beside its phase, in words."""
    found = [f"step {frame.step} of {frame.steps}"]
    if frame.seconds_left:
        found.append(f"about {duration(frame.seconds_left)} of training left")
    if frame.tokens_per_second:
        found.append(f"{frame.tokens_per_second:,.0f} tokens/s")
    if frame.cost is not None:
        found.append(f"cost {frame.cost:.2f}")
    if not frame.finished:
        found.append(f"last record {duration(frame.quiet_seconds)} ago")
    return found


def _head(frame: Frame, width: int) -> RenderableType:
    phase = Text(frame.decision or frame.phase, style=f"bold {STYLES.get(frame.decision, 'cyan')}")
    rows: list[RenderableType] = [Text(visible(frame.title), style="bold"), phase]
    if frame.finished:
        rows.append(Text(frame.sentence))
    room = max(1, width - 4)  # within the frame
    done = room * frame.step // max(1, frame.steps)
    bar = Text.assemble(("━" * done, "cyan"), ("━" * (room - done), "dim"))
    return Panel(Group(*rows, bar, Text(" · ".join(facts(frame)), style="dim")))


def _gates(frame: Frame) -> RenderableType:
    if not frame.gates:
        return Text("gates  none on record yet", style="dim")
    held = [gate for gate in frame.gates if gate["status"] in ("passed", "not_applicable")]
    words = f"gates  ✓ {len(held)} of {len(frame.gates)} hold: {', '.join(gate['name'] for gate in held)}"
    lines = [Text(visible(words), style="green")]
    for gate in frame.gates:
        if gate not in held:
            words = f"gate   ✗ {gate['name']}: {gate['reason']} (measured {gate['measured']}, bound {gate['bound']})"
            lines.append(Text(visible(words), style="red"))
    return Group(*lines)


def _variants(frame: Frame, width: int) -> Iterator[RenderableType]:
    """A row for each variant, those that train now first; no more than a screen has room for."""
    order = ("training", "finished", "waiting")
    ranked = sorted(frame.variants, key=lambda variant: order.index(variant.state))
    named = dict.fromkeys(curve.name for variant in frame.variants for curve in variant.curves)
    names = list(named)[: len(named) if width >= ROOMY else FEW]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    widest = max(len(variant.name) for variant in frame.variants)
    table.add_column("variant", min_width=min(widest, width // 3), vertical="bottom")
    for head in ("step", "left", *names, "dev"):
        table.add_column(head, vertical="bottom")
    room = min(WIDTH, max(3, (width - widest - FIXED) // max(1, len(names)) - 7))
    for variant in ranked[:ROWS]:
        table.add_row(*_row(variant, names, room))
    yield table
    if len(ranked) > ROWS:
        yield Text(f"and {len(ranked) - ROWS} more variants", style="dim")


def _row(variant: Progress, names: list[str], room: int) -> list[Text]:
    known = {curve.name: curve for curve in variant.curves}
    left = {"finished": "done", "waiting": "waits"}.get(variant.state) or duration(variant.seconds_left or 0.0)
    dev = variant.dev.get("ambiguous_pass")
    words = [visible(variant.name), f"{variant.step}/{variant.steps}", left]
    words += [f"{spark(known[name], room)} {known[name].last:.2f}" if name in known else "–" for name in names]
    cells = [Text(each, no_wrap=True) for each in (*words, "–" if dev is None else f"{dev:.0%}")]
    if variant.alarms:
        cells[0].stylize("red")
    return cells


def _warnings(frame: Frame) -> Iterator[RenderableType]:
    for row in frame.warnings:
        times = f"{row['times']} of {row['of']} records since step {row['first']}"
        words = f"warn   {row['variant']}: {row['monitor']} {row['worst']:.2f}, allowed {row['bounds']}, {times}"
        yield Text(visible(f"{words}: {row['meaning']}"), style="yellow")


def _rollout(frame: Frame) -> Iterator[RenderableType]:
    if frame.rollout is None:
        return
    rollout: Mapping[str, Any] = frame.rollout
    said = [("request", rollout["request"]), *((turn["role"], turn["content"]) for turn in rollout["dialogue"])]
    text = Text("\n").join(
        Text.assemble((f"{role}: ", "dim"), visible(" ".join(str(words).split())[:MOST])) for role, words in said
    )
    score = rollout["score"]
    verdict = "passed" if score["passed"] else ", ".join(score["failures"]) or "failed"
    title = f"last rollout on record, step {rollout['step']}: {score['total']:.2f}, {verdict}"
    yield Panel(text, title=Text(visible(title)), title_align="left")
