output "facts_env" {
  description = "For the overlay: terraform output -raw facts_env > k8s/overlays/aws-prod/facts.env"
  value       = <<-ENV
    AWS_REGION=${var.region}
    KARST_OBJECT_STORE=${var.storage.object_store}
  ENV
}

output "kubeconfig_command" {
  description = "Sets kubectl up."
  value       = "aws eks update-kubeconfig --region ${var.region} --name ${module.cluster.name}"
}

output "role_arns" {
  description = "Role by service account."
  value       = module.identity.role_arns
}

output "monthly_cost" {
  description = "What this costs per month, from a dated price list."
  value       = module.cost.monthly_cost
}

output "karpenter" {
  description = "With karpenter = true: queue and role for the chart of Karpenter, and facts for karpenter.env of the overlay."
  value       = one(module.karpenter[*])
}
