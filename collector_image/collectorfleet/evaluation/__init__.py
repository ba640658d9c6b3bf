"""Evaluation beside training: actors of their own play whole episodes with published versions."""
