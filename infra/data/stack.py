"""A stack of the buckets and of the policies to read, to clean and to verify them."""

from aws_cdk import Stack
from constructs import Construct

from infra.assets import synthesizer
from infra.config import Config
from infra.data.cleaner import Cleaner
from infra.data.readers import Readers
from infra.data.storage import Storage
from infra.data.verifier import Verifier


class DataStack(Stack):
    """One installation's data. CloudFormation refuses to delete the stack until somebody ends its protection."""

    def __init__(self, scope: Construct, *, config: Config) -> None:
        super().__init__(
            scope,
            f"{config.name}-data",
            description="lakegate: the buckets, and the policies to read, to clean and to verify them",
            synthesizer=synthesizer(scope, config.name),
            termination_protection=not config.ephemeral,
        )
        self.storage = Storage(self, "Storage", config=config)
        self.readers = Readers(self, "Readers", storage=self.storage)
        self.cleaner = Cleaner(self, "Cleaner", storage=self.storage)
        self.verifier = Verifier(self, "Verifier", storage=self.storage)
