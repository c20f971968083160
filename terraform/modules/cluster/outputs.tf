output "name" {
  description = "The cluster."
  value       = aws_eks_cluster.this.name
}

output "endpoint" {
  description = "Address of the API server."
  value       = aws_eks_cluster.this.endpoint
}

output "oidc_provider_arn" {
  description = "For mode = \"irsa\" of the module identity."
  value       = aws_iam_openid_connect_provider.this.arn
}

output "nodes" {
  description = "Desired nodes by instance type, for the cost model."
  value = { for type in distinct([for pool in values(var.pools) : pool.instance_types[0]]) : type => sum([
    for pool in values(var.pools) : pool.instance_types[0] == type ? pool.per_zone.desired * length(var.subnets) : 0
  ]) }
}

output "node_role_arn" {
  description = "Role of the nodes."
  value       = aws_iam_role.node.arn
}

output "node_role_name" {
  description = "Name of that role."
  value       = aws_iam_role.node.name
}
