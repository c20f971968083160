# The monthly bill of what is applied, from a dated price list. No resources, no provider.

locals {
  prices = jsondecode(file("${path.module}/prices.json"))
  hours  = 730
  days   = 30.4
  month  = local.days * 86400
  stored = var.raw_gb_per_day * var.stored_per_raw * var.retention_days
  # Each tier's part of the stored gigabytes.
  tiers = [for index, tier in local.prices.s3_gb_month : {
    price = tier.price
    from  = index == 0 ? 0 : local.prices.s3_gb_month[index - 1].up_to_gb
    to    = tier.up_to_gb == null ? local.stored : min(tier.up_to_gb, local.stored)
  }]
  nodes = sum(concat([0], values(var.nodes)))
  # Requests per month: of buckets and their merges, of journals, and those that come whether there are events or not.
  puts = (local.days * var.raw_gb_per_day / var.bucket_gb * var.parts_per_bucket * 1.5
  + local.month * (var.indexers * var.journal_puts_per_second + var.other_puts_per_second))
  gets = local.days * var.searched_buckets_per_day + local.month * var.other_gets_per_second
  parts = {
    nodes      = sum(concat([0], [for type, number in var.nodes : number * local.prices.instance_hour[type] * local.hours]))
    storage    = sum([for tier in local.tiers : max(0, tier.to - tier.from) * tier.price])
    requests   = local.puts * local.prices.s3_put + local.gets * local.prices.s3_get
    kubernetes = local.prices.eks_hour * local.hours
    network    = (var.nat_gateways * local.prices.nat_hour + var.load_balancers * local.prices.nlb_hour) * local.hours
    disks      = local.nodes * var.disk_gib * local.prices.ebs_gb_month
    keys       = var.kms_keys * local.prices.kms_key_month
    traffic    = local.days * var.raw_gb_per_day * var.journal_per_raw * var.copies_in_other_zones * local.prices.cross_zone_gb
  }
  total = sum(values(local.parts))
}
