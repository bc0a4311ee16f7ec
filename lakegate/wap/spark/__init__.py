"""Spark in a run, imported by a run that is given some: `rows` of a data frame, and the audit's `engine` in a session,
on `tables` that no catalog of the session has.

The engine is the Spark job's own. A wheel carries that as files of a home, so it is loaded from there.
"""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location

from lakegate.home import CARRIED, PACKAGE

_JOB = "spark_jobs"


def _load_carried() -> None:
    """Load the Spark job's package from where a wheel has it."""
    folder = PACKAGE / CARRIED / _JOB
    found = spec_from_file_location(_JOB, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"there is no {folder}", name=_JOB)
    sys.modules[_JOB] = module_from_spec(found)
    found.loader.exec_module(sys.modules[_JOB])


if find_spec(_JOB) is None:
    _load_carried()
