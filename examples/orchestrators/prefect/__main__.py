"""`python -m examples.orchestrators.prefect --branch_name wap-today --s3_path orders.parquet`."""

import sys

from examples.orchestrators.prefect.flow import main

sys.exit(main())
