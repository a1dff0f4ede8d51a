# SPDX-License-Identifier: Apache-2.0
"""What docs/triton.md shows of the examples is what they print."""

import doctest
import os
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SESSIONS = re.findall(r"^```text\n\$ python (\S+)\n(.*?)^```",
                      (REPOSITORY / "docs/triton.md").read_text(), flags=re.M | re.S)


def test_there_are_sessions():
    assert {name for name, _ in SESSIONS} == {
        str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("examples/triton/*.py")}


@pytest.mark.parametrize("name, printed", SESSIONS, ids=[name for name, _ in SESSIONS])
def test_session_as_printed(name, printed):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKWARP_TRITON")}
    done = subprocess.run([sys.executable, name], cwd=REPOSITORY, env=environment,
                          capture_output=True, text=True)
    matches = doctest.OutputChecker().check_output(printed, done.stdout, doctest.ELLIPSIS)
    assert done.returncode == 0 and matches, done.stdout + done.stderr
