"""Notes made up by rule, the same for the same seed: Markdown in English and Korean, words spread by Zipf's law.

They stand in for a large vault where real text cannot be had; how fast kb is on them says nothing of how well it finds.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

FILES_PER_FOLDER = 100
MODIFIED_S = 1_700_000_000
"""Every note's modification time, in seconds since 1970: long ago, so that a second scan need not read it again."""

_ENGLISH_FUNCTION_WORDS = "the of and to a in is that it for as with on be at by this from or an are was not".split()
_ENGLISH_STEMS = (
    "anchor archive balance barrier basin beacon border branch bridge bundle cabin candle canvas carbon cargo "
    "channel circle cluster column copper corner cotton crystal current dealer delta desert device domain "
    "engine fabric factor figure filter forest format garden gather glacier gravel harbor harvest hollow "
    "horizon index island journal kernel ladder lantern layer ledger letter lever limit linen magnet margin "
    "market matter meadow measure member mercury method mirror model motion mountain needle notice number "
    "object orbit orchard packet paper parcel pattern pepper pillar planet pocket polish powder prairie priest "
    "profile quarry quarter ranger record region render repair report rescue resin ribbon river rocket saddle "
    "sample scatter season sector segment session shelter signal silver socket spirit splinter station statute "
    "stream summit supply surface symbol system table target temper tender thread timber ticket token tunnel "
    "valley vector vessel village vintage volume wander weather whisper window winter yellow"
).split()
_ENGLISH_ENDINGS = ("", "s", "ed", "ing", "er", "less", "ful", "ward", "like", "ish", "ment", "able")
_ENGLISH_BEGINNINGS = ("", "re", "over", "under", "out", "inter", "non", "pre")

_KOREAN_NOUNS = (
    "가방 강물 거울 경로 계단 계획 골목 공책 과제 구름 기록 기차 나무 날씨 노트 눈길 다리 달력 도구 도서관 동네 "
    "마당 마을 모임 목록 문서 문제 바람 바다 방법 배낭 버섯 보고서 봄비 부엌 사전 사진 산길 색인 생각 서랍 설계 "
    "설정 섬마을 소금 수첩 순서 시장 시계 시험 식물 실험 안개 약속 양식 언덕 여름 연습 열쇠 영화 오후 외투 요리 "
    "우산 운동 유리 의자 이름 이야기 일기 입구 자료 작업 잔디 저녁 절차 정리 정원 종이 주소 주제 지도 질문 창문 "
    "책상 청소 출구 친구 탁자 터널 편지 표지 풍경 하늘 학교 항구 해변 현관 호수 화분 회의 휴일 흙길"
).split()
_KOREAN_PARTICLES = (
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "에서",
    "의",
    "도",
    "과",
    "와",
    "으로",
    "까지",
    "부터",
    "",
)
_KOREAN_VERBS = (
    "걷 고치 그리 기다리 나누 남기 넣 다루 닫 돌아보 두 듣 만들 맞추 모으 묻 바꾸 배우 버리 보내 보 붙이 빌리 살피 "
    "새기 설명하 쉬 쓰 알리 옮기 외우 익히 읽 잇 적 정하 지우 찾 채우 치우 펼치 풀 확인하"
).split()
_KOREAN_ENDINGS = ("았다", "었다", "는다", "고", "지만", "면서", "도록", "기로", "려고", "면")


def write_notes(folder: Path, count: int, *, korean_share: float, seed: int = 1) -> int:
    """Writes `count` notes below `folder`, a hundred to a folder, and returns their bytes in all."""
    generator = random.Random(seed)
    english, korean = _English(generator), _Korean(generator)
    total_bytes = 0
    for number in range(count):
        if number % FILES_PER_FOLDER == 0:
            section = folder / f"section-{number // FILES_PER_FOLDER:04}"
            section.mkdir(parents=True, exist_ok=True)
        is_korean = (number + 1) * korean_share // 1 > number * korean_share // 1
        text = _note(generator, korean if is_korean else english, number)
        path = section / f"note-{number:05}.md"
        total_bytes += path.write_bytes(text.encode("utf-8"))
        os.utime(path, (MODIFIED_S, MODIFIED_S))
    return total_bytes


def english_sentences(seed: int = 1) -> Iterator[str]:
    """English sentences without end, the same for the same seed."""
    generator = random.Random(seed)
    english = _English(generator)
    while True:
        yield english.sentence(generator)


class _English:
    """English words: function words first, then stems with and without affixes, by falling frequency."""

    def __init__(self, generator: random.Random) -> None:
        made = [b + s + e for b, e, s in itertools.product(_ENGLISH_BEGINNINGS, _ENGLISH_ENDINGS, _ENGLISH_STEMS)]
        generator.shuffle(made)
        self._words = [*_ENGLISH_FUNCTION_WORDS, *made]
        self._weights = _zipf(len(self._words))

    def sentence(self, generator: random.Random) -> str:
        words = generator.choices(self._words, cum_weights=self._weights, k=generator.randint(6, 18))
        return " ".join(words).capitalize() + "."


class _Korean:
    """Korean sentences: nouns with particles, a verb with an ending; two nouns in a row make a compound."""

    def __init__(self, generator: random.Random) -> None:
        nouns = [*_KOREAN_NOUNS, *(a + b for a, b in itertools.permutations(_KOREAN_NOUNS[:40], 2))]
        generator.shuffle(nouns)
        self._nouns = nouns
        self._weights = _zipf(len(nouns))

    def sentence(self, generator: random.Random) -> str:
        nouns = generator.choices(self._nouns, cum_weights=self._weights, k=generator.randint(3, 8))
        words = [noun + generator.choice(_KOREAN_PARTICLES) for noun in nouns]
        return " ".join([*words, generator.choice(_KOREAN_VERBS) + generator.choice(_KOREAN_ENDINGS)]) + "."


def _zipf(count: int) -> list[float]:
    """Cumulative weights: the word of rank r is 1/r as frequent as the first (Zipf 1935)."""
    return list(itertools.accumulate(1 / rank for rank in range(1, count + 1)))


def _note(generator: random.Random, language: _English | _Korean, number: int) -> str:
    """A title, some 250 words in up to three sections, now and then a list."""

    def paragraph(sentences: int) -> str:
        return " ".join(language.sentence(generator) for _ in range(sentences))

    title = language.sentence(generator).rstrip(".")
    parts = [f"---\ntags: [made-up, group-{number % 17}]\n---", f"# {title}", paragraph(generator.randint(2, 5))]
    for _ in range(generator.randint(1, 3)):
        parts.append("## " + language.sentence(generator).rstrip("."))
        parts.append(paragraph(generator.randint(2, 6)))
    if number % 3 == 0:
        parts.append(_items([language.sentence(generator) for _ in range(4)]))
    return "\n\n".join(parts) + "\n"


def _items(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
