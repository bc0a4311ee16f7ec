"""Operations: what people ask an installation, and what they have it do. Commands and functions share this room.

Begin with `operation`: an operation is a value with its arguments, and `Direct` carries it out in this process.
`remote` has the installation's functions carry it out; `wire` is what passes between the two.
`questions` and `acts` list all operations; questions change nothing. What they answer is beside them: `batch` (one
batch in full), `tables` (a table's past), `sights` (file versions that a person follows), `pushing` (contracts that
become the registry's).

The workflow decides everything. This room knows no terminal and no vendor.
"""
