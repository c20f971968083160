variable "raw_gb_per_day" {
  description = "Events per day, in gigabytes of text."
  type        = number
  validation {
    condition     = var.raw_gb_per_day > 0
    error_message = "raw_gb_per_day: more than 0; it is what a licence counts, the text of all events of a day."
  }
}

variable "retention_days" {
  description = "Days for which events are kept."
  type        = number
  default     = 90
  validation {
    condition     = var.retention_days >= 1
    error_message = "retention_days: 1 or more."
  }
}

variable "nodes" {
  description = "Number of nodes by instance type, as applied (output nodes of the module cluster)."
  type        = map(number)
  validation {
    condition     = alltrue([for type in keys(var.nodes) : contains(keys(jsondecode(file("${path.module}/prices.json")).instance_hour), type)])
    error_message = "nodes: a type is not in modules/cost/prices.json; add its price per hour there."
  }
}

variable "disk_gib" {
  description = "EBS per node."
  type        = number
  default     = 50
}

variable "nat_gateways" {
  description = "Number of NAT gateways."
  type        = number
  default     = 1
}

variable "load_balancers" {
  description = "Number of network load balancers."
  type        = number
  default     = 2
}

variable "kms_keys" {
  description = "Number of keys."
  type        = number
  default     = 2
}

variable "stored_per_raw" {
  description = "Bytes in object storage per byte of text, as measured (docs/benchmarks.md)."
  type        = number
  default     = 0.23
}

variable "bucket_gb" {
  description = "Text of a bucket when it is uploaded, in gigabytes."
  type        = number
  default     = 0.2
}

variable "parts_per_bucket" {
  description = "PUT requests of an upload and its commit; merges add half of it."
  type        = number
  default     = 2
}

variable "searched_buckets_per_day" {
  description = "Buckets that searches read from object storage, not from the cache, per day."
  type        = number
  default     = 100000
}

variable "indexers" {
  description = "Number of indexers."
  type        = number
  default     = 1
  validation {
    condition     = var.indexers >= 1
    error_message = "indexers: 1 or more."
  }
}

variable "journal_puts_per_second" {
  description = "PUT requests of an indexer for its journal in object storage, per second (docs/benchmarks.md): at most 4 while events come with ackLevel = remote, 0 with local."
  type        = number
  default     = 3.8
}

variable "other_puts_per_second" {
  description = "PUT and LIST requests of the cluster whether there are events or not, per second: the lease of the catalog once a second, journals of the other processes."
  type        = number
  default     = 1.2
}

variable "other_gets_per_second" {
  description = "GET requests of the cluster whether there are events or not, per second: the standby looks at the lease."
  type        = number
  default     = 1
}

variable "copies_in_other_zones" {
  description = "Copies of the journal at indexers in other zones, for each event: 0 with ackLevel = local or remote; with replicated, replication_factor less 1 where no two copies share a zone."
  type        = number
  default     = 0
}

variable "journal_per_raw" {
  description = "Bytes of the journal that a copy gets per byte of text: lz4, as measured."
  type        = number
  default     = 0.27
}
