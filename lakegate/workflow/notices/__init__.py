"""Notices: what people hear, at least once.

`messages` makes them, `outbox` notes each before it is sent and marks it afterwards, `outcome` tells how an attempt
ended, and `expiry` warns before the branch of a rejected batch goes.
"""
