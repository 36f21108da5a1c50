"""The only formatters: facts and findings as text, JSON and HTML."""
