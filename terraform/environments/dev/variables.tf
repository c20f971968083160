variable "name" {
  description = "Name of the cluster."
  type        = string
  default     = "karst-dev"
}

variable "bucket" {
  description = "Name of the bucket, unique in the world. Default: NAME-data."
  type        = string
  default     = null
}

variable "region" {
  description = "Region."
  type        = string
  default     = "us-east-1"
}

# Not those that AWS lists at the moment: a zone that is added to the list, or taken out of it in an outage, would
# replace subnets and nodes.
variable "zones" {
  description = "Availability zones. Default: REGIONa and REGIONb; some regions have other letters."
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
  default     = 20
}

variable "retention_days" {
  description = "Retention, for the cost model."
  type        = number
  default     = 90
}
