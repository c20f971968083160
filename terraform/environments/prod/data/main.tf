# What outlives every cluster: the bucket and its key. A state of its own, with protection; terraform destroy is refused.

provider "aws" {
  region = var.region
  default_tags {
    tags = { karst = var.name }
  }
}

module "storage" {
  source = "../../../modules/storage"
  name   = var.name
  bucket = var.bucket
}
