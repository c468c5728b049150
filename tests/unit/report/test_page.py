"""The page of a run: what it says, and that nothing in it acts."""

import json
from html.parser import HTMLParser

import pytest

from askfirst import ledger
from askfirst.errors import InputError
from askfirst.report import browser as browsing
from askfirst.report.page import packed_plotly, write_report
from askfirst.report.picture import intervals, sentence
from askfirst.store import read_json, write_lines

EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> & {{ 7 * 7 }} \u2028 <b>bold</b>'


class Elements(HTMLParser):
    """Counts elements and keeps the text of scripts by their id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.scripts: dict[str, str] = {}
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.inside = (dict(attrs).get("id") or "main") if tag == "script" else ""

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data


def test_the_first_screen_says_the_verdict_the_bounds_and_what_was_opened(recorded):
    run = recorded()
    page = write_report(run.root).read_text()
    first = page[: page.index('<section id="gates">')]
    assert "1 of 3 rules of the plan hold on the sealed split, opened once" in first
    assert "<b>ambiguous pass</b> 100% [83%, 100%], asked: above 22%" in first
    assert first.count('class="interval"') == 3
    for words in ("no deviation from the frozen plan", "sealed split opened once", "1 gate passed", "INCONCLUSIVE"):
        assert words in first
    assert "reused_holdout" not in first
    assert ledger.verify(run).intact


def test_another_opening_and_a_deviation_are_on_the_first_screen(recorded):
    run = recorded()
    ledger.append(run.ledger, {"event": "sealed_opened", "number": 2, "checkpoint": "c", "opened_at": "2030"})
    change = {"what": "plan.train.lr", "before": 1, "after": 2}
    ledger.append(
        run.ledger, {"event": "deviation", "recorded_at": "2030", "who": "w", "why": EVIL, "changes": [change]}
    )
    run.verdict.write_text(run.verdict.read_text().replace('"opened_once"', '"reused_holdout"'))
    page = write_report(run.root).read_text()
    first = page[: page.index('<section id="gates">')]
    for words in ("reused_holdout", "opened 2 times", "1 deviation from the frozen plan", "plan.train.lr: 1 → 2"):
        assert words in first


def test_what_a_model_says_is_text_wherever_it_stands(recorded):
    run = recorded(says=EVIL, sets=(f"title={json.dumps(EVIL)}", f"hypothesis={json.dumps(EVIL)}"))
    folder = run.variant("anchored", 0)
    lines = [json.loads(line) for line in folder.best_rollouts.read_text().split("\n")[:-1]]
    for line in lines:
        line |= {"request": EVIL, "family": EVIL}
        line["score"] |= {"failures": [EVIL], "terms": {EVIL: 0.0}}
    write_lines(folder.best_rollouts, lines)
    page = write_report(run.root).read_text()
    found = Elements(page)
    assert found.tags.count("script") == (3 if packed_plotly() else 2)
    assert "img" not in found.tags
    assert found.handlers == []
    data = json.loads(found.scripts["data"])
    entry = next(e for e in data["rollouts"]["entries"] if e["source"] == "anchored/seed-0")
    assert entry["request"] == entry["family"] == entry["sides"][0]["turns"][0][1] == EVIL
    assert "innerHTML" not in page.replace(packed_plotly() or "\0", "")


def test_the_page_asks_nobody_for_anything(recorded):
    page = write_report(recorded().root).read_text()
    assert "default-src 'none'" in page
    bare = page.replace(packed_plotly() or "\0", "")
    assert "src=" not in bare
    assert "http://" not in bare.replace("http://www.w3.org", "")
    assert "https://" not in bare
    assert len(page) < 6_000_000


def test_every_rollout_of_a_small_run_is_there_with_its_logprobs_and_sealed_pairs(recorded):
    found = browsing.browser(recorded())
    assert found["of"] == len(found["entries"]) == 4 * 4 + 40
    assert not found["sampled"]
    trained = next(e for e in found["entries"] if e["source"] == "free/seed-1")
    assert trained["logprobs"] == [-50, -200]
    sealed = [e for e in found["entries"] if e["id"] == "sealed/item-00"]
    assert [(e["outcome"], [s["name"] for s in e["sides"]]) for e in sealed] == [("win", ["before training", "after"])]


def test_of_many_rollouts_an_even_sample_is_shown_and_said_to_be_one(recorded):
    run = recorded()
    folder = run.variant("free", 1)
    base = json.loads(folder.best_rollouts.read_text().splitlines()[0])
    many = [{**base, "scenario": f"m-{i}", "family": "rare" if i == 4321 else "common"} for i in range(5000)]
    write_lines(folder.last_rollouts, many)
    found = browsing.browser(run)
    assert found["sampled"]
    assert found["of"] == 5000 + 56
    assert len(found["entries"]) == browsing.MOST_SHOWN
    families = [e["family"] for e in found["entries"]]
    assert "rare" in families
    assert {e["source"] for e in found["entries"]} >= {"anchored/seed-0", "free/seed-1", "sealed: before and after"}
    assert browsing.browser(run) == found
    page = write_report(run.root).read_text()
    assert f"{browsing.MOST_SHOWN} of 5056 rollouts, an even sample" in page
    assert len(page) < 6_000_000


def test_long_texts_do_not_make_the_page_large(recorded):
    run = recorded(says="long " * 5000)
    found = browsing.browser(run)
    assert "more characters are in the record" in found["entries"][0]["sides"][0]["turns"][0][1]
    assert len(json.dumps(found)) < browsing.MOST_BYTES


@pytest.mark.parametrize("line", ['{"step": 1}', '"text"', '{"step": "x", "scenario": "s", "score": {}}', "{"])
def test_a_line_that_is_no_rollout_is_named_by_file_and_number(recorded, line):
    run = recorded()
    path = run.variant("free", 0).last_rollouts
    path.write_text(f"{run.variant('free', 0).best_rollouts.read_text().splitlines()[0]}\n{line}\n")
    with pytest.raises(InputError) as caught:
        browsing.browser(run)
    assert f"{path}:2" in str(caught.value)


def test_without_plotly_the_plots_are_pictures(recorded, monkeypatch):
    monkeypatch.setattr("askfirst.report.page.packed_plotly", lambda: "")
    page = write_report(recorded().root).read_text()
    assert 'id="plotly"' not in page
    assert page.count("<svg") > 10
    assert "with the extra <code>report</code> installed" in page


def test_a_picture_has_interval_and_bound_in_one_scale(recorded):
    run = recorded()
    plan, verdict = read_json(run.lock)["plan"], read_json(run.verdict)
    above, kept = intervals(plan, verdict)[:2]
    assert above["bound_at"] == 220
    assert above["zero_at"] is None
    assert above["lower_at"] == pytest.approx(1000 * verdict["rules"][0]["lower"], abs=0.1)
    assert kept["zero_at"] == 500
    assert kept["lower_at"] < kept["bound_at"] < 500 < kept["upper_at"] <= 1000
    assert intervals(plan, None) == []


ON = "on the sealed split, opened once"


@pytest.mark.parametrize(
    ("holds", "decision", "words"),
    [
        ([True], "SHIP", f"The rule of the plan holds {ON}."),
        ([True, True], "SHIP", f"All 2 rules of the plan hold {ON}."),
        ([True, False], "DISCARD", f"1 of 2 rules of the plan hold {ON}; b c is refuted, or left open."),
        ([False, False], "INCONCLUSIVE", f"0 of 2 rules of the plan hold {ON}; a and b c are left open by the data."),
    ],
)
def test_the_verdict_is_one_sentence(holds, decision, words):
    rules = [{"metric": name, "holds": each} for name, each in zip(("a", "b_c"), holds, strict=False)]
    assert sentence({"rules": rules, "decision": decision, "reason": "r"}, 1) == words


def test_a_run_without_a_verdict_says_so():
    assert sentence(None, 0) == "The run is not finished."
    assert sentence({"rules": [], "reason": "nothing passed"}, 0) == "nothing passed; the sealed split was not opened."


@pytest.mark.parametrize(
    ("rule", "asked", "bound"),
    [
        ("{ noninferior_to = 'base', mode = 'no_item_regression' }", "no item worse than at base", 0.0),
        (
            "{ noninferior_to = 'base', margin = 0.3, mode = 'regression_rate_upper' }",
            "fewer than 30% of items worse than at base",
            300.0,
        ),
    ],
)
def test_rules_about_items_that_get_worse_are_shares(recorded, rule, asked, bound):
    run = recorded(after=lambda i: i % 4 != 3, sets=(f"ship={{ destructive_pass = {rule} }}",))
    (found,) = intervals(read_json(run.lock)["plan"], read_json(run.verdict))
    assert (found["asked"], found["bound_at"], found["zero_at"]) == (asked, bound, None)
    assert (found["estimate"], found["holds"]) == (1.0, False)
    assert found["words"].startswith("100% [")
