# 10 TB a day for 90 days on six i8g.4xlarge.
variables {
  raw_gb_per_day = 10000
  nodes          = { "i8g.4xlarge" = 6 }
}

run "ten_terabytes_a_day" {
  command = plan
  assert {
    condition     = output.monthly_cost.nodes == 6012.86
    error_message = "nodes: ${output.monthly_cost.nodes}"
  }
  assert {
    # 207,000 GB: 51,200 at 2.3 cents, the others at 2.2.
    condition     = output.monthly_cost.stored_gb == 207000 && output.monthly_cost.storage == 4605.2
    error_message = "storage: ${output.monthly_cost.storage}"
  }
  assert {
    condition     = abs(output.monthly_cost.total - sum([for part in ["nodes", "storage", "requests", "kubernetes", "network", "disks", "keys", "traffic"] : output.monthly_cost[part]])) < 0.1
    error_message = "the total is not the sum"
  }
  assert {
    condition     = output.monthly_cost.prices_as_of == "2026-07-20"
    error_message = "the prices have no date"
  }
}

run "a_little" {
  command = plan
  variables {
    raw_gb_per_day = 100
    nodes          = { "m8gd.large" = 3 }
  }
  assert {
    condition     = output.monthly_cost.storage == 47.61
    error_message = "storage: ${output.monthly_cost.storage}"
  }
}

# The table of docs/terraform.md.
run "one_indexer" {
  command = plan
  variables {
    raw_gb_per_day = 50
    nodes          = { "m8gd.large" = 2 }
    nat_gateways   = 1
  }
  assert {
    condition     = abs(output.monthly_cost.total - 408.92) < 0.02 && output.monthly_cost.per_raw_gb == 0.269
    error_message = jsonencode(output.monthly_cost)
  }
}

run "three_indexers" {
  command = plan
  variables {
    raw_gb_per_day = 1000
    nodes          = { "i8g.xlarge" = 3, "m8gd.large" = 3 }
    indexers       = 3
    nat_gateways   = 3
  }
  assert {
    condition     = abs(output.monthly_cost.total - 1880.67) < 0.02 && output.monthly_cost.per_raw_gb == 0.0619
    error_message = jsonencode(output.monthly_cost)
  }
}

run "ten_indexers" {
  command = plan
  variables {
    raw_gb_per_day = 16000
    nodes          = { "i8g.4xlarge" = 10, "m8gd.4xlarge" = 3 }
    indexers       = 10
    nat_gateways   = 3
  }
  assert {
    condition     = abs(output.monthly_cost.total - 20191.4) < 0.02 && output.monthly_cost.per_raw_gb == 0.0415
    error_message = jsonencode(output.monthly_cost)
  }
}

# Two indexers of docs/benchmarks.md, whose requests were counted at the S3 server: 115.75 dollars a month.
run "requests_are_those_that_were_counted" {
  command = plan
  variables {
    raw_gb_per_day = 191.9
    nodes          = {}
    indexers       = 2
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 115.75 - 1) < 0.05
    error_message = "requests: ${output.monthly_cost.requests}"
  }
}

