# Policies are computed by the provider, which a mock cannot: locals say what goes into them.
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/karst" }
  }
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
}

variables {
  name         = "karst-test"
  cluster_name = "karst-test"
  bucket_arn   = "arn:aws:s3:::karst-test-data"
  key_arn      = "arn:aws:kms:us-east-1:123456789012:key/1"
}

run "only_the_control_plane_deletes_buckets" {
  assert {
    condition     = !anytrue([for account in ["karst-indexer", "karst-search-head"] : contains(local.rights[account]["buckets/"], "s3:DeleteObject")])
    error_message = "an indexer or a search head may delete buckets"
  }
  assert {
    condition     = contains(local.rights["karst-control-plane"][""], "s3:DeleteObject")
    error_message = "the control plane cannot delete"
  }
  assert {
    condition     = !anytrue([for account, paths in local.rights : anytrue([for actions in values(paths) : anytrue([for action in actions : strcontains(action, "*")])])])
    error_message = "a right is a pattern"
  }
  assert {
    condition     = [for path, actions in local.rights["karst-indexer"] : path if contains(actions, "s3:DeleteObject")] == ["journal/"]
    error_message = "an indexer deletes something else than what it has put into its journal"
  }
  assert {
    condition     = [for path, actions in local.rights["karst-search-head"] : path if contains(actions, "s3:DeleteObject")] == ["collections/", "installed/", "journal/", "lookups/", "saved_jobs/"]
    error_message = "a search head deletes something else than apps, lookups, collections, saved jobs and its journal"
  }
  assert {
    # Users, roles and tokens are in the catalog.
    condition     = !anytrue([for account in ["karst-indexer", "karst-search-head"] : anytrue([for path in ["", "catalog/", "lease"] : contains(keys(local.rights[account]), path)])])
    error_message = "an indexer or a search head reads the catalog from the bucket"
  }
  assert {
    condition     = local.rights["karst-search-head"]["archive/"] == local.read
    error_message = "search heads cannot thaw"
  }
  assert {
    # Each process reads these at its start, and a right that is not there is an error, not an object that is not there.
    condition     = alltrue([for account in ["karst-indexer", "karst-search-head"] : alltrue([for path in ["buckets/", "catalog-rebuild", "collections/", "installed/", "journal/", "lookups/"] : contains(local.rights[account][path], "s3:GetObject")])])
    error_message = "an indexer or a search head cannot read something"
  }
  assert {
    condition     = length(aws_eks_pod_identity_association.this) == 3 && aws_eks_pod_identity_association.this["karst-indexer"].namespace == "karst"
    error_message = "service accounts without a role"
  }
  assert {
    condition     = toset(flatten([for statement in data.aws_iam_policy_document.rights["karst-indexer"].statement : statement.resources if contains(statement.actions, "s3:PutObject")])) == toset(["arn:aws:s3:::karst-test-data/cluster/buckets/*", "arn:aws:s3:::karst-test-data/cluster/journal/*"])
    error_message = "an indexer writes elsewhere than below buckets/ and journal/"
  }
}

run "web_identities_name_one_account" {
  variables {
    mode              = "irsa"
    oidc_provider_arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/ABC"
  }
  assert {
    condition     = length(aws_eks_pod_identity_association.this) == 0 && local.issuer == "oidc.eks.us-east-1.amazonaws.com/id/ABC"
    error_message = "issuer ${local.issuer}"
  }
}

run "a_web_identity_needs_its_provider" {
  command = plan
  variables {
    mode = "irsa"
  }
  expect_failures = [var.oidc_provider_arn]
}

run "a_bucket_is_an_arn" {
  command = plan
  variables {
    bucket_arn = "karst-test-data"
    mode       = "keys"
  }
  expect_failures = [var.bucket_arn, var.mode]
}

run "a_name_is_a_prefix_of_names" {
  command = plan
  variables {
    name = "Karst"
  }
  expect_failures = [var.name]
}

run "an_archive_is_a_prefix_of_its_own" {
  command = plan
  variables {
    archives = ["buckets/"]
  }
  expect_failures = [var.archives]
}
