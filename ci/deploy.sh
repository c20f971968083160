#!/usr/bin/env bash
# make test-deploy: checks of the manifests in k8s/ and the modules in terraform/. What needs a tool that is not
# there (kubectl, an API server of ci/tools/kubernetes.sh, helm, terraform and the AWS provider, checkov, karst) is skipped
# by name; KARST_REQUIRE_DEPLOY_TOOLS=1 makes that a failure. Arguments go to pytest.
#
# The provider comes as Terraform is configured to get it, which may be a directory that `terraform providers mirror` has
# written (docs/terraform.md), or from such a directory named in KARST_TERRAFORM_MIRROR.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(ci/tools/python.sh)
export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -c tests/deploy/pytest.ini --rootdir tests/deploy tests/deploy "$@"
