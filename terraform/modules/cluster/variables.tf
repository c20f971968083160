variable "name" {
  description = "Name of the cluster."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "name: 2 to 31 lower-case letters, digits and dashes, beginning with a letter, for example \"karst-dev\"."
  }
}

variable "kubernetes_version" {
  description = "Kubernetes, without the patch."
  type        = string
  default     = "1.35"
  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version)) && try(tonumber(split(".", var.kubernetes_version)[1]) >= 35, false)
    error_message = "kubernetes_version: \"1.35\" or newer: the manifests use fields that older ones do not have."
  }
}

variable "subnets" {
  description = "Private subnets by zone."
  type        = map(string)
  validation {
    condition     = length(var.subnets) >= 2
    error_message = "subnets: EKS needs subnets in two zones at least (output private_subnets of the module network)."
  }
}

variable "pools" {
  description = "Groups of nodes, one per zone each. instance_store: disks of the instance as one RAID 0 for pods."
  type = map(object({
    instance_types = list(string)
    architecture   = optional(string, "arm64")
    instance_store = optional(bool, false)
    per_zone       = object({ min = number, desired = number, max = number })
    disk_gib       = optional(number, 50)
    dedicated      = optional(bool, false)
  }))
  validation {
    condition = alltrue([for pool in values(var.pools) :
    pool.per_zone.min <= pool.per_zone.desired && pool.per_zone.desired <= pool.per_zone.max && pool.per_zone.max > 0])
    error_message = "pools: per_zone needs min <= desired <= max, and max above 0."
  }
  validation {
    condition     = alltrue([for pool in values(var.pools) : contains(["arm64", "x86_64"], pool.architecture)])
    error_message = "pools: architecture is \"arm64\" or \"x86_64\", as that of instance_types."
  }
  validation {
    # Families with disks of their own have a d after the generation (m8gd), or are storage families (i8g, im4gn, is4gen).
    condition = alltrue(flatten([for name, pool in var.pools : [for type in pool.instance_types :
    !pool.instance_store || can(regex("^(i[0-9a-z]*|[a-z]+[0-9]+[a-z]*d[a-z]*)\\.", type))]]))
    error_message = "pools: instance_store = true needs types with disks of their own, for example i8g.4xlarge or m8gd.large."
  }
}

variable "public_access_cidrs" {
  description = "Networks that reach the API server from outside; none for the VPC only."
  type        = list(string)
  default     = []
  validation {
    condition     = !contains(var.public_access_cidrs, "0.0.0.0/0") && alltrue([for cidr in var.public_access_cidrs : can(cidrhost(cidr, 0))])
    error_message = "public_access_cidrs: networks of yours such as [\"203.0.113.0/24\"], not the whole internet."
  }
}

variable "admin_arns" {
  description = "IAM roles or users that administrate the cluster; nobody gets that right for having created it."
  type        = list(string)
  default     = []
}

variable "addons" {
  description = "Add-ons of EKS, and access entries. Off only where the API does not know them."
  type        = bool
  default     = true
}

variable "log_days" {
  description = "Days for which logs of the control plane are kept."
  type        = number
  default     = 30
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
