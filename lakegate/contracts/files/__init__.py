"""Files of a contract: their formats, and how they are ingested. It reads no file.

`formats` reads the landing server's words, `schema_policy` what becomes of other columns than the contract's, and
`ingestion` the settings that concern no row.
"""
