"""Write, audit, publish under four orchestrators, each with lakegate.wap's steps as its own: README.md says which is
for whom. `python -m examples.orchestrators NAME` runs one on the local cloud. `orders` is what they share.
"""
