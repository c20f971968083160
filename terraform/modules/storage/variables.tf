variable "name" {
  description = "Name of the cluster; the bucket is NAME-data, unless bucket says otherwise."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "name: 2 to 31 lower-case letters, digits and dashes, beginning with a letter, for example \"karst-dev\"."
  }
}

variable "bucket" {
  description = "Name of the bucket; names of buckets are unique in the world. Default: NAME-data."
  type        = string
  default     = null
}

variable "prefix" {
  description = "Prefix of all keys in the bucket."
  type        = string
  default     = "cluster"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]*$", var.prefix))
    error_message = "prefix: one path segment of letters, digits, dots, dashes and underscores, for example \"cluster\"."
  }
}

variable "protected" {
  description = "Refuse to destroy the bucket with terraform destroy."
  type        = bool
  default     = true
}

variable "force_destroy" {
  description = "Delete the events with the bucket, where it is not protected."
  type        = bool
  default     = false
  validation {
    condition     = !(var.force_destroy && var.protected)
    error_message = "force_destroy deletes the events: set protected = false, too, if that is what you want."
  }
}

variable "key_deletion_days" {
  description = "Days between the deletion of the key and its end, in which it can be restored."
  type        = number
  default     = 30
  validation {
    condition     = var.key_deletion_days >= 7 && var.key_deletion_days <= 30
    error_message = "key_deletion_days: 7 to 30; without the key, nobody can read the bucket."
  }
}

variable "lifecycle_rules" {
  description = "Abort unfinished uploads after a day. Off only for object stores that do not know lifecycle rules."
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
