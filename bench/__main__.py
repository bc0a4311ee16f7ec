"""`python -m bench`: every measurement there is."""

import sys

from bench.job import main

sys.exit(main(sys.argv[1:]))
