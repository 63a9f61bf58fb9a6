"""The step `caption`: an image's bytes → its description by a vision model on an Ollama server, as `caption.json`.

Off by default: a model's words are not in the file, and a caption takes seconds.
"""

from __future__ import annotations

import base64
import io

from kb.domain.derived import CaptionSettings, Engine, ExtractSettings, ModelCaption, StepJob, result_json
from kb.errors import ExtractFailed, ModelError, ModelMissing, worded
from kb.models.requirements import lacking_packages, require
from kb.runtimes.ollama_http import OllamaServer, Timeouts, pulled_models, require_pulled

# Bumped whenever the same image would give another caption from the same model.
_METHOD_VERSION = "1"

_PROMPT = (
    "Describe what this image shows in two or three plain sentences: the things in it, what they do, and any title or "
    "labels. Say nothing that cannot be seen."
)
_MOST_TOKENS = 200
_SIDE_PIXELS = 1024
_QUICK = Timeouts(connect_seconds=3, silence_seconds=3, total_seconds=5)
_PATIENT = Timeouts(connect_seconds=5, silence_seconds=100, total_seconds=100)


def engine(settings: ExtractSettings) -> Engine | None:
    """The configured vision model, if its server answers and has it. Raises: ModelMissing."""
    caption = settings.caption
    if caption is None:
        return None
    require("captions of images", lacking_packages(("PIL",), "ocr"))
    try:
        require_pulled(pulled_models(OllamaServer(caption.endpoint, _QUICK)), caption.model)
    except ModelError as error:
        raise ModelMissing(f"captions cannot be made: {error.message}", error.hint) from error
    return Engine("ollama", _METHOD_VERSION, caption.model)


def derive(job: StepJob) -> bytes:
    """The caption. Raises: ExtractFailed, ModelError."""
    caption = job.settings.caption
    assert caption is not None
    answer = OllamaServer(caption.endpoint, _PATIENT).ask("/api/chat", _body(caption, job.data), caption.model)
    text = " ".join(str(answer.get("message", {}).get("content", "")).split())
    made = ModelCaption(text, caption.model, _METHOD_VERSION)
    return result_json(made.to_json())


def _body(caption: CaptionSettings, data: bytes) -> dict[str, object]:
    picture = base64.b64encode(_small_jpeg(data)).decode("ascii")
    return {
        "model": caption.model,
        "stream": False,
        "messages": [{"role": "user", "content": _PROMPT, "images": [picture]}],
        "options": {"temperature": 0, "seed": 0, "num_predict": _MOST_TOKENS},
    }


def _small_jpeg(data: bytes) -> bytes:
    """The image as a JPEG no larger than a vision model looks at. Raises: ExtractFailed."""
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as image:
            image.thumbnail((_SIDE_PIXELS, _SIDE_PIXELS))
            picture = ImageOps.exif_transpose(image).convert("RGBA")
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise ExtractFailed(f"damaged image: {worded(error)}", "open it in a viewer and save it again") from error
    paper = Image.new("RGBA", picture.size, "white")
    jpeg = io.BytesIO()
    Image.alpha_composite(paper, picture).convert("RGB").save(jpeg, "JPEG", quality=85)
    return jpeg.getvalue()
