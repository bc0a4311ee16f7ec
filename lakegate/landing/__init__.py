"""Arriving files and their decisions: file versions, routes, batches, attempts, receipts. No I/O here."""
