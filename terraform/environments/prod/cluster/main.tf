# The network, EKS over three zones, and the roles of the pods. It may be destroyed and applied again: everything that
# Karst knows is in the bucket of ../data.

provider "aws" {
  region = var.region
  default_tags {
    tags = { karst = var.name }
  }
}

module "network" {
  source = "../../../modules/network"
  name   = var.name
  zones  = coalescelist(var.zones, [for letter in ["a", "b", "c"] : "${var.region}${letter}"])
  nat    = "per-zone"
}

module "cluster" {
  source              = "../../../modules/cluster"
  name                = var.name
  subnets             = module.network.private_subnets
  public_access_cidrs = var.public_access_cidrs
  admin_arns          = var.admin_arns
  pools = merge({
    system = {
      instance_types = ["m8gd.4xlarge"], instance_store = true
      per_zone       = { min = 1, desired = 1, max = 2 }
    }
    }, var.karpenter ? {} : {
    indexer = {
      instance_types = [var.indexer_type], instance_store = true, dedicated = true
      per_zone       = { min = 1, desired = var.indexers_per_zone, max = 4 * var.indexers_per_zone }
    }
  })
}

module "karpenter" {
  source         = "../../../modules/karpenter"
  count          = var.karpenter ? 1 : 0
  cluster_name   = module.cluster.name
  node_role_arn  = module.cluster.node_role_arn
  node_role_name = module.cluster.node_role_name
}

module "identity" {
  source       = "../../../modules/identity"
  name         = var.name
  cluster_name = module.cluster.name
  bucket_arn   = var.storage.bucket_arn
  prefix       = var.storage.prefix
  key_arn      = var.storage.key_arn
}

module "cost" {
  source         = "../../../modules/cost"
  raw_gb_per_day = var.raw_gb_per_day
  retention_days = var.retention_days
  nodes          = var.karpenter ? merge(module.cluster.nodes, { (var.indexer_type) = 3 * var.indexers_per_zone }) : module.cluster.nodes
  indexers       = 3 * var.indexers_per_zone
  nat_gateways   = module.network.nat_gateways
}
