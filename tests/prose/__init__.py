"""``make prose``: the rules of docs/contributing/writing.md that a program can check.

vale reads pages, help texts, docstrings and comments. Its rules are the files below ``styles``. ``exceptions.txt``
lists at most 20 lines that may break a rule.
"""
