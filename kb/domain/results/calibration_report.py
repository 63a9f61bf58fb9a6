"""What `kb eval calibrate` has found, of whichever judgement it fits here."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import ChannelFit, ModeFit, Separation
from kb.domain.results.reading_calibration import JudgedModel, ReadingFit


class CalibrationReport(NamedTuple):
    """What a refit would change. `fitted_on` names the questions, `note` says what the refit does not reach.

    `reading` is of the judgement of read passages; `modes` of the older gate, where they are not read.
    """

    score_gate: float
    fitted_on: str
    modes: tuple[ModeFit, ...]
    note: str | None = None
    reading: ReadingFit | None = None

    @property
    def better(self) -> tuple[ChannelFit, ...]:
        """The fitted channels of the modes that the refit does not make worse at the gate."""
        kept = [mode for mode in self.modes if mode.fitted and self._gain(mode.current, mode.fitted) >= 0]
        return tuple(channel for mode in kept for channel in mode.channels if channel.fitted)

    @property
    def is_fitted(self) -> bool:
        """Whether there were questions enough to fit something to."""
        fits = () if self.reading is None else self.reading.fits
        return any(mode.fitted for mode in self.modes) or any(fit.rescaling for fit in fits)

    @property
    def applied(self) -> tuple[Channel | JudgedModel, ...]:
        """The channels and likelihoods that `--apply` refits: those that do no worse on questions held out."""
        models = () if self.reading is None else self.reading.applied
        return (*(fit.channel for fit in self.better), *models)

    def _gain(self, before: Separation, after: Separation) -> float:
        return after.at(self.score_gate).balanced - before.at(self.score_gate).balanced
