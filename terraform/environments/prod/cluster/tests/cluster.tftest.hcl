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
  mock_resource "aws_iam_instance_profile" {
    defaults = { arn = "arn:aws:iam::123456789012:instance-profile/karst-prod-karpenter-node" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:us-east-1:123456789012:karst-prod-karpenter" }
  }
}

variables {
  admin_arns = ["arn:aws:iam::123456789012:role/admin"]
  storage = {
    bucket_arn   = "arn:aws:s3:::karst-prod-data"
    prefix       = "cluster"
    key_arn      = "arn:aws:kms:us-east-1:123456789012:key/2"
    object_store = "s3://karst-prod-data/cluster"
  }
}

run "a_plan_has_what_the_overlay_needs" {
  command = plan
  assert {
    condition     = output.facts_env == "AWS_REGION=us-east-1\nKARST_OBJECT_STORE=s3://karst-prod-data/cluster\n"
    error_message = output.facts_env
  }
  assert {
    condition     = output.karpenter == null
    error_message = "Karpenter without being asked"
  }
}

run "karpenter_brings_the_nodes_of_indexers_for_the_same_bill" {
  command = plan
  variables {
    karpenter = true
  }
  assert {
    condition     = output.karpenter.queue != "" && output.monthly_cost.nodes == run.a_plan_has_what_the_overlay_needs.monthly_cost.nodes
    error_message = jsonencode(output.monthly_cost)
  }
}

run "values_that_are_wrong_are_refused" {
  command = plan
  variables {
    admin_arns        = []
    indexers_per_zone = 0
  }
  expect_failures = [var.admin_arns, var.indexers_per_zone]
}
