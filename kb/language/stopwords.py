"""Words that say nothing of what is asked about: left out of a question, as long as another word remains."""

from __future__ import annotations

import functools
import re

ENGLISH = frozenset(
    (
        "a about an and any are as at be been being but by can could did do does for from had has have how i if in "
        "into is it its may me might my no nor not of on or our shall should so some such than that the their them "
        "then there these they this those to too us very was we were what when where which while who whom whose why "
        "will with would you your"
    ).split()
)

# What only asks or points back, with the particles and endings that may follow: 언제, 누구인가, 어디에서, 그럼, 그건.
_KOREAN = (
    r"(?:언제|어디|누구|누가|무엇|무슨|뭐|뭘|왜|어떻게|얼마|어느|어떤)"
    r"(?:에서|에게|한테|에|의|를|을|가|이|는|은|와|과|으로|로|부터|까지|나|야|지|요|고|며|인가|인지|일까|였나|였는가"
    r"|인가요|입니까|이며)?"
    r"|그럼|그러면|그래서|그리고|그런데|근데|(?:그|이|저)(?:건|게|것[은이을]?|걸)|(?:거|여|저)기(?:서|는|에)?"
)


@functools.cache
def korean() -> re.Pattern[str]:
    """Words of a Korean question that say nothing of what is asked about."""
    return re.compile(_KOREAN)
