"""The encoders of installed models: what loads them, cuts texts for them and multiplies."""
