-- Show what questions about nothing here reach: the mean of their best cosines and how far those are spread.
-- version 1
-- param query_lang TEXT  language of the question
-- column channel TEXT  passage (primary model) or sentence (secondary model)
-- column lang TEXT  language of the passages
-- column mean REAL  cosine
-- column spread REAL  standard deviation
SELECT b.channel, b.lang, b.mean, b.spread
FROM background_nearness AS b
WHERE b.query_lang = :query_lang
ORDER BY b.channel, b.lang;
