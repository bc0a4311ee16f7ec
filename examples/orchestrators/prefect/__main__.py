"""`python -m examples.orchestrators.prefect --s3_path orders.parquet`."""

import sys

from examples.orchestrators.prefect.flow import main

sys.exit(main())
