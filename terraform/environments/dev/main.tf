# Everything in one state, small, and without protection: terraform destroy takes the events along.

provider "aws" {
  region = var.region
  default_tags {
    tags = { karst = var.name }
  }
}

module "network" {
  source = "../../modules/network"
  name   = var.name
  zones  = coalescelist(var.zones, [for letter in ["a", "b"] : "${var.region}${letter}"])
  nat    = "single"
}

module "storage" {
  source            = "../../modules/storage"
  name              = var.name
  bucket            = var.bucket
  protected         = false
  force_destroy     = true
  key_deletion_days = 7
}

module "cluster" {
  source              = "../../modules/cluster"
  name                = var.name
  subnets             = module.network.private_subnets
  public_access_cidrs = var.public_access_cidrs
  admin_arns          = var.admin_arns
  pools = {
    system  = { instance_types = ["m8gd.large"], instance_store = true, per_zone = { min = 1, desired = 1, max = 2 } }
    indexer = { instance_types = ["m8gd.large"], instance_store = true, dedicated = true, per_zone = { min = 1, desired = 1, max = 3 } }
  }
}

module "identity" {
  source       = "../../modules/identity"
  name         = var.name
  cluster_name = module.cluster.name
  bucket_arn   = module.storage.bucket_arn
  prefix       = module.storage.prefix
  key_arn      = module.storage.key_arn
}

module "cost" {
  source         = "../../modules/cost"
  raw_gb_per_day = var.raw_gb_per_day
  retention_days = var.retention_days
  nodes          = module.cluster.nodes
  indexers       = 2
  nat_gateways   = module.network.nat_gateways
}
