output "object_store" {
  description = "KARST_OBJECT_STORE."
  value       = module.storage.object_store
}

output "role_arns" {
  description = "Role by service account."
  value       = module.identity.role_arns
}

output "monthly_cost" {
  description = "What this would cost per month."
  value       = module.cost.monthly_cost
}
