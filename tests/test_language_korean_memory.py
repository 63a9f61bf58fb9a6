"""What the Korean analyser takes of memory: it is the larger part of what an ingest of Korean notes takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kb.language.korean import analyse

pytestmark = pytest.mark.slow  # each test loads the analyser in a process of its own

MOST_MB = 400
LEAST_RELEASED_MB = 100

_PEAK = """
import re
from kb.language.korean import analyse
list(analyse(["항구에서 새벽에 곡식과 소금을 실은 배가 북쪽으로 떠났다."]))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


_RELEASED = """
import re
from kb.language.korean import analyse
from kb.operations.ingest.ingest import make_room_for_encoder
def resident_mb():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
list(analyse(["항구에서 새벽에 곡식과 소금을 실은 배가 북쪽으로 떠났다."]))
held = resident_mb()
make_room_for_encoder()
print(held - resident_mb())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_released_analyser_leaves_room_for_an_encoder() -> None:
    done = subprocess.run([sys.executable, "-c", _RELEASED], capture_output=True, check=True, encoding="utf-8")
    assert float(done.stdout) > LEAST_RELEASED_MB


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_analyser_leaves_room_for_a_large_note() -> None:
    done = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, check=True, encoding="utf-8")
    assert float(done.stdout) < MOST_MB


def test_a_title_of_several_words_is_indexed_word_by_word() -> None:
    (found,) = analyse(["두 사람의 거리 추정을 읽었다."])
    assert {"사람", "거리", "추정"} <= set(found.morphemes)
    assert ("사람", "사람") in found.units
