-- Read by what the lexical index ranks: BM25 with the weight of each column.
-- returns one LexicalWeights
-- column weights TEXT  e.g. bm25(0,0,1,1,1,3)
SELECT replace(replace(v, ' ', ''), '.0', '') AS weights FROM chunks_fts_config WHERE k = 'rank';
