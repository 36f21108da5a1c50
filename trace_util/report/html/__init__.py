"""One self-contained HTML page from traces: nothing is fetched, nothing of a trace is trusted."""
