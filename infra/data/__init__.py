"""Data: the stack `<name>-data`, of all that must outlive every other stack.

Begin with `stack`. `storage` is the buckets, with the rights that a role of another stack can be granted on them, and
`key` the key that encrypts them, if the installation has one. `faults` is what an installation may not choose.
`readers` are the policies for people and engines that read the lake, `cleaner` is the one that lets a person delete
from it, and `verifier` the one to compare it with the catalog. Nothing here may refer to another stack. A resource that
moves out of this stack, or gets another logical id, is a new and empty one to CloudFormation.
"""
