"""`python -m bench`: whole Spark jobs. The other measurements are modules beside it, each with its own command."""

import sys

from bench.job import main

sys.exit(main(sys.argv[1:]))
