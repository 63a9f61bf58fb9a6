"""Search across languages with the real models, where they are installed. KB_TEST_MODEL_DIR names their directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb
from loaded_modules import HEAVY, loaded_by

from kb.errors import ModelError
from kb.models.manifest import ENCODER, read_installed

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", Path.home() / ".cache/kb-test/models"))

NOTES = {
    "보일러.md": "# 보일러 점검\n\n보일러 압력이 1바 아래로 떨어지면 보충수 밸브를 연다. 필터는 가을마다 청소한다.\n",
    "김치.md": "# 김치 담그기\n\n배추는 소금물에 여덟 시간 절인다. 양념은 고춧가루와 마늘, 젓갈로 만든다.\n",
    "등산.md": "# 설악산 등산\n\n대청봉까지 여섯 시간이 걸린다. 해가 지기 전에 내려오려면 새벽에 떠난다.\n",
    "자전거.md": "# 자전거 수리\n\n체인이 늘어나면 갈아 끼운다. 브레이크 패드는 해마다 확인한다.\n",
    "passport.md": "# Passport\n\nThe passport expires in May. Renewing it takes three weeks and two photographs.\n",
    "router.md": "# Home network\n\nThe router forgets its password after a power cut; a spare one lies here.\n",
    "tomatoes.md": "# Tomatoes\n\nSow tomatoes indoors in March and water them every second morning.\n",
    "piano.md": "# Piano\n\nThe piano is tuned twice a year, before summer and before winter.\n",
}

ACROSS = [
    ("What do I do when the heating system loses pressure?", "보일러.md"),
    ("How long should the cabbage be salted?", "김치.md"),
    ("When do we have to start walking up the mountain?", "등산.md"),
    ("여권을 갱신하는 데 얼마나 걸리나?", "passport.md"),
    ("토마토 씨앗은 언제 뿌리나?", "tomatoes.md"),
    ("피아노 조율은 얼마나 자주 하나?", "piano.md"),
]


def installed(name: str) -> bool:
    try:
        read_installed(MODELS, name)
    except ModelError:
        return False
    return True


pytestmark = pytest.mark.skipif(not installed(ENCODER), reason=f"{ENCODER} is not installed in {MODELS}")


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The notes in both languages, embedded."""
    made = make_vault(tmp_path_factory.mktemp("bilingual"), NOTES)
    configured = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    made.config.write_text(configured + f'cache_dir = "cache"\nmodel_dir = "{MODELS}"\n', encoding="utf-8")
    ran = run_kb("--config", str(made.config), "ingest", "--json")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.lines[-1]["embeddings_indexed"] == len(NOTES)
    return made


@pytest.mark.parametrize(("question", "note"), ACROSS)
def test_a_question_finds_the_note_in_the_other_language(question: str, note: str, bilingual: Vault) -> None:
    ran = run_kb("--config", str(bilingual.config), "search", question, "--json")
    hits = [hit["doc_path"] for hit in ran.json["hits"]]
    assert note in hits[:5]
    other_language = [path for path in hits if path.isascii() == note.isascii()]
    assert other_language[0] == note
    assert ran.json["hits"][0]["embedding_model"] == ENCODER


def test_all_is_well_afterwards(bilingual: Vault) -> None:
    ran = run_kb("--config", str(bilingual.config), "doctor", "--json")
    assert [check for check in ran.json["checks"] if not check["ok"]] == []


def test_a_question_in_a_fresh_process_loads_no_numpy(bilingual: Vault, tmp_path: Path) -> None:
    code, modules = loaded_by("--config", str(bilingual.config), "search", ACROSS[0][0], home=tmp_path)
    assert code == 0
    assert "kb.embed.installed.encoder" in modules
    assert "onnxruntime" not in modules
    assert HEAVY & modules == set()
