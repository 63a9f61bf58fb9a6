"""The encoders of installed models: their loader, tokenizer and runtime."""
