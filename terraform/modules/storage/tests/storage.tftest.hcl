# Planned only: what is protected could not be cleaned up.
mock_provider "aws" {
  override_during = plan
  override_data {
    target = data.aws_iam_policy_document.data
    values = { json = "{}" }
  }
  override_resource {
    target = aws_s3_bucket.data
    values = { arn = "arn:aws:s3:::karst-test-data", id = "karst-test-data" }
  }
}

variables {
  name = "karst-test"
}

run "the_bucket_is_private_encrypted_and_protected" {
  command = plan
  assert {
    condition     = aws_s3_bucket.data.bucket == "karst-test-data" && !aws_s3_bucket.data.force_destroy
    error_message = "the bucket has another name, or goes with its events"
  }
  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.data.block_public_acls, aws_s3_bucket_public_access_block.data.block_public_policy,
      aws_s3_bucket_public_access_block.data.ignore_public_acls, aws_s3_bucket_public_access_block.data.restrict_public_buckets,
    ])
    error_message = "something of the bucket may become public"
  }
  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.data.rule).bucket_key_enabled
    error_message = "without a bucket key, every read asks KMS"
  }
  assert {
    condition     = aws_kms_key.this.enable_key_rotation && aws_kms_key.this.deletion_window_in_days == 30
    error_message = "the key"
  }
  assert {
    condition     = length(terraform_data.protection) == 1 && output.object_store == "s3://karst-test-data/cluster"
    error_message = "protection or address"
  }
}

run "events_are_not_deleted_by_accident" {
  command = plan
  variables {
    force_destroy = true
  }
  expect_failures = [var.force_destroy]
}

run "names_and_prefixes_are_checked" {
  command = plan
  variables {
    name              = "Karst"
    prefix            = "a/b"
    key_deletion_days = 3
  }
  expect_failures = [var.name, var.prefix, var.key_deletion_days]
}
