"""Source code as an answer judges and quotes it."""
