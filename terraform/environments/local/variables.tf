variable "endpoint" {
  description = "Where the local AWS answers."
  type        = string
  default     = "http://127.0.0.1:5000"
}

variable "protected" {
  description = "Refuse to destroy the bucket."
  type        = bool
  default     = false
}
