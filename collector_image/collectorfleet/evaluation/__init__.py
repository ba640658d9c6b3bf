"""Evaluation alongside training: separate actors play whole episodes with published versions."""
