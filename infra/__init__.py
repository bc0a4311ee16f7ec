"""Infrastructure: one CDK app of stacks, and the packaging of the zips that it ships.

Begin with `app`, which puts the stacks together. Each stack is a room: `data` keeps the buckets, and `ingest` works
on them. `config` has every choice of an installation, `packaging` makes the zips, and `waivers` accepts findings of
cdk-nag one by one. A room's `stack` composes its constructs and grants rights; every other module is one construct.
"""
