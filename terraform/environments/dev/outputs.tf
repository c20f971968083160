output "facts_env" {
  description = "For the overlay: terraform output -raw facts_env > k8s/overlays/aws-dev/facts.env"
  value       = <<-ENV
    AWS_REGION=${var.region}
    KARST_OBJECT_STORE=${module.storage.object_store}
  ENV
}

output "kubeconfig_command" {
  description = "Sets kubectl up."
  value       = "aws eks update-kubeconfig --region ${var.region} --name ${module.cluster.name}"
}

output "object_store" {
  description = "KARST_OBJECT_STORE."
  value       = module.storage.object_store
}

output "role_arns" {
  description = "Role by service account."
  value       = module.identity.role_arns
}

output "monthly_cost" {
  description = "What this costs per month, from a dated price list."
  value       = module.cost.monthly_cost
}
