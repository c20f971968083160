# The modules against an AWS that runs on this machine (moto), to see that they apply, change nothing twice, and destroy.
# Roles are those of an OpenID Connect provider, and add-ons are off: moto knows neither Pod Identity nor add-ons.

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  s3_use_path_style           = true
  endpoints {
    cloudwatchlogs   = var.endpoint
    cloudwatchevents = var.endpoint
    ec2              = var.endpoint
    eks              = var.endpoint
    iam              = var.endpoint
    kms              = var.endpoint
    s3               = var.endpoint
    sqs              = var.endpoint
    sts              = var.endpoint
  }
}

module "network" {
  source = "../../modules/network"
  name   = "karst-local"
  zones  = ["us-east-1a", "us-east-1b"]
}

module "storage" {
  source          = "../../modules/storage"
  name            = "karst-local"
  protected       = var.protected
  force_destroy   = !var.protected
  lifecycle_rules = false
}

module "cluster" {
  source  = "../../modules/cluster"
  name    = "karst-local"
  subnets = module.network.private_subnets
  addons  = false
  pools = {
    indexer = { instance_types = ["m8gd.large"], instance_store = true, dedicated = true, per_zone = { min = 1, desired = 1, max = 3 } }
  }
}

module "identity" {
  source            = "../../modules/identity"
  name              = "karst-local"
  mode              = "irsa"
  cluster_name      = module.cluster.name
  oidc_provider_arn = module.cluster.oidc_provider_arn
  bucket_arn        = module.storage.bucket_arn
  prefix            = module.storage.prefix
  key_arn           = module.storage.key_arn
}

module "karpenter" {
  source            = "../../modules/karpenter"
  cluster_name      = module.cluster.name
  node_role_arn     = module.cluster.node_role_arn
  node_role_name    = module.cluster.node_role_name
  mode              = "irsa"
  oidc_provider_arn = module.cluster.oidc_provider_arn
}

module "cost" {
  source         = "../../modules/cost"
  raw_gb_per_day = 20
  nodes          = module.cluster.nodes
  indexers       = 2
  nat_gateways   = module.network.nat_gateways
}
