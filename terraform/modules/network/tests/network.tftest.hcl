mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
}

variables {
  name  = "karst-test"
  zones = ["us-east-1a", "us-east-1b", "us-east-1c"]
}

run "every_private_subnet_reaches_s3_without_nat" {
  assert {
    condition     = length(aws_vpc_endpoint.s3.route_table_ids) == 3 && aws_vpc_endpoint.s3.vpc_endpoint_type == "Gateway"
    error_message = "a private route table has no endpoint of S3"
  }
  assert {
    condition     = length(aws_nat_gateway.this) == 1 && length(aws_route.private) == 3
    error_message = "the one NAT gateway is not for all"
  }
}

run "subnets_do_not_overlap" {
  command = plan
  assert {
    condition     = [for zone in var.zones : aws_subnet.private[zone].cidr_block] == ["10.40.0.0/19", "10.40.32.0/19", "10.40.64.0/19"]
    error_message = "private subnets"
  }
  assert {
    condition     = [for zone in var.zones : aws_subnet.public[zone].cidr_block] == ["10.40.224.0/22", "10.40.228.0/22", "10.40.232.0/22"]
    error_message = "public subnets"
  }
}

run "a_gateway_per_zone" {
  variables {
    nat = "per-zone"
  }
  assert {
    condition     = output.nat_gateways == 3
    error_message = "gateways"
  }
}

run "no_way_out_but_s3" {
  variables {
    nat = "none"
  }
  assert {
    condition     = length(aws_nat_gateway.this) == 0 && length(aws_route.private) == 0
    error_message = "there is a way out"
  }
}

run "wrong_values_are_refused" {
  command = plan
  variables {
    cidr  = "10.0.0.0/24"
    zones = ["us-east-1a"]
    nat   = "yes"
    name  = "K"
  }
  expect_failures = [var.cidr, var.zones, var.nat, var.name]
}
