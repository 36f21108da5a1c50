"""What is odd or costly in a trace: one module a subject, one function a finding.

Each function takes a :class:`~trace_util.findings.scene.Scene` and yields findings, none where the
trace is healthy in that respect. Thresholds are named and say whether they were measured or
reasoned.
"""
