"""Infrastructure: one CDK app of stacks, and the packaging of the zips that it ships.

Begin with `app`, which puts the stacks together. Each stack is a room: `data` keeps the buckets, `catalog` is Nessie
unless an installation brings one, and `ingest` works on both. `config` has every choice of an installation,
`settings_file` reads them, `completion` adds what nobody has to choose, `gaps` fills in what an account has, with the
`authority` of a catalog's name, `former` has their names in earlier releases, `choices` records them in a template,
`network` is a place for functions and jobs, `alarms` makes an alarm that leads to its page, `keys` gives rights to
use keys of KMS, `logs` makes a log group, `packaging` makes the zips, and `waivers` accepts findings of cdk-nag one
by one. A room's `stack` composes its constructs and grants rights; a construct has a module to itself.
"""
