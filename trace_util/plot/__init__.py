"""The timeline as a figure: lanes of bars -> places on paper -> SVG or PNG.

``lanes`` and ``layout`` are numbers only; ``svg`` and ``png`` draw what they say.
"""
