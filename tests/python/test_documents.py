# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/python.md show is what Python prints."""

import doctest
import re

import numpy as np
import pytest


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_session_as_printed(page, repository, monkeypatch):
    monkeypatch.chdir(repository)
    text = (repository / page).read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, flags=re.M | re.S)
    assert blocks
    # numpy 1 shows scalars without their type.
    plain = int(np.__version__.split(".")[0]) < 2
    if plain:
        blocks = [re.sub(r"np\.(?:float\d+\(([^()]*)\)|(True)_)", r"\1\2", b) for b in blocks]
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert len(session.examples) > 5
    said = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags).run(session, out=said.append)
    assert result.failed == 0, "".join(said)


def test_everything_public_has_a_docstring():
    import inspect

    import lockwarp as lw

    for name in lw.__all__:
        thing = getattr(lw, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_") and (inspect.isfunction(value)
                                                   or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"
