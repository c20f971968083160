# The bucket with events and catalog: private, encrypted with a key of its own, over TLS only. It has no versions, as
# merges rewrite events a few times, and no expiration: retention is Karst's.

locals {
  bucket = coalesce(var.bucket, "${var.name}-data")
}

resource "aws_kms_key" "this" {
  #checkov:skip=CKV2_AWS_64:the default policy leaves rights on the key to IAM, where modules/identity grants them to the roles of the pods
  description             = "${var.name}: events and catalog of Karst"
  enable_key_rotation     = true
  deletion_window_in_days = var.key_deletion_days
  tags                    = var.tags
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

resource "aws_s3_bucket" "data" {
  #checkov:skip=CKV_AWS_18:access logs need a second bucket; data events of CloudTrail do the same where rules ask for them
  #checkov:skip=CKV_AWS_21:merges rewrite each event a few times, so versions would double the bill (docs/decisions/0050-one-bucket.md)
  #checkov:skip=CKV_AWS_144:a copy in another region is an option, described in docs/terraform.md
  #checkov:skip=CKV2_AWS_62:nothing listens to events of this bucket
  bucket        = local.bucket
  force_destroy = var.force_destroy
  tags          = var.tags
}

resource "aws_s3_bucket_ownership_controls" "data" {
  bucket = aws_s3_bucket.data.id
  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "data" {
  bucket                  = aws_s3_bucket.data.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# With a bucket key there is one request to KMS for many objects, which would otherwise cost more than reading them.
resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  bucket = aws_s3_bucket.data.id
  rule {
    bucket_key_enabled = true
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.this.arn
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "data" {
  count  = var.lifecycle_rules ? 1 : 0
  bucket = aws_s3_bucket.data.id
  rule {
    id     = "unfinished-uploads"
    status = "Enabled"
    filter {}
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

data "aws_iam_policy_document" "data" {
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.data.arn, "${aws_s3_bucket.data.arn}/*"]
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

resource "aws_s3_bucket_policy" "data" {
  bucket     = aws_s3_bucket.data.id
  policy     = data.aws_iam_policy_document.data.json
  depends_on = [aws_s3_bucket_public_access_block.data]
}

# prevent_destroy takes no variable, and a bucket that is not empty is protected by S3 only. This refuses a plan that
# destroys or replaces the bucket, because it would be replaced along with it. To leave for good: delete this resource
# in a reviewed change, apply, then destroy.
resource "terraform_data" "protection" {
  count            = var.protected ? 1 : 0
  triggers_replace = aws_s3_bucket.data.arn
  lifecycle {
    prevent_destroy = true
  }
}
