output "bucket" {
  description = "Name of the bucket."
  value       = aws_s3_bucket.data.id
}

output "bucket_arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.data.arn
}

output "prefix" {
  description = "Prefix of all keys."
  value       = var.prefix
}

output "key_arn" {
  description = "ARN of the key that encrypts the bucket."
  value       = aws_kms_key.this.arn
}

output "object_store" {
  description = "KARST_OBJECT_STORE."
  value       = "s3://${aws_s3_bucket.data.id}/${var.prefix}"
}
