"""`python -m examples.orchestrators.dbos FILE_OR_FOLDER`."""

import sys

from examples.orchestrators.dbos.workflow import main

sys.exit(main())
