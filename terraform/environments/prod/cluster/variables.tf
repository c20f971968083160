variable "name" {
  description = "Name of the cluster."
  type        = string
  default     = "karst-prod"
}

variable "region" {
  description = "Region."
  type        = string
  default     = "us-east-1"
}

# Not those that AWS lists at the moment: a zone that is added to the list, or taken out of it in an outage, would
# replace subnets and nodes.
variable "zones" {
  description = "Availability zones. Default: REGIONa, REGIONb and REGIONc; some regions have other letters."
  type        = list(string)
  default     = []
}

variable "public_access_cidrs" {
  description = "Networks from which kubectl is used."
  type        = list(string)
  default     = []
}

variable "admin_arns" {
  description = "IAM roles or users that administrate the cluster: yours."
  type        = list(string)
  validation {
    condition     = length(var.admin_arns) > 0
    error_message = "admin_arns: name a role or user, otherwise nobody can use the cluster: aws sts get-caller-identity shows yours."
  }
}

variable "raw_gb_per_day" {
  description = "Events per day, for the cost model."
  type        = number
  default     = 10000
}

variable "retention_days" {
  description = "Retention, for the cost model."
  type        = number
  default     = 90
}

variable "indexer_type" {
  description = "Instance type of indexers, with disks of its own."
  type        = string
  default     = "i8g.4xlarge"
}

variable "indexers_per_zone" {
  description = "Indexer nodes per zone."
  type        = number
  default     = 2
  validation {
    condition     = var.indexers_per_zone >= 1
    error_message = "indexers_per_zone: 1 or more."
  }
}

variable "karpenter" {
  description = "Nodes of indexers by Karpenter and k8s/components/karpenter, in place of node groups."
  type        = bool
  default     = false
}

variable "storage" {
  description = "Output storage of ../data."
  type = object({
    bucket_arn   = string
    prefix       = string
    key_arn      = string
    object_store = string
  })
}
