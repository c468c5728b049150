"""What a watcher sees of a run, whatever the moment: before its gates, half written, under way, finished."""

import io
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from rich.console import Console
from tests.unit.conftest import LONG, step_line

from askfirst.cli import main, watching
from askfirst.errors import InputError
from askfirst.report.live import POINTS, Curve, Watched, _curve
from askfirst.report.live_page import server
from askfirst.report.terminal import duration, shown, spark
from askfirst.store import append_line, plain, read_json, read_lines, write_json, write_lines, write_text

NOW = 2_000_000_000.0


@pytest.fixture
def begun(recorded):
    """A run of which anchored/seed-0 is finished, anchored/seed-1 trains, and the others have not begun."""
    run = recorded(sets=("train.steps=60", "budget.price_per_hour=36.0"))
    for path in (run.verdict, run.selected, *run.root.glob("*/sealed.json")):
        path.unlink()
    write_json(run.variant("anchored", 0).run, {"version": 1})
    for seed in (0, 1):
        folder = run.variant("free", seed)
        folder.metrics.unlink()
        folder.manifest.unlink()
    return run


def text(frame, width=100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown(frame, width))
    return console.file.getvalue()


def test_a_run_under_way(begun) -> None:
    write_lines(begun.variant("anchored", 1).last_rollouts, [])
    frame = Watched.of(begun.root).frame(NOW)
    assert (frame.phase, frame.finished, frame.decision) == ("training", False, "")
    assert [(v.name, v.state, v.step, v.steps) for v in frame.variants] == [
        ("anchored/seed-0", "finished", 6, 60),
        ("anchored/seed-1", "training", 6, 60),
        ("free/seed-0", "waiting", 0, 60),
        ("free/seed-1", "waiting", 0, 60),
    ]
    # 54 steps of half a second, and two variants of 60 steps, one after the other.
    assert frame.seconds_left == pytest.approx(54 * 0.5 + 2 * 60 * 0.5)
    assert frame.tokens_per_second == pytest.approx(200.0)
    assert frame.cost == pytest.approx(12 * 0.5 / 100)
    assert frame.variants[1].curves[2] == Curve("asks when unclear", True, (0.25,) * LONG, 0.25)
    assert frame.rollout is None
    said = text(frame)
    for words in ("training", "step 12 of 240", "about 1:27 of training left", "200 tokens/s", "cost 0.06", "waits"):
        assert words in said


def test_two_that_train_share_what_is_left(begun) -> None:
    write_lines(begun.variant("free", 0).metrics, [step_line(1, 0)])
    frame = Watched.of(begun.root).frame(NOW)
    assert frame.seconds_left == pytest.approx((54 * 0.5 + 59 * 0.5 + 60 * 0.5) / 2)


def test_a_finished_run_says_what_the_report_says(recorded) -> None:
    run = recorded(says="[red]\x1b[31m one?")
    write_lines(run.variant("free", 1).last_rollouts, read_lines(run.variant("free", 1).best_rollouts))
    frame = Watched.of(run.root).frame(NOW)
    assert (frame.phase, frame.finished, frame.seconds_left) == ("finished", True, None)
    assert frame.decision == read_json(run.verdict)["decision"]
    assert "opened once" in frame.sentence
    said = text(frame)
    assert frame.decision in said
    assert "[red]\\x1b[31m one?" in said  # neither markup nor a control character acts
    assert "last rollout on record, step 6: 1.00, passed" in said


def test_every_phase_has_its_name(begun) -> None:
    watched = Watched.of(begun.root)
    for seed in (0, 1):
        for arm in ("anchored", "free"):
            write_json(begun.variant(arm, seed).run, {"version": 1})
    assert watched.frame(NOW).phase == "selection"
    write_json(begun.selected, {})
    assert watched.frame(NOW).phase == "the sealed split"
    for folder in begun.having("run.json"):
        folder.run.unlink()
        folder.metrics.unlink(missing_ok=True)
    assert watched.frame(NOW).phase == "training"
    (begun.root / "warmstart").mkdir()
    assert watched.frame(NOW).phase == "warm start"
    assert "none" not in text(watched.frame(NOW))
    begun.base_evaluation("dev").unlink()
    assert watched.frame(NOW).phase == "the base model on dev"
    gate = {"name": "habits", "status": "failed", "measured": 0.9, "bound": 0.5, "reason": "guessing pays"}
    write_json(begun.gates, {"version": 1, "results": [gate]})
    assert watched.frame(NOW).phase == "stopped by a gate"
    assert "habits: guessing pays (measured 0.9, bound 0.5)" in text(watched.frame(NOW))
    begun.gates.unlink()
    assert watched.frame(NOW).phase == "gates before training"
    assert watched.frame(NOW).seconds_left is None
    assert "none on record yet" in text(watched.frame(NOW), 60)


