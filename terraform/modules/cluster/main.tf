# An EKS cluster: access by entries only, secrets encrypted, and per pool one group of nodes in each zone, so that zones
# have exact numbers and nothing is moved between them.

locals {
  groups = merge([for pool, settings in var.pools : {
    for zone, subnet in var.subnets : "${pool}-${zone}" => { pool = pool, settings = settings, subnet = subnet, zone = zone }
  }]...)
  addons = var.addons ? ["vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent", "metrics-server"] : []
  # Without disks of their own nodes need no settings. The kubelet waits for pods when a machine is shut down.
  node_config = <<-YAML
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      instance:
        localStorage:
          strategy: RAID0
      kubelet:
        config:
          shutdownGracePeriod: 150s
          shutdownGracePeriodCriticalPods: 15s
  YAML
  user_data = join("\n", [
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=\"karst\"",
    "",
    "--karst",
    "Content-Type: application/node.eks.aws",
    "",
    local.node_config,
    "--karst--",
    "",
  ])
}

data "aws_iam_policy_document" "cluster_trust" {
  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]
    principals {
      type        = "Service"
      identifiers = ["eks.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "node_trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_partition" "this" {}

resource "aws_iam_role" "cluster" {
  name               = "${var.name}-cluster"
  assume_role_policy = data.aws_iam_policy_document.cluster_trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "cluster" {
  role       = aws_iam_role.cluster.name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/AmazonEKSClusterPolicy"
}

resource "aws_iam_role" "node" {
  name               = "${var.name}-node"
  assume_role_policy = data.aws_iam_policy_document.node_trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each   = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"])
  role       = aws_iam_role.node.name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/${each.value}"
}

resource "aws_kms_key" "secrets" {
  #checkov:skip=CKV2_AWS_64:the default policy leaves rights on the key to IAM, and EKS makes a grant for itself
  description             = "${var.name}: secrets of Kubernetes"
  enable_key_rotation     = true
  deletion_window_in_days = 7
  tags                    = var.tags
}

# Made here: EKS would make one that nobody deletes.
resource "aws_cloudwatch_log_group" "cluster" {
  #checkov:skip=CKV_AWS_158:it has no events of users, and CloudWatch encrypts it with a key of its own
  #checkov:skip=CKV_AWS_338:the days are a variable, log_days, which whoever needs a year can set
  name              = "/aws/eks/${var.name}/cluster"
  retention_in_days = var.log_days
  tags              = var.tags
}

resource "aws_eks_cluster" "this" {
  #checkov:skip=CKV_AWS_37:the logs of scheduler and controller manager say nothing about who did what, and are billed by the gigabyte
  name                          = var.name
  version                       = var.kubernetes_version
  role_arn                      = aws_iam_role.cluster.arn
  enabled_cluster_log_types     = ["api", "audit", "authenticator"]
  bootstrap_self_managed_addons = !var.addons
  tags                          = var.tags

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = false
  }
  encryption_config {
    resources = ["secrets"]
    provider {
      key_arn = aws_kms_key.secrets.arn
    }
  }
  # Extended support costs six times as much.
  upgrade_policy {
    support_type = "STANDARD"
  }
  vpc_config {
    subnet_ids              = values(var.subnets)
    endpoint_private_access = true
    endpoint_public_access  = length(var.public_access_cidrs) > 0
    public_access_cidrs     = length(var.public_access_cidrs) > 0 ? var.public_access_cidrs : null
  }
  depends_on = [aws_iam_role_policy_attachment.cluster, aws_cloudwatch_log_group.cluster]
}

resource "aws_eks_access_entry" "admin" {
  for_each      = toset(var.addons ? var.admin_arns : [])
  cluster_name  = aws_eks_cluster.this.name
  principal_arn = each.value
  tags          = var.tags
}

resource "aws_eks_access_policy_association" "admin" {
  for_each      = aws_eks_access_entry.admin
  cluster_name  = aws_eks_cluster.this.name
  principal_arn = each.value.principal_arn
  policy_arn    = "arn:${data.aws_partition.this.partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
  access_scope {
    type = "cluster"
  }
}

resource "aws_eks_addon" "this" {
  for_each     = toset(local.addons)
  cluster_name = aws_eks_cluster.this.name
  addon_name   = each.value
  # Network policies, and many addresses per node.
  configuration_values = each.value != "vpc-cni" ? null : jsonencode({
    enableNetworkPolicy = "true"
    env                 = { ENABLE_PREFIX_DELEGATION = "true" }
  })
  resolve_conflicts_on_update = "PRESERVE"
  tags                        = var.tags
}

resource "aws_launch_template" "pool" {
  for_each  = var.pools
  name      = "${var.name}-${each.key}"
  user_data = each.value.instance_store ? base64encode(local.user_data) : null
  tags      = var.tags

  # Pods reach no credentials of their node.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_size           = each.value.disk_gib
      volume_type           = "gp3"
      encrypted             = "true"
      delete_on_termination = "true"
    }
  }
  tag_specifications {
    resource_type = "instance"
    tags          = merge(var.tags, { Name = "${var.name}-${each.key}" })
  }
}

resource "aws_eks_node_group" "this" {
  for_each        = local.groups
  cluster_name    = aws_eks_cluster.this.name
  node_group_name = each.key
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = [each.value.subnet]
  instance_types  = each.value.settings.instance_types
  ami_type        = each.value.settings.architecture == "arm64" ? "AL2023_ARM_64_STANDARD" : "AL2023_x86_64_STANDARD"
  labels          = { "karst.io/pool" = each.value.pool }
  tags            = var.tags

  launch_template {
    id      = aws_launch_template.pool[each.value.pool].id
    version = aws_launch_template.pool[each.value.pool].latest_version
  }
  scaling_config {
    min_size     = each.value.settings.per_zone.min
    desired_size = each.value.settings.per_zone.desired
    max_size     = each.value.settings.per_zone.max
  }
  # A drain that a disruption budget blocks fails visibly.
  update_config {
    max_unavailable = 1
  }
  node_repair_config {
    enabled = true
  }
  dynamic "taint" {
    for_each = each.value.settings.dedicated ? [1] : []
    content {
      key    = "karst.io/pool"
      value  = each.value.pool
      effect = "NO_SCHEDULE"
    }
  }
  lifecycle {
    # Autoscalers change it.
    ignore_changes = [scaling_config[0].desired_size]
  }
  depends_on = [aws_iam_role_policy_attachment.node]
}

# For pods without the agent of Pod Identity.
resource "aws_iam_openid_connect_provider" "this" {
  url            = aws_eks_cluster.this.identity[0].oidc[0].issuer
  client_id_list = ["sts.amazonaws.com"]
  tags           = var.tags
}
