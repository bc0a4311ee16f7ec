"""The page's contract and examples, run as they stand there, in one process that imports what they import."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/how-to/wap.md"
LAST = """
import sys
print("imported:", *sorted({"pyspark", "py4j", "polars"} & {name.partition(".")[0] for name in sys.modules}))
"""


def test_the_page_s_examples_run_from_an_empty_folder_and_import_no_spark(tmp_path: Path) -> None:
    fences = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    [contract] = [text for language, text in fences if language == "yaml"]
    (tmp_path / "orders.yaml").write_text(contract)
    program = "\n".join([f"FOLDER = {str(tmp_path)!r}", *(text for kind, text in fences if kind == "python"), LAST])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "imported:"
    assert "the audit failed, and nothing is published" in done.stdout
