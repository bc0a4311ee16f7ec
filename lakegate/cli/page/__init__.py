"""A batch as one HTML page that can be sent and printed, without scripts and without anything to fetch.

Start reading at `document`, which fills the template `page.html` with the macros of `parts.html`. `summary` is what
stands at its head, and `plots` are the numbers of its drawings; neither writes HTML.
"""
