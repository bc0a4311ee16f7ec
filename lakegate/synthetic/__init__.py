"""Made-up rows for a contract: good ones, or ones that fail one check and no other. It opens no lake."""