# The four columns of the design: 90 days, copies of the journal at one indexer in another zone, ten searches a day that
# read a footer of every bucket. Nodes beside the indexers and requests per bucket are those that give its rows.
run "design_hundred_gigabytes" {
  command = plan
  variables {
    raw_gb_per_day           = 100
    nodes                    = { "m8gd.large" = 3, "t4g.large" = 3 }
    indexers                 = 3
    nat_gateways             = 1
    bucket_gb                = 0.2
    parts_per_bucket         = 11
    searched_buckets_per_day = 450000
    journal_puts_per_second  = 0
    other_puts_per_second    = 0
    other_gets_per_second    = 0
    copies_in_other_zones    = 1
  }
  assert {
    condition     = abs(output.monthly_cost.nodes - 400) < 0.5 && abs(output.monthly_cost.storage / 48 - 1) < 0.01
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 7 - 1) < 0.05 && abs(output.monthly_cost.traffic / 16 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.total / 620 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
}

run "design_one_terabyte" {
  command = plan
  variables {
    raw_gb_per_day           = 1000
    nodes                    = { "i8g.xlarge" = 3, "m8g.large" = 3 }
    indexers                 = 3
    nat_gateways             = 3
    bucket_gb                = 0.2
    parts_per_bucket         = 11
    searched_buckets_per_day = 4500000
    journal_puts_per_second  = 0
    other_puts_per_second    = 0
    other_gets_per_second    = 0
    copies_in_other_zones    = 1
  }
  assert {
    condition     = abs(output.monthly_cost.nodes - 948) < 0.5 && abs(output.monthly_cost.storage / 476 - 1) < 0.01
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 67 - 1) < 0.05 && abs(output.monthly_cost.traffic / 164 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.total / 1896 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
}

run "design_ten_terabytes" {
  command = plan
  variables {
    raw_gb_per_day           = 10000
    nodes                    = { "i8g.4xlarge" = 6, "m8g.large" = 6 }
    indexers                 = 6
    nat_gateways             = 3
    bucket_gb                = 1
    parts_per_bucket         = 17.5
    searched_buckets_per_day = 9000000
    journal_puts_per_second  = 0
    other_puts_per_second    = 0
    other_gets_per_second    = 0
    copies_in_other_zones    = 1
  }
  assert {
    condition     = abs(output.monthly_cost.nodes - 6406) < 0.5 && abs(output.monthly_cost.storage / 4604 - 1) < 0.01
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 149 - 1) < 0.05 && abs(output.monthly_cost.traffic / 1642 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.total / 13300 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
}

run "design_hundred_terabytes" {
  command = plan
  variables {
    raw_gb_per_day           = 100000
    nodes                    = { "i8g.8xlarge" = 30, "m8g.large" = 30 }
    indexers                 = 30
    nat_gateways             = 3
    bucket_gb                = 1
    parts_per_bucket         = 17.5
    searched_buckets_per_day = 90000000
    journal_puts_per_second  = 0
    other_puts_per_second    = 0
    other_gets_per_second    = 0
    copies_in_other_zones    = 1
  }
  assert {
    condition     = abs(output.monthly_cost.nodes - 62094) < 0.5 && abs(output.monthly_cost.storage / 44020 - 1) < 0.01
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 1494 - 1) < 0.05 && abs(output.monthly_cost.traffic / 16416 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
  assert {
    condition     = abs(output.monthly_cost.total / 127107 - 1) < 0.05
    error_message = jsonencode(output.monthly_cost)
  }
}

# The same with journals in object storage instead of copies.
run "design_journals_in_object_storage" {
  command = plan
  variables {
    raw_gb_per_day           = 100000
    nodes                    = {}
    indexers                 = 30
    parts_per_bucket         = 0
    searched_buckets_per_day = 0
    journal_puts_per_second  = 4
    other_puts_per_second    = 0
    other_gets_per_second    = 0
  }
  assert {
    condition     = abs(output.monthly_cost.requests / 1577 - 1) < 0.01
    error_message = jsonencode(output.monthly_cost)
  }
}

# Acknowledgements by the disk of the indexer: no journal in object storage.
run "local_acknowledgements_cost_no_requests" {
  command = plan
  variables {
    raw_gb_per_day          = 1000
    nodes                   = {}
    indexers                = 3
    journal_puts_per_second = 0
  }
  assert {
    condition     = abs(output.monthly_cost.requests - 20.31) < 0.02
    error_message = "requests: ${output.monthly_cost.requests}"
  }
}

run "a_type_without_a_price_is_refused" {
  command = plan
  variables {
    nodes          = { "x1.large" = 3 }
    raw_gb_per_day = 0
    retention_days = 0
    indexers       = 0
  }
  expect_failures = [var.nodes, var.raw_gb_per_day, var.retention_days, var.indexers]
}
