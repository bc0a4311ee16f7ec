"""What arrives and what became of it: file versions, routes, batches, attempts, receipts. No I/O here."""
