"""What the text of terraform/ has to have. No test here needs a tool."""

import re

import pytest

from manifests import ROOT

TERRAFORM = ROOT / "terraform"
# Each directory that Terraform reads as one module.
DIRECTORIES = sorted({file.parent for file in TERRAFORM.rglob("*.tf") if ".terraform" not in file.parts})


def names(directory):
    return str(directory.relative_to(TERRAFORM))


def blocks(text, kind):
    """Blocks of a kind at the first level, which end at a brace in the first column: labels and contents."""
    found = re.findall(rf'^{kind}((?: "[^"]+")*) {{(?:}}|\n(.*?)^}})$', text, re.MULTILINE | re.DOTALL)
    return [(re.findall(r'"([^"]+)"', labels), contents) for labels, contents in found]


def sources(directory, pattern="*.tf"):
    return "".join(file.read_text() for file in sorted(directory.glob(pattern)))


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_every_validation_has_a_case_that_it_refuses(directory):
    """As many cases that name a variable as the variable has rules."""
    runs = blocks(sources(directory, "tests/*.tftest.hcl"), "run")
    refused = [
        variable for _, contents in runs
        for expected in re.findall(r"expect_failures\s*= \[([^]]*)\]", contents)
        for variable in set(re.findall(r"var\.(\w+)", expected))
    ]
    lacking = {}
    for (name,), contents in blocks(sources(directory), "variable"):
        rules = len(re.findall(r"^  validation {$", contents, re.MULTILINE))
        if refused.count(name) < rules:
            lacking[name] = f"{refused.count(name)} cases for {rules} rules"
    assert not lacking
