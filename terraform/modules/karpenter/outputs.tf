output "controller_role_arn" {
  description = "Role of the controller; with mode = \"irsa\" in the annotation eks.amazonaws.com/role-arn of its service account."
  value       = aws_iam_role.controller.arn
}

output "queue" {
  description = "settings.interruptionQueue of Karpenter's chart."
  value       = aws_sqs_queue.notices.name
}

output "facts_env" {
  description = "Of k8s/components/karpenter, for karpenter.env of the overlay."
  value       = <<-ENV
    CLUSTER=${var.cluster_name}
    INSTANCE_PROFILE=${aws_iam_instance_profile.node.name}
  ENV
}
