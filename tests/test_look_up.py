"""A word that stands in a note is found by it, and first: names with particles behind them, compounds, numbers."""

from __future__ import annotations

from kb.language.korean import analyse


def test_names_are_what_no_morpheme_stands_for() -> None:
    (found,) = analyse(["RTX4090이 192.168.0.20으로 에러코드를 보냈다. 함수는 Redis를 쓴다. 교체함이다."])
    assert found.names == ("RTX4090", "192.168.0.20", "에러코드", "교체함")
