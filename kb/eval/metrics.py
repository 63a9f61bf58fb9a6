"""The metrics by name; their formulas are the view `eval_query_metrics`."""

from __future__ import annotations

from kb.domain.results.measured import Metric

METRICS = (
    Metric("hit_at_1", "hit@1", "share of questions whose first hit is relevant"),
    Metric("hit_at_k", "hit@k", "share of questions with a relevant hit"),
    Metric("mrr", "MRR", "mean of 1 / rank of the first relevant hit"),
    Metric("ndcg_at_10", "nDCG@10", "over documents, gain = grade"),
    Metric("recall_at_k_doc", "recall@k", "share of the expected documents that were found"),
    Metric("precision_at_k_chunk", "precision@k", "share of the k hits that are expected passages"),
    Metric("citation_exactness", "citations", "share of hits whose cited lines hold the passage, no line more"),
    Metric("answer_found", "answer found", "share of questions whose hits hold every must_contain"),
    Metric("refusal_recall", "refused", "share of unanswerable questions that are refused; with answers only"),
    Metric(
        "answer_recall",
        "not refused",
        "share of answerable questions that are not refused: answered, or answered unsurely",
    ),
    Metric("must_contain", "must contain", "share of answers that hold every must_contain"),
    Metric("forbidden", "no forbidden", "share of answers that hold nothing forbidden"),
)
