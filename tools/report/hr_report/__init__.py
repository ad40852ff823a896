"""The page of hr-report, a file a concept.

Files to runs: `find` says which files are one run, `record` reads one of them, `stats` knows what may stand in it, `run` is what several say
together. Runs to a page: `words` for numbers, `bars`, `plots` and `tables` of all runs, `spread` for one over nodes, `style` for looks,
`page` for the whole. `output` writes it, and `command` is the command line.
"""
