"""An S3 server for bad nights: it serves folders as buckets, strictly, and spoils answers by seed or
by rule. `tools/bad-night-s3 --help` lists what it can do wrong; docs/bad-nights.md says how to use it.
"""
