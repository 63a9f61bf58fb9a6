"""English function words: left out of a question, as long as another word remains."""

from __future__ import annotations

ENGLISH = frozenset(
    (
        "a about an and any are as at be been being but by can could did do does for from had has have how i if in "
        "into is it its may me might my no nor not of on or our shall should so some such than that the their them "
        "then there these they this those to too us very was we were what when where which while who whom whose why "
        "will with would you your"
    ).split()
)
