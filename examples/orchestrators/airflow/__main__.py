"""`python -m examples.orchestrators.airflow FILE`."""

import sys

from examples.orchestrators.airflow.standalone import main

sys.exit(main())