def test_what_was_not_committed_is_not_seen_and_what_changes_is(begun) -> None:
    watched, metrics = Watched.of(begun.root), begun.variant("anchored", 1).metrics
    os.utime(metrics, (NOW - 5, NOW - 5))
    assert watched.frame(NOW).quiet_seconds == pytest.approx(5.0)
    with metrics.open("a") as file:
        file.write('{"step": 7, "rew')
    assert watched.frame(NOW).variants[1].step == LONG
    append_line(metrics, step_line(LONG + 1, 1))
    assert watched.frame(NOW).variants[1].step == LONG + 1
    write_lines(metrics, [{"step": 1}])
    with pytest.raises(InputError, match="not the records of a variant: KeyError 'cost'"):
        watched.frame(NOW)


def test_alarms_are_shown_where_they_are(recorded) -> None:
    run = recorded()
    line = step_line(1, 0) | {"monitors": {"over_asking": 0.4}, "alarms": {"over_asking": 0.4}}
    write_lines(run.variant("free", 0).metrics, [line])
    frame = Watched.of(run.root).frame(NOW)
    assert frame.variants[2].alarms == ("over_asking",)
    assert "free/seed-0: over_asking 0.40, allowed ≤ 0.25, 1 of 1 records since step 1" in " ".join(text(frame).split())


def test_curves_are_thinned_and_drawn_within_their_range() -> None:
    records = [{"reward": float(i)} for i in range(1000)]
    curve = _curve("reward", "reward", False, records)
    assert curve is not None
    assert len(curve.points) <= POINTS
    assert (curve.points[0], curve.last) == (8.0, 999.0)
    assert _curve("reward", "gone", False, records) is None
    assert spark(Curve("r", False, (5.0, 6.0, 7.0), 7.0), 8) == "▁▅█"
    assert spark(Curve("s", True, (0.0, 0.5, 1.0), 1.0), 8) == "▁▅█"
    assert spark(Curve("s", True, (0.4, 0.5), 0.5), 8) == "▄▅"
    assert spark(Curve("r", False, (2.0,) * 40, 2.0), 4) == "▄▄▄▄"
    assert (duration(65), duration(7200), duration(0.2)) == ("1:05", "2:00:00", "0:00")


@pytest.fixture
def served(begun) -> Iterator[str]:
    with server(Watched.of(begun.root), 0) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def test_the_page_its_data_and_nothing_else(served, begun) -> None:
    status, page, headers = get(served)
    assert status == 200
    assert "--ink:" in page  # the report's own style
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    status, body, _ = get(f"{served}/frame.json")
    frame = json.loads(body)
    assert frame["phase"] == "training"
    expected = plain(Watched.of(begun.root).frame(time.time()))
    assert frame["variants"] == expected["variants"]
    assert get(f"{served}/plan.lock.json")[0] == get(f"{served}/../plan.lock.json")[0] == 404
    assert get(f"{served}/report.html")[0] == 404
    write_text(begun.report, "the report")
    assert get(f"{served}/report.html")[:2] == (200, "the report")
    assert get(f"{served}/frame.json", Host="evil.example:80")[0] == 403
    write_text(begun.variant("anchored", 1).metrics, "not JSON\n")
    status, body, _ = get(f"{served}/frame.json")
    assert status == 503
    assert "metrics.jsonl:1" in body


def test_a_port_that_is_taken_is_said(served, begun) -> None:
    with pytest.raises(InputError, match="cannot listen"):
        server(Watched.of(begun.root), int(served.rpartition(":")[2]))


def test_the_verb(begun, recorded, capsys, monkeypatch) -> None:
    def said(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["askfirst", "watch", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    assert "step 12 of 240" in said(str(begun.root))  # no terminal: one frame
    assert json.loads(said(str(begun.root), "--once", "--json"))["phase"] == "training"
    assert json.loads(said(str(recorded("done").root), "--json"))["finished"]  # ends with the run
    monkeypatch.setattr("sys.argv", ["askfirst", "watch", str(begun.root / "base")])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "not a run folder" in capsys.readouterr().err


def test_who_watches_sees_the_end_and_leaves_with_ctrl_c(begun, monkeypatch) -> None:
    watched, slept = Watched.of(begun.root), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            write_text(begun.gates, "{")  # caught in the act
        elif len(slept) == 2:
            write_json(begun.gates, {"version": 1, "results": []})
            write_json(begun.verdict, {"decision": "DISCARD", "rules": [], "reason": "nothing was selected"})
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching.time, "sleep", sleep)
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    watching._live(watched, console)
    said = console.file.getvalue()
    assert "not JSON" in said
    assert said.rstrip().splitlines()[-1] != ""
    assert "nothing was selected; the sealed split was not opened." in said.rpartition("training")[2]
    assert len(slept) == 2
    begun.verdict.unlink()
    monkeypatch.setattr(watching, "Console", lambda **_: console)
    watching.watch(begun.root, once=False, as_json=False)  # Ctrl-C at the next look
    assert len(slept) == 3
