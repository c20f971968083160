# What Karpenter needs of AWS: a role for its controller, the profile of the nodes that it starts, and the queue of notices
# that an instance is about to go. Its controller and k8s/components/karpenter are applied by kubectl and Helm.

locals {
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.name
  issuer    = var.oidc_provider_arn == null ? "" : join("/", slice(split("/", var.oidc_provider_arn), 1, length(split("/", var.oidc_provider_arn))))
  ec2       = "arn:${local.partition}:ec2:${local.region}"
  # What it starts, and what carries its tags from the start.
  made   = [for kind in ["fleet", "instance", "launch-template", "network-interface", "spot-instances-request", "volume"] : "${local.ec2}:*:${kind}/*"]
  shared = concat([for kind in ["image", "snapshot"] : "${local.ec2}::${kind}/*"], [for kind in ["capacity-reservation", "security-group", "subnet"] : "${local.ec2}:*:${kind}/*"])
  owned  = "kubernetes.io/cluster/${var.cluster_name}"
  # Notices, by rule: the instance is told to go, is worth leaving, or has stopped.
  notices = {
    health    = { source = "aws.health", type = "AWS Health Event" }
    rebalance = { source = "aws.ec2", type = "EC2 Instance Rebalance Recommendation" }
    spot      = { source = "aws.ec2", type = "EC2 Spot Instance Interruption Warning" }
    state     = { source = "aws.ec2", type = "EC2 Instance State-change Notification" }
  }
  # Reading of everything in EC2 has no resources that could be named.
  reads = [
    "ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstances", "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplates",
    "ec2:DescribePlacementGroups", "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets",
  ]
}

data "aws_partition" "this" {}

data "aws_region" "this" {}

data "aws_iam_policy_document" "trust" {
  dynamic "statement" {
    for_each = var.mode == "pod-identity" ? [1] : []
    content {
      actions = ["sts:AssumeRole", "sts:TagSession"]
      principals {
        type        = "Service"
        identifiers = ["pods.eks.amazonaws.com"]
      }
    }
  }
  dynamic "statement" {
    for_each = var.mode == "irsa" ? [1] : []
    content {
      actions = ["sts:AssumeRoleWithWebIdentity"]
      principals {
        type        = "Federated"
        identifiers = [var.oidc_provider_arn]
      }
      condition {
        test     = "StringEquals"
        variable = "${local.issuer}:sub"
        values   = ["system:serviceaccount:${var.namespace}:${var.service_account}"]
      }
      condition {
        test     = "StringEquals"
        variable = "${local.issuer}:aud"
        values   = ["sts.amazonaws.com"]
      }
    }
  }
}

data "aws_iam_policy_document" "controller" {
  statement {
    sid       = "StartFromWhatIsShared"
    actions   = ["ec2:CreateFleet", "ec2:RunInstances"]
    resources = local.shared
  }
  statement {
    sid       = "StartFromItsTemplates"
    actions   = ["ec2:CreateFleet", "ec2:RunInstances"]
    resources = ["${local.ec2}:*:launch-template/*"]
    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/${local.owned}"
      values   = ["owned"]
    }
    condition {
      test     = "StringLike"
      variable = "aws:ResourceTag/karpenter.sh/nodepool"
      values   = ["*"]
    }
  }
  statement {
    sid       = "StartWithItsTags"
    actions   = ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"]
    resources = local.made
    condition {
      test     = "StringEquals"
      variable = "aws:RequestTag/${local.owned}"
      values   = ["owned"]
    }
    condition {
      test     = "StringLike"
      variable = "aws:RequestTag/karpenter.sh/nodepool"
      values   = ["*"]
    }
  }
  statement {
    sid       = "TagWhatItStarts"
    actions   = ["ec2:CreateTags"]
    resources = local.made
    condition {
      test     = "StringEquals"
      variable = "aws:RequestTag/${local.owned}"
      values   = ["owned"]
    }
    condition {
      test     = "StringEquals"
      variable = "ec2:CreateAction"
      values   = ["CreateFleet", "CreateLaunchTemplate", "RunInstances"]
    }
  }
  statement {
    sid       = "NameItsInstances"
    actions   = ["ec2:CreateTags"]
    resources = ["${local.ec2}:*:instance/*"]
    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/${local.owned}"
      values   = ["owned"]
    }
    condition {
      test     = "ForAllValues:StringEquals"
      variable = "aws:TagKeys"
      values   = ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]
    }
  }
  statement {
    sid       = "EndWhatItStarted"
    actions   = ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"]
    resources = ["${local.ec2}:*:instance/*", "${local.ec2}:*:launch-template/*"]
    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/${local.owned}"
      values   = ["owned"]
    }
    condition {
      test     = "StringLike"
      variable = "aws:ResourceTag/karpenter.sh/nodepool"
      values   = ["*"]
    }
  }
  statement {
    sid       = "Read"
    actions   = concat(local.reads, ["pricing:GetProducts"])
    resources = ["*"]
  }
  statement {
    sid       = "ReadImages"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${local.partition}:ssm:${local.region}::parameter/aws/service/*"]
  }
  statement {
    sid       = "ReadCluster"
    actions   = ["eks:DescribeCluster"]
    resources = ["arn:${local.partition}:eks:${local.region}:*:cluster/${var.cluster_name}"]
  }
  # The profile is made here, so that the controller makes none.
  statement {
    sid       = "GiveNodesTheirRole"
    actions   = ["iam:PassRole"]
    resources = [var.node_role_arn]
    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["ec2.amazonaws.com"]
    }
  }
  statement {
    sid       = "ReadProfile"
    actions   = ["iam:GetInstanceProfile"]
    resources = [aws_iam_instance_profile.node.arn]
  }
  statement {
    sid       = "TakeNotices"
    actions   = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    resources = [aws_sqs_queue.notices.arn]
  }
}

resource "aws_iam_role" "controller" {
  name               = "${var.cluster_name}-karpenter"
  assume_role_policy = data.aws_iam_policy_document.trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy" "controller" {
  name   = "karpenter"
  role   = aws_iam_role.controller.id
  policy = data.aws_iam_policy_document.controller.json
}

resource "aws_eks_pod_identity_association" "controller" {
  count           = var.mode == "pod-identity" ? 1 : 0
  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = var.service_account
  role_arn        = aws_iam_role.controller.arn
  tags            = var.tags
}

resource "aws_iam_instance_profile" "node" {
  name = "${var.cluster_name}-karpenter-node"
  role = var.node_role_name
  tags = var.tags
}

resource "aws_sqs_queue" "notices" {
  name                      = "${var.cluster_name}-karpenter"
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

data "aws_iam_policy_document" "notices" {
  statement {
    sid       = "Events"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.notices.arn]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
  }
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["sqs:*"]
    resources = [aws_sqs_queue.notices.arn]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_sqs_queue_policy" "notices" {
  queue_url = aws_sqs_queue.notices.url
  policy    = data.aws_iam_policy_document.notices.json
}

resource "aws_cloudwatch_event_rule" "notice" {
  for_each      = local.notices
  name          = "${var.cluster_name}-karpenter-${each.key}"
  event_pattern = jsonencode({ source = [each.value.source], "detail-type" = [each.value.type] })
  tags          = var.tags
}

resource "aws_cloudwatch_event_target" "notice" {
  for_each  = local.notices
  rule      = aws_cloudwatch_event_rule.notice[each.key].name
  target_id = "karpenter"
  arn       = aws_sqs_queue.notices.arn
}
