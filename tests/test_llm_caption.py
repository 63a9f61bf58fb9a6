"""Captions: asked of an Ollama server when that is switched on, found by search, cited by the model that made them."""

from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path

import pytest
from conftest import run_kb
from media_fixtures import IMAGES, needs_pillow
from ollama_fixtures import playing

from kb.domain.derived import CaptionSettings, ExtractSettings, ModelCaption, StepJob
from kb.domain.kinds import PNG
from kb.errors import ExtractFailed, ModelMissing
from kb.llm.caption import derive, engine
from kb.wire.schemas import validate

pytestmark = needs_pillow

SAID = [{"text": "A walrus  sleeps"}, {"text": "\non the ice."}, {"done": {}}]


def settings(endpoint: str, model: str = "scripted") -> ExtractSettings:
    return ExtractSettings(caption=CaptionSettings(model, endpoint))


def test_the_server_gets_a_small_picture_and_its_words_are_the_caption() -> None:
    from PIL import Image

    with playing(SAID) as server:
        job = StepJob((IMAGES / "en.png").read_bytes(), PNG, {}, settings(server.endpoint), lambda progress: None)
        made = ModelCaption.from_json(json.loads(derive(job)))
        (asked,) = server.engine.asked
    assert (made.text, made.model) == ("A walrus sleeps on the ice.", "scripted")
    with Image.open(io.BytesIO(base64.b64decode(asked["messages"][0]["images"][0]))) as sent:
        assert sent.format == "JPEG"
        assert max(sent.size) <= 1024


def test_no_server_or_no_model_is_a_missing_engine() -> None:
    with playing(SAID) as server:
        assert engine(settings(server.endpoint)) is not None
        with pytest.raises(ModelMissing, match="llava"):
            engine(settings(server.endpoint, "llava"))
        endpoint = server.endpoint
    with pytest.raises(ModelMissing, match="captions cannot be made"):
        engine(settings(endpoint))
    assert engine(ExtractSettings()) is None


def test_a_damaged_image_is_not_sent() -> None:
    with playing(SAID) as server:
        with pytest.raises(ExtractFailed):
            derive(StepJob(b"no image", PNG, {}, settings(server.endpoint), lambda progress: None))
        assert server.engine.asked == []


def captioning(folder: Path, endpoint: str) -> Path:
    """The configuration of a knowledge base that asks this server for captions."""
    config = folder / "kb.toml"
    config.write_text(
        '[workspace]\nroot = "notes"\n[search]\nmode = "lexical"\n[ocr]\nenabled = false\n'
        f'[models.llm]\nendpoint = "{endpoint}"\n[image.caption]\nenabled = true\nmodel = "scripted"\n'
        '[storage]\ndata_dir = "data"\ncache_dir = "cache"\nlog_dir = "logs"\n',
        encoding="utf-8",
    )
    return config


def test_a_caption_is_found_and_cited(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    shutil.copy(IMAGES / "en.png", tmp_path / "notes" / "photo.png")
    with playing(SAID) as server:
        config = captioning(tmp_path, server.endpoint)
        for _ in range(2):
            assert run_kb("--config", str(config), "ingest", "--no-embed").code == 0
        assert len(server.engine.asked) == 1
    found = run_kb("--config", str(config), "search", "walrus", "--json").json
    validate("search_response.v1", found)
    citation = found["hits"][0]["citation"]
    assert (citation["kind"], citation["model"]) == ("caption", "scripted")
    assert citation["uri"] == "photo.png#caption=scripted"


def test_no_model_describes_what_models_are_not_to_read(tmp_path: Path) -> None:
    (tmp_path / "notes/private").mkdir(parents=True)
    shutil.copy(IMAGES / "en.png", tmp_path / "notes/private/photo.png")
    with playing(SAID) as server:
        config = captioning(tmp_path, server.endpoint)
        kept = ("--config", str(config), "--set", "exposure.never_to_llm=private/**")
        counts = [run_kb(*kept, "ingest", "--no-embed", "--json").lines[-1] for _ in range(2)]
        assert server.engine.asked == []
        assert [(each["new"], each["unchanged"]) for each in counts] == [(1, 0), (0, 1)]
        assert run_kb("--config", str(config), "ingest", "--no-embed").code == 0
        assert len(server.engine.asked) == 1
        assert run_kb(*kept, "ingest", "--no-embed").code == 0
    assert run_kb(*kept, "search", "walrus").code == 1
