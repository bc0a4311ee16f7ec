"""`python -m examples.orchestrators.dagster FILE`."""

import sys

from examples.orchestrators.dagster.definitions import main

sys.exit(main())
