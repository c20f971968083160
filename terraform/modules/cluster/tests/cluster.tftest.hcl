mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
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
}

variables {
  name    = "karst-test"
  subnets = { "us-east-1a" = "subnet-a", "us-east-1b" = "subnet-b", "us-east-1c" = "subnet-c" }
  pools = {
    system  = { instance_types = ["m8gd.large"], per_zone = { min = 1, desired = 1, max = 2 } }
    indexer = { instance_types = ["i8g.4xlarge"], instance_store = true, dedicated = true, per_zone = { min = 1, desired = 2, max = 8 } }
  }
}

run "one_group_per_pool_and_zone" {
  assert {
    condition     = length(aws_eks_node_group.this) == 6 && alltrue([for group in aws_eks_node_group.this : length(group.subnet_ids) == 1])
    error_message = "groups span zones"
  }
  assert {
    condition     = jsonencode(output.nodes) == jsonencode({ "m8gd.large" = 3, "i8g.4xlarge" = 6 })
    error_message = "the cost model gets other nodes"
  }
  assert {
    condition     = one(aws_eks_node_group.this["indexer-us-east-1a"].taint).effect == "NO_SCHEDULE" && length(aws_eks_node_group.this["system-us-east-1a"].taint) == 0
    error_message = "taints"
  }
}

run "instance_store_is_one_raid" {
  assert {
    condition     = yamldecode(split("--karst--", split("application/node.eks.aws\n\n", base64decode(aws_launch_template.pool["indexer"].user_data))[1])[0]).spec.instance.localStorage.strategy == "RAID0"
    error_message = "the user data of indexers is not read as NodeConfig"
  }
  assert {
    condition     = aws_launch_template.pool["system"].user_data == null
    error_message = "nodes without instance store have settings of one"
  }
  assert {
    condition     = alltrue([for template in aws_launch_template.pool : one(template.metadata_options).http_tokens == "required" && one(template.metadata_options).http_put_response_hop_limit == 1])
    error_message = "pods reach the credentials of their node"
  }
}

run "access_is_by_entries" {
  variables {
    admin_arns = ["arn:aws:iam::123456789012:role/admin"]
  }
  assert {
    condition     = !one(aws_eks_cluster.this.access_config).bootstrap_cluster_creator_admin_permissions && length(aws_eks_access_entry.admin) == 1
    error_message = "the creator is administrator, or the named role is not"
  }
  assert {
    condition     = !one(aws_eks_cluster.this.vpc_config).endpoint_public_access
    error_message = "the API server is public without being asked"
  }
}

run "wrong_values_are_refused" {
  command = plan
  variables {
    name                = "karst_test"
    kubernetes_version  = "1.34"
    public_access_cidrs = ["0.0.0.0/0"]
    subnets             = { "us-east-1a" = "subnet-a" }
    pools               = { indexer = { instance_types = ["m8g.large"], instance_store = true, per_zone = { min = 1, desired = 1, max = 1 } } }
  }
  expect_failures = [var.name, var.kubernetes_version, var.public_access_cidrs, var.subnets, var.pools]
}

# Each of the rules for pools fails alone.
run "a_pool_has_between_min_and_max_nodes" {
  command = plan
  variables {
    pools = { system = { instance_types = ["m8gd.large"], per_zone = { min = 2, desired = 1, max = 2 } } }
  }
  expect_failures = [var.pools]
}

run "a_pool_has_an_architecture_that_karst_is_built_for" {
  command = plan
  variables {
    pools = { system = { instance_types = ["m8gd.large"], architecture = "aarch64", per_zone = { min = 1, desired = 1, max = 2 } } }
  }
  expect_failures = [var.pools]
}
