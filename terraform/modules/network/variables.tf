variable "name" {
  description = "Name of the cluster; prefix of all names."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "name: 2 to 31 lower-case letters, digits and dashes, beginning with a letter, for example \"karst-dev\"."
  }
}

variable "cidr" {
  description = "Addresses of the VPC. Pods have addresses of it, too."
  type        = string
  default     = "10.40.0.0/16"
  validation {
    condition     = can(cidrhost(var.cidr, 0)) && try(tonumber(split("/", var.cidr)[1]), 32) <= 18
    error_message = "cidr: a network of /18 or larger, since every pod takes an address of it, for example \"10.40.0.0/16\"."
  }
}

variable "zones" {
  description = "Availability zones."
  type        = list(string)
  validation {
    condition     = contains([2, 3], length(var.zones)) && length(distinct(var.zones)) == length(var.zones)
    error_message = "zones: two or three different availability zones; EKS needs two, and three let one of them fail without doubling the others."
  }
}

variable "nat" {
  description = "NAT gateways: none, single, or per-zone."
  type        = string
  default     = "single"
  validation {
    condition     = contains(["none", "single", "per-zone"], var.nat)
    error_message = "nat: \"none\" (no way out of private subnets but S3), \"single\" (cheap; its zone takes the others along) or \"per-zone\"."
  }
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
