variable "name" {
  description = "Name of the cluster; prefix of all names."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "name: 2 to 31 lower-case letters, digits and dashes, beginning with a letter, for example \"karst-dev\"."
  }
}

variable "mode" {
  description = "How pods get their role: pod-identity, or irsa where its agent is not there."
  type        = string
  default     = "pod-identity"
  validation {
    condition     = contains(["pod-identity", "irsa"], var.mode)
    error_message = "mode: \"pod-identity\" (the add-on eks-pod-identity-agent) or \"irsa\" (an OpenID Connect provider of the cluster)."
  }
}

variable "cluster_name" {
  description = "The EKS cluster."
  type        = string
}

variable "oidc_provider_arn" {
  description = "For irsa: the OpenID Connect provider of the cluster."
  type        = string
  default     = null
  validation {
    condition     = var.mode != "irsa" || var.oidc_provider_arn != null
    error_message = "oidc_provider_arn: mode = \"irsa\" needs the provider of the cluster (output oidc_provider_arn of the module cluster)."
  }
}

variable "namespace" {
  description = "Namespace of the service accounts, as in the manifests."
  type        = string
  default     = "karst"
}

variable "bucket_arn" {
  description = "The bucket of events and catalog."
  type        = string
  validation {
    condition     = can(regex("^arn:aws[a-z-]*:s3:::[a-z0-9.-]+$", var.bucket_arn))
    error_message = "bucket_arn: the ARN of a bucket, for example \"arn:aws:s3:::karst-dev-data\" (output bucket_arn of the module storage)."
  }
}

variable "prefix" {
  description = "Prefix of all keys in the bucket."
  type        = string
  default     = "cluster"
}

variable "archives" {
  description = "Prefixes below that prefix where frozen buckets are kept (coldToFrozenDir in indexes.conf): search heads read them to thaw."
  type        = list(string)
  default     = ["archive/"]
  validation {
    condition     = alltrue([for prefix in var.archives : can(regex("^[a-z0-9][a-z0-9/_-]*/$", prefix)) && !contains(["buckets/", "catalog/", "catalog-rebuild/", "collections/", "installed/", "journal/", "lease/", "lookups/", "saved_jobs/"], prefix)])
    error_message = "archives: prefixes that end with a slash, for example \"archive/\", and are none of Karst's own."
  }
}

variable "key_arn" {
  description = "The key that encrypts the bucket."
  type        = string
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
