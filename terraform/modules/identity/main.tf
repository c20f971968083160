# A role per service account, with what its processes do and no more. Only the control plane deletes buckets: with the
# rights of an indexer or a search head nobody erases events.

locals {
  read       = ["s3:GetObject"]
  write      = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
  everything = concat(local.read, local.write, ["s3:DeleteObject"])
  # Keys below the prefix, and the actions on them.
  # Others than the control plane get the catalog from it, and read neither catalog nor lease.
  rights = {
    karst-control-plane = { "" = local.everything }
    karst-indexer = {
      "buckets/" = concat(local.read, local.write)
      # Whether somebody has begun to make the catalog anew: every process asks at its start.
      "catalog-rebuild" = local.read
      "collections/"    = local.read
      # Apps, and the identity of the store, which every process compares at its start.
      "installed/" = local.read
      # Journals of indexes with ackLevel = remote: their records go once they are in buckets.
      "journal/" = local.everything
      "lookups/" = local.read
    }
    karst-search-head = merge({
      # Its own log and audit trail, and events of `collect`, become buckets, too.
      "buckets/"        = concat(local.read, local.write)
      "catalog-rebuild" = local.read
      "collections/"    = local.everything
      "installed/"      = local.everything
      "journal/"        = local.everything
      "lookups/"        = local.everything
      "saved_jobs/"     = local.everything
    }, { for prefix in var.archives : prefix => local.read })
  }
  issuer = var.oidc_provider_arn == null ? "" : join("/", slice(split("/", var.oidc_provider_arn), 1, length(split("/", var.oidc_provider_arn))))
}

data "aws_region" "this" {}

data "aws_iam_policy_document" "trust" {
  for_each = local.rights
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
        values   = ["system:serviceaccount:${var.namespace}:${each.key}"]
      }
      condition {
        test     = "StringEquals"
        variable = "${local.issuer}:aud"
        values   = ["sts.amazonaws.com"]
      }
    }
  }
}

data "aws_iam_policy_document" "rights" {
  for_each = local.rights
  dynamic "statement" {
    for_each = each.value
    content {
      actions   = statement.value
      resources = ["${var.bucket_arn}/${var.prefix}/${statement.key}*"]
    }
  }
  statement {
    actions   = ["s3:ListBucket"]
    resources = [var.bucket_arn]
    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = [var.prefix, "${var.prefix}/*"]
    }
  }
  # The key, for objects of S3 only.
  statement {
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [var.key_arn]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.this.name}.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "this" {
  for_each           = local.rights
  name               = "${var.name}-${trimprefix(each.key, "karst-")}"
  assume_role_policy = data.aws_iam_policy_document.trust[each.key].json
  tags               = var.tags
}

resource "aws_iam_role_policy" "this" {
  for_each = local.rights
  name     = "object-store"
  role     = aws_iam_role.this[each.key].id
  policy   = data.aws_iam_policy_document.rights[each.key].json
}

resource "aws_eks_pod_identity_association" "this" {
  for_each        = var.mode == "pod-identity" ? local.rights : {}
  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = each.key
  role_arn        = aws_iam_role.this[each.key].arn
  tags            = var.tags
}
