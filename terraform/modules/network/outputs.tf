output "vpc_id" {
  description = "The VPC."
  value       = aws_vpc.this.id
}

output "private_subnets" {
  description = "Private subnets by zone: nodes and pods."
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }
}

output "public_subnets" {
  description = "Public subnets by zone: load balancers and NAT."
  value       = { for zone, subnet in aws_subnet.public : zone => subnet.id }
}

output "nat_gateways" {
  description = "Number of NAT gateways, for the cost model."
  value       = length(local.gateway)
}

output "s3_endpoint_id" {
  description = "The gateway endpoint of S3."
  value       = aws_vpc_endpoint.s3.id
}
