"""What judges say, on the page of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from askfirst.judgement import Judged
from askfirst.report.measuring import judges
from askfirst.report.page import write_report
from askfirst.runfolder import RunFolder
from askfirst.store import read_as, write_json
from askfirst.values import EvalRecord, FrozenMap


def test_what_judges_say_stands_beside_the_oracle(recorded: Callable[..., RunFolder]) -> None:
    run = recorded()
    assert judges(run, []) == []
    path = run.selected_evaluation("sealed")
    judged = (
        Judged("rules@1", 40, 2, FrozenMap({"ungrounded_claims": 0.75}), 0.75, 0.5, 0.25, 0.3),
        Judged("model@1(<b>)", 40, 40, FrozenMap(), None, None, None, 0.0),
    )
    write_json(path, replace(read_as(EvalRecord, path), judged=judged))
    table, unread = judges(run, [])
    assert (table["title"], table["columns"]) == ("rules@1", ["selected, sealed"])
    cells = {row["name"]: row["cells"] for row in table["rows"]}
    assert cells["gap to the oracle"] == ["+0.25"]
    assert cells["ungrounded claims"] == ["0.75"]
    assert cells["unparsable"] == ["2 of 40"]
    assert {row["name"]: row["cells"] for row in unread["rows"]}["mean"] == ["–"]
    page = write_report(run.root).read_text("utf-8")
    assert "gap to the oracle" in page
    assert "model@1(&lt;b&gt;)" in page
