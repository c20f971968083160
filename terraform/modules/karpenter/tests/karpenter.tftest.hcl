mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/karst-test-karpenter" }
  }
  mock_resource "aws_iam_instance_profile" {
    defaults = { arn = "arn:aws:iam::123456789012:instance-profile/karst-test-karpenter-node" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:us-east-1:123456789012:karst-test-karpenter" }
  }
}

variables {
  cluster_name   = "karst-test"
  node_role_arn  = "arn:aws:iam::123456789012:role/karst-test-node"
  node_role_name = "karst-test-node"
}

run "it_ends_only_what_it_started" {
  assert {
    condition = alltrue([for statement in data.aws_iam_policy_document.controller.statement :
      contains([for condition in statement.condition : condition.variable], "aws:ResourceTag/kubernetes.io/cluster/karst-test")
    if contains(statement.actions, "ec2:TerminateInstances")])
    error_message = "it may end instances of others"
  }
  assert {
    condition     = length([for statement in data.aws_iam_policy_document.controller.statement : 1 if contains(statement.actions, "ec2:TerminateInstances")]) == 1
    error_message = "it cannot end instances"
  }
  assert {
    # Reading of EC2 and of prices has no resources that could be named.
    condition = alltrue([for statement in data.aws_iam_policy_document.controller.statement :
    alltrue([for action in statement.actions : startswith(action, "ec2:Describe") || action == "pricing:GetProducts"]) if contains(statement.resources, "*")])
    error_message = "it may change everything"
  }
  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.controller.statement : anytrue([for action in statement.actions : strcontains(action, "*")])])
    error_message = "a right is a pattern"
  }
  assert {
    condition = [for statement in data.aws_iam_policy_document.controller.statement :
    statement.resources if contains(statement.actions, "iam:PassRole")] == [toset(["arn:aws:iam::123456789012:role/karst-test-node"])]
    error_message = "it may give nodes another role"
  }
  assert {
    condition     = length(aws_eks_pod_identity_association.controller) == 1 && aws_eks_pod_identity_association.controller[0].service_account == "karpenter"
    error_message = "the controller has no role"
  }
}

run "it_hears_of_instances_that_go" {
  assert {
    condition     = length(aws_cloudwatch_event_target.notice) == 4 && alltrue([for target in aws_cloudwatch_event_target.notice : target.arn == aws_sqs_queue.notices.arn])
    error_message = "notices go elsewhere"
  }
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.notice["spot"].event_pattern)["detail-type"] == ["EC2 Spot Instance Interruption Warning"]
    error_message = "no notice of spot instances"
  }
  assert {
    condition     = output.facts_env == "CLUSTER=karst-test\nINSTANCE_PROFILE=karst-test-karpenter-node\n"
    error_message = output.facts_env
  }
}

run "values_that_are_wrong_are_refused" {
  command = plan
  variables {
    cluster_name = "Karst"
    mode         = "irsa"
  }
  expect_failures = [var.cluster_name, var.oidc_provider_arn]
}

run "a_role_comes_in_one_of_two_ways" {
  command = plan
  variables {
    mode = "keys"
  }
  expect_failures = [var.mode]
}
