variable "name" {
  description = "Name of the cluster."
  type        = string
  default     = "karst-prod"
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
