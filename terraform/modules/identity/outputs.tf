output "role_arns" {
  description = "Role by service account. With irsa, annotate the accounts with eks.amazonaws.com/role-arn."
  value       = { for account, role in aws_iam_role.this : account => role.arn }
}
