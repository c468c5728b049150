"""From a model name to weights and tokenizer: nano, smollm2-135m, a local folder, or a hub id."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from askfirst.backends.hf import smollm
from askfirst.errors import ModelError
from askfirst.store import content_hash, read_json

SHIPPED = Path(__file__).parents[2] / "models"
NANO = SHIPPED / "nano"
BUILT = ("nano-clarify", "nano-retail")  # from nano, by `askfirst models build`
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with frozen weights, its tokenizer and its end tokens."""

    model: Any
    tokenizer: Any
    end_ids: tuple[int, ...]


def default_cache() -> Path:
    """Where converted models are kept unless told otherwise."""
    return Path.home() / ".cache" / "askfirst" / "models"


def load(name: str, dtype: str, cache: Path) -> Loaded:
    """Load by name onto the first CUDA device, or the CPU. Raises ModelError with what to do next."""
    if dtype not in DTYPES:
        raise ModelError(f"dtype is {dtype!r}", hint=f"choose one of: {', '.join(DTYPES)}")
    source = resolve(name, cache)
    with quiet():
        try:
            # Code that a model brings along is never run.
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
            model = AutoModelForCausalLM.from_pretrained(
                source, dtype=DTYPES[dtype], trust_remote_code=False, attn_implementation=_attention(source)
            )
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(
                f"the model does not load: {str(error).strip().splitlines()[0]}", where=name,
                hint="name a folder with config.json, safetensors and a tokenizer, or a hub id that is reachable",
            ) from error  # fmt: skip
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return Loaded(model, tokenizer, end_ids(model))


def twin(loaded: Loaded) -> Loaded:
    """The same model with modules of its own over the same frozen weights, so that it takes another adapter."""
    weights = {id(weight): weight for weight in loaded.model.requires_grad_(False).parameters()}
    return replace(loaded, model=copy.deepcopy(loaded.model, weights))


def resolve(name: str, cache: Path) -> str:
    """The folder or hub id behind a name; builds the cached folder of `smollm2-135m` where it is missing."""
    if name in (NANO.name, *BUILT):
        if not (SHIPPED / name / "model.safetensors").is_file():
            hint = "reinstall the package" if name == NANO.name else f"make it: askfirst models build {name}"
            raise ModelError(f"the model {name} is not in this installation", hint=hint)
        return str(SHIPPED / name)
    if name == smollm.NAME:
        return str(smollm.folder(cache))
    if (Path(name) / "config.json").is_file():
        return name
    if Path(name).is_dir() or not _HUB_ID.fullmatch(name):
        raise ModelError(
            f"no model is called {name!r}",
            hint=f"choose {', '.join((NANO.name, *BUILT, smollm.NAME))}, a folder with config.json, or a hub id like "
            "owner/name",
        )
    return name


def template(folder: Path) -> str | None:
    """sha256 of a model's chat template: a file of its own, or a field of the tokenizer's settings; None without."""
    own, settings = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if own.is_file():
        return content_hash(own.read_text("utf-8"))
    found = read_json(settings).get("chat_template") if settings.is_file() else None
    return None if found is None else content_hash(found)


def end_ids(model: Any) -> tuple[int, ...]:
    """The tokens at which the model's own settings end generation."""
    found = getattr(model.generation_config, "eos_token_id", None)
    if found is None:
        found = getattr(model.config, "eos_token_id", None)
    return tuple(found) if isinstance(found, list | tuple) else () if found is None else (int(found),)


def multiplies_bf16() -> bool:
    """Whether the processor has products in bf16; torch does them in software elsewhere, which takes several times as
    long as in fp32 (9 times on one with AVX2 alone: `python -m benchmarks.dtypes`)."""
    found: Mapping[str, Any] = torch.cpu.get_capabilities()
    return any(on is True and name.endswith("bf16") for name, on in found.items())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within this context transformers prints neither progress bars nor warnings."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _attention(source: str) -> str:
    config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False).get_text_config()
    # The fused kernel cannot cap attention logits (Gemma 2).
    return "sdpa" if getattr(config, "attn_logit_softcapping", None) is None else "eager"
