-- Keep what questions about nothing here reach in the passages of one language.
-- version 1
-- param channel TEXT  passage: under the primary model
-- param query_lang TEXT  language of the questions
-- param lang TEXT  language of the passages
-- param mean REAL  mean of their best cosines
-- param spread REAL  standard deviation of them
INSERT INTO background_nearness (channel, query_lang, lang, mean, spread)
VALUES (:channel, :query_lang, :lang, :mean, :spread);
