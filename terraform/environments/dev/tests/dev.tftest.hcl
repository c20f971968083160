mock_provider "aws" {
  override_during = plan
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
  mock_resource "aws_eks_cluster" {
    defaults = { identity = [{ oidc = [{ issuer = "https://oidc.example/id/ABC" }] }] }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/karst" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/1" }
  }
  mock_resource "aws_launch_template" {
    defaults = { id = "lt-0123456789abcdef0", latest_version = 1 }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::karst-dev-data", id = "karst-dev-data" }
  }
}

variables {
  admin_arns = ["arn:aws:iam::123456789012:role/admin"]
}

run "a_plan_has_what_the_overlay_needs" {
  command = plan
  assert {
    condition     = output.facts_env == "AWS_REGION=us-east-1\nKARST_OBJECT_STORE=s3://karst-dev-data/cluster\n"
    error_message = output.facts_env
  }
  assert {
    condition     = toset(keys(output.role_arns)) == toset(["karst-control-plane", "karst-indexer", "karst-search-head"])
    error_message = "service accounts without a role"
  }
  assert {
    # Four m8gd.large.
    condition     = output.monthly_cost.nodes == 336.73
    error_message = jsonencode(output.monthly_cost)
  }
}

run "somebody_can_use_the_cluster" {
  command = plan
  variables {
    admin_arns = []
  }
  expect_failures = [var.admin_arns]
}
