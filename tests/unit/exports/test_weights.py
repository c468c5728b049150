"""Weights for other programs: merged, GGUF and mlx-lm, read back by others than wrote them."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.errors import GateFailed, InputError, ModelError
from askfirst.policy import ModelSpec, SampleRequest, Sampling
from askfirst.values import Message

PLAN = plans.load(Path(__file__).parents[3] / "examples" / "quickstart.toml")
ENV = plugins.load("envs", "judgment")
CHATS = [(Message("system", ENV.system_prompt("compact")), *s.opening) for s in ENV.scenarios("dev", 3, 3)]
TOKENS = 40


@pytest.fixture(scope="module")
def nano() -> Iterator[Any]:
    """nano with an adapter that changes what it says."""
    torch = pytest.importorskip("torch", reason="needs the hf extra")
    policy = plugins.load("backends", "hf").open_policy(ModelSpec("nano"), 0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in policy._adapter.parameters.items():
            if "lora_B" in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.15)
    return policy


@pytest.fixture(scope="module")
def said(nano: Any) -> list[list[int]]:
    """The greedy replies of the adapted policy."""
    requests = [SampleRequest(nano.encode(chat), (0,)) for chat in CHATS]
    return [list(one.token_ids) for (one,) in nano.sample(requests, Sampling(TOKENS, 0.0))]


@pytest.fixture(scope="module")
def weights() -> ModuleType:
    pytest.importorskip("peft", reason="needs the hf extra")
    from askfirst.exports import weights

    return weights


@pytest.fixture(scope="module")
def found(nano: Any, weights: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("adapter")
    nano.save(folder)
    return weights.Chosen(PLAN, folder)


def greedy(model: Any, prompt: tuple[int, ...]) -> list[int]:
    import torch

    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, do_sample=False)
    return [int(i) for i in out[0][len(prompt) :]]


def logits(model: Any, prompt: tuple[int, ...]) -> Any:
    import torch

    with torch.no_grad():
        return model(torch.tensor([prompt])).logits


@pytest.mark.thorough
def test_merged_weights_say_what_the_policy_says(nano, said, found, weights, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from askfirst.backends.hf import models

    files = weights.write_merged(found, tmp_path / "out")
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in files}
    with models.quiet():
        model = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype="float32")
        bare = AutoModelForCausalLM.from_pretrained(models.NANO, dtype="float32")
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    prompts = [nano.encode(chat) for chat in CHATS]
    assert [greedy(model, prompt) for prompt in prompts] == said
    assert [greedy(bare, prompt) for prompt in prompts] != said
    chat = [{"role": m.role, "content": m.content} for m in CHATS[0]]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert tuple(tokenizer(text, add_special_tokens=False)["input_ids"]) == prompts[0]
    with pytest.raises(InputError, match="there already"):
        weights.write_merged(found, tmp_path / "out")


@pytest.mark.thorough
def test_an_adapter_of_another_model_is_refused(found, weights, tmp_path):
    from safetensors.numpy import load_file, save_file

    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (tmp_path / name).write_bytes((found.folder / name).read_bytes())
    tensors = load_file(tmp_path / "adapter_model.safetensors")
    tensors.pop(sorted(tensors)[0])
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    with pytest.raises(InputError, match="does not fit its base"):
        weights.merged(replace(found, folder=tmp_path))


def read_gguf(path: Path) -> tuple[Any, Any]:
    """Model and tokenizer as transformers reads them from a GGUF file."""
    import transformers

    options: dict[str, Any] = {"gguf_file": path.name}
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **options)
        if hasattr(transformers, "GgufConfig"):
            options["quantization_config"] = transformers.GgufConfig(dequantize=True)
        return transformers.AutoModelForCausalLM.from_pretrained(path.parent, dtype="float32", **options), tokenizer


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "tolerance"), [("f32", 1e-5), ("f16", 1e-2), ("q8_0", 0.3)])
def test_a_gguf_file_is_the_same_model(nano, found, weights, tmp_path, kind, tolerance):
    from askfirst.exports import gguf_file

    whole = weights.merged(found)
    path = gguf_file.write_gguf(whole, "asks", kind, tmp_path / "model.gguf")
    model, tokenizer = read_gguf(path)
    prompt = nano.encode(CHATS[0])
    mine, theirs = logits(whole.model, prompt), logits(model, prompt)
    assert float((mine - theirs).abs().max() / mine.std()) < tolerance
    assert tokenizer.chat_template == whole.tokenizer.chat_template
    assert tokenizer.eos_token == whole.tokenizer.eos_token
    assert {p.name for p in tmp_path.iterdir()} == {"model.gguf"}


@pytest.mark.thorough
def test_llama_cpp_says_what_the_policy_says(nano, said, found, weights, tmp_path):
    llama = pytest.importorskip("llama_cpp", reason="needs llama-cpp-python")
    from askfirst.exports import gguf_file

    whole = weights.merged(found)
    path = gguf_file.write_gguf(whole, "asks", "f32", tmp_path / "model.gguf")
    model = llama.Llama(str(path), n_ctx=1024, n_threads=1, logits_all=True, verbose=False)
    for chat, expected in zip(CHATS, said, strict=True):
        messages = [{"role": m.role, "content": m.content} for m in chat]
        text = whole.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt = nano.encode(chat)
        assert tuple(model.tokenize(text.encode(), add_bos=True, special=True)) == prompt
        model.reset()
        model.eval(prompt)
        mine = logits(whole.model, prompt)[0].numpy()
        theirs = np.array(model.scores[: len(prompt)])
        assert np.abs(mine - theirs).max() / mine.std() < 1e-2  # it keeps keys and values in f16
        model.reset()
        drawn = model.generate(prompt, temp=0.0, repeat_penalty=1.0)
        assert [token for token, _ in zip(drawn, expected, strict=False)] == expected


@pytest.mark.thorough
def test_what_has_no_place_in_a_gguf_file_is_refused(found, weights, tmp_path):
    from tokenizers import Tokenizer, normalizers

    from askfirst.exports import gguf_file

    whole = weights.merged(found)
    with pytest.raises(InputError, match="no type of weights is called 'q2'"):
        gguf_file.write_gguf(whole, "asks", "q2", tmp_path / "a.gguf")
    whole.model.config.architectures = ["Qwen2ForCausalLM"]
    with pytest.raises(ModelError, match="no GGUF layout is known here for Qwen2ForCausalLM"):
        gguf_file.write_gguf(whole, "asks", "f16", tmp_path / "a.gguf")
    core = Tokenizer.from_str(whole.tokenizer.backend_tokenizer.to_str())
    core.normalizer = normalizers.NFKC()
    odd = type("Odd", (), {"backend_tokenizer": core})
    with pytest.raises(ModelError, match="without a normaliser"):
        gguf_file.pre_tokenizer(odd, "odd")
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_text_is_cut_as_the_tokenizer_cuts_it(found, weights):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    from askfirst.exports import gguf_file

    def learnt(*cuts: Any) -> Any:
        core = Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(False, use_regex=not cuts)])
        core.decoder = decoders.ByteLevel()
        core.train_from_iterator([gguf_file.SAMPLE] * 9, trainers.BpeTrainer(vocab_size=600, show_progress=False))
        return type("Own", (), {"backend_tokenizer": core})

    assert gguf_file.pre_tokenizer(weights.merged(found).tokenizer, "nano") == "deepseek-coder"
    assert gguf_file.pre_tokenizer(learnt(), "gpt2") == "gpt-2"
    with pytest.raises(ModelError, match="into other tokens"):
        gguf_file.pre_tokenizer(learnt(pre_tokenizers.Split(Regex(r"\n"), "isolated")), "lines")


def test_mlx_lm_computes_the_same_from_its_adapter(nano, found, weights, tmp_path):
    from safetensors.numpy import load_file

    files = weights.write_mlx_adapter(found, tmp_path / "out")
    assert [path.name for path in files] == ["adapter_config.json", "adapters.safetensors"]
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    settings, tensors = config["lora_parameters"], load_file(tmp_path / "out" / "adapters.safetensors")
    assert (config["fine_tune_type"], config["num_layers"], settings["rank"], settings["dropout"]) == ("lora", 6, 16, 0)
    assert "self_attn.q_proj" in settings["keys"]
    assert len(tensors) == 2 * len(settings["keys"]) * config["num_layers"]
    layer = nano._adapter.layers["model.layers.5.mlp.down_proj"]
    x = np.random.Generator(np.random.Philox(3)).normal(size=(4, 512)).astype(np.float32)
    name = "model.layers.5.mlp.down_proj"
    added = settings["scale"] * (x @ tensors[f"{name}.lora_a"]) @ tensors[f"{name}.lora_b"]
    a, b = (each.detach().numpy() for each in (layer.a, layer.b))
    np.testing.assert_allclose(added, (32.0 / 16) * x @ a.T @ b.T, rtol=1e-4, atol=1e-4)


@pytest.mark.thorough
def test_mlx_lm_says_what_the_policy_says(nano, said, found, weights, tmp_path):
    mx = pytest.importorskip("mlx.core", reason="needs mlx-lm")
    utils = pytest.importorskip("mlx_lm.utils", reason="needs mlx-lm")
    from askfirst.backends.hf import models

    weights.write_mlx_adapter(found, tmp_path / "out")
    model, _ = utils.load(str(models.NANO), adapter_path=str(tmp_path / "out"))
    model.set_dtype(mx.float32)  # the file's own bf16 rounds where the policy does not
    for chat, expected in zip(CHATS, said, strict=True):
        ids = list(nano.encode(chat))
        for token in expected:
            assert int(mx.argmax(model(mx.array([ids]))[0, -1])) == token
            ids.append(token)


def test_a_run_without_such_weights_is_refused(recorded, weights):
    run = recorded()
    with pytest.raises(InputError, match="backend 'tabular' has no weights"):
        weights.chosen(run)
    run.gates.write_text('{"version": 1, "results": []}')
    with pytest.raises(GateFailed, match="changed after it was finished"):
        weights.chosen(run)
    run = recorded("other", sets=("model.backend='hf'", "model.name='nano'"))
    assert weights.chosen(run).folder == run.root / "anchored/seed-0/checkpoints/step-00006"
    run.selected.unlink()
    with pytest.raises(InputError, match="nothing was selected"):
        weights.chosen(run)
