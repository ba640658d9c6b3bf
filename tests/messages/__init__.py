"""``python -m tests.messages``: write docs/all-messages.md, the page of all messages, from the source."""
