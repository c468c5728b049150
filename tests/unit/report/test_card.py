"""The model card of a run."""

import pytest

from askfirst import ledger
from askfirst.errors import GateFailed, InputError
from askfirst.report.card import front_matter, line, write_card
from askfirst.stats import clopper_pearson
from askfirst.store import read_json


def test_every_figure_is_that_of_the_record(recorded):
    run = recorded()
    card = write_card(run.root).read_text()
    bounds = clopper_pearson.interval(20, 20)
    assert f"| ambiguous pass | 20 | 0.000 [0.000, 0.168] | 1.000 [{bounds.lower:.3f}, 1.000] |" in card
    assert "**INCONCLUSIVE**" in card
    assert "learning rate 0.01 (constant)" in card
    assert "none of 40 dev items in 60 training draws" in card
    assert "480 rollouts in 6 steps, 600 sampled tokens" in card
    assert read_json(run.lock)["plan_sha256"] in card
    assert ledger.file_hash(run.root / read_json(run.selected)["checkpoint"] / "tabular.f64") in card
    assert "says nothing about other training runs" in card
    assert ledger.verify(run).intact


def test_another_record_is_another_card(recorded):
    one = write_card(recorded("a").root).read_text()
    other = write_card(recorded("b", sets=("train.lr=0.5", "train.kl.beta=0.3")).root).read_text()
    assert "learning rate 0.5" in other
    assert "KL β 0.3" in other
    assert one != other


def test_a_hub_reads_the_metadata(recorded):
    hub = pytest.importorskip("huggingface_hub")
    run = recorded(sets=("model.name='owner/model-1b'", "model.backend='hf'"))
    card = hub.ModelCard.load(write_card(run.root))
    assert card.data.base_model == "owner/model-1b"
    told = card.data.to_dict()
    assert (told["library_name"], told["pipeline_tag"]) == ("peft", "text-generation")
    found = {result.metric_type: result for result in card.data.eval_results}
    assert {"strict_pass", "ambiguous_pass", "out_of_scope_pass", "false_ask"} <= found.keys()
    passed = found["ambiguous_pass"]
    assert passed.metric_value == 1.0
    assert passed.metric_args["n"] == 20
    assert passed.metric_args["lower"] == clopper_pearson.interval(20, 20).lower
    assert (passed.dataset_type, passed.dataset_split) == ("askfirst/judgment", "sealed")
    assert 'PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), "anchored/seed-0' in card.text


def test_a_model_that_no_hub_has_is_not_named_as_its_base(recorded):
    assert "base_model" not in write_card(recorded().root).read_text().split("---")[1]


def test_text_of_a_plan_is_not_markup(recorded):
    evil = "a\n---\nlicense: mit\n# b <script>x</script> | [c](http://d)"
    card = write_card(recorded(sets=(f"title={evil!r}".replace("'", '"'),)).root).read_text()
    assert "\nlicense: mit" not in card
    assert "<script>" not in card.split("\n---\n", 1)[1].replace("\\<script\\>", "")
    assert line("a|b\n`c`") == "a\\|b \\`c\\`"
    assert front_matter({"a": [1.5, "é: x"]}) == '---\na: [1.5, "é: x"]\n---\n'


def test_a_run_without_a_verdict_or_changed_since_has_no_card(recorded):
    run = recorded("changed")
    run.gates.write_text('{"version": 1, "results": []}')
    with pytest.raises(GateFailed, match="changed after it was finished"):
        write_card(run.root)
    run = recorded("unfinished")
    run.verdict.unlink()
    with pytest.raises(InputError, match="selected checkpoint and its verdict"):
        write_card(run.root)
