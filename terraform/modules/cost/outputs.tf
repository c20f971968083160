output "monthly_cost" {
  description = "US dollars per month, by what is paid for."
  value = merge({ for part, dollars in local.parts : part => floor(dollars * 100 + 0.5) / 100 }, {
    total          = floor(local.total * 100 + 0.5) / 100
    per_raw_gb     = floor(local.total / (var.raw_gb_per_day * local.days) * 10000 + 0.5) / 10000
    stored_gb      = floor(local.stored + 0.5)
    prices_as_of   = local.prices.as_of
    prices_are_for = local.prices.region
  })
}
