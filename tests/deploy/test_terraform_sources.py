"""What the text of terraform/ has to have. No test here needs a tool; most are the core rules of tflint."""

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


def used(directory, kind):
    """Names of a kind (`var`, `local`, `data.aws_region`) that something other than a declaration refers to."""
    text = re.sub(r"^\s*#.*$", "", sources(directory), flags=re.MULTILINE)
    # A variable is not used by its own rules.
    text = re.sub(r'^variable "\w+" {\n.*?^}$', "", text, flags=re.MULTILINE | re.DOTALL) + "".join(
        re.sub(rf"\bvar\.{name}\b", "", contents) for (name,), contents in blocks(text, "variable")
    )
    return set(re.findall(rf"\b{re.escape(kind)}\.(\w+)", text))


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_what_is_declared_is_used(directory):
    text = sources(directory)
    assert {name for (name,), _ in blocks(text, "variable")} <= used(directory, "var")
    for _, contents in blocks(text, "locals"):
        assert set(re.findall(r"^  (\w+)\s*=", contents, re.MULTILINE)) <= used(directory, "local")
    for (kind, name), _ in blocks(text, "data"):
        assert name in used(directory, f"data.{kind}"), f"data.{kind}.{name}"
    # An environment configures the provider of its modules.
    providers = {re.match("[a-z]+", labels[0])[0] for kind in ["resource", "data"] for labels, _ in blocks(text, kind)}
    providers |= {labels[0] for labels, _ in blocks(text, "provider")}
    assert providers - {"terraform"} == set(required(text))


def required(text):
    """Sources and versions of the providers by name."""
    (_, settings), = blocks(text, "terraform")
    listed = re.findall(r"^    (\w+) = {\n(.*?)^    }$", settings, re.MULTILINE | re.DOTALL)
    pair = re.compile(r'^ +(source|version) += "(.*)"$', re.MULTILINE)
    return {name: dict(pair.findall(contents)) for name, contents in listed}


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_variables_have_types_and_programs_have_versions(directory):
    text = sources(directory)
    for kind, attributes in {"variable": ["type", "description"], "output": ["value", "description"]}.items():
        for (name,), contents in blocks(text, kind):
            for attribute in attributes:
                assert re.search(rf"^  {attribute}\s*= \S", contents, re.MULTILINE), f"{kind} {name} has no {attribute}"
    (_, settings), = blocks(text, "terraform")
    assert re.search(r'^  required_version = "~> \d+\.\d+"$', settings, re.MULTILINE)
    for name, provider in required(text).items():
        # No later major version, which may need other arguments.
        assert provider["source"] and re.fullmatch(r">= \d+\.\d+\.\d+, < \d+\.0\.0", provider["version"]), name


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_expressions_have_no_deprecated_form(directory):
    text = sources(directory)
    assert not re.findall(r'(?<![\w}])"\${[^{}"]*}"', text), "a string that is one interpolation"
    assert not re.findall(r"\b\w+\.\d+\.\w+", re.sub(r'"(\\.|[^"\\\n])*"', "", text)), "an index after a dot"
    assert not re.findall(r"[!=]= \[\]", text), "a list compared with an empty tuple, which is never equal"
    assert not re.findall(r"^\s*//", text, re.MULTILINE), "a comment of another language"
