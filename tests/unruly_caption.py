"""A step that says the same of every picture."""

from __future__ import annotations

import json

from kb.domain.derived import Engine, ExtractSettings, ModelCaption, StepJob


def engine(settings: ExtractSettings) -> Engine:
    return Engine("unruly-caption", "1")


def derive(job: StepJob) -> bytes:
    return json.dumps(ModelCaption("A picture.", "unruly", "1").to_json()).encode()
