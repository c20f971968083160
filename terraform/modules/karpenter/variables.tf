variable "cluster_name" {
  description = "The cluster (output name of the module cluster)."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.cluster_name))
    error_message = "cluster_name: 2 to 31 lower-case letters, digits and dashes, beginning with a letter, for example \"karst-dev\"."
  }
}

variable "node_role_arn" {
  description = "Role of the nodes (output node_role_arn of the module cluster)."
  type        = string
}

variable "node_role_name" {
  description = "Its name (output node_role_name)."
  type        = string
}

variable "mode" {
  description = "How the controller gets its role: \"pod-identity\", or \"irsa\" where that is not available."
  type        = string
  default     = "pod-identity"
  validation {
    condition     = contains(["pod-identity", "irsa"], var.mode)
    error_message = "mode: \"pod-identity\" or \"irsa\"."
  }
}

variable "oidc_provider_arn" {
  description = "For mode = \"irsa\" (output oidc_provider_arn of the module cluster)."
  type        = string
  default     = null
  validation {
    condition     = var.mode != "irsa" || var.oidc_provider_arn != null
    error_message = "oidc_provider_arn: mode = \"irsa\" needs the provider of the cluster."
  }
}

variable "namespace" {
  description = "Namespace of the controller."
  type        = string
  default     = "kube-system"
}

variable "service_account" {
  description = "Service account of the controller."
  type        = string
  default     = "karpenter"
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
