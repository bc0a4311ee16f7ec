# An installation's stacks. `lakegate package` puts this file beside the package that it deploys.

terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "bucket" {
  description = "The bucket to which assets/ was copied, in the provider's region."
  type        = string
}

variable "role_arn" {
  description = "The role that CloudFormation takes. Without one it has the rights of whoever applies this."
  type        = string
  default     = null
}

variable "protect_database" {
  description = "Says whether the database is protected: false until all stacks were made once, which a failure would else leave behind."
  type        = bool
  default     = true
}

data "aws_s3_bucket" "assets" {
  bucket = var.bucket
}

locals {
  package    = jsondecode(file("${path.module}/stacks.json"))
  names      = { for part in ["data", "catalog"] : part => "${local.package.name}-${part}" }
  url        = "https://${data.aws_s3_bucket.assets.bucket_regional_domain_name}"
  urls       = { for name, stack in local.package.stacks : name => "${local.url}/${stack.template}" }
  values     = { AssetsBucket = var.bucket, DatabaseProtection = tostring(var.protect_database) }
  parameters = { for name, stack in local.package.stacks : name => { for key in stack.parameters : key => local.values[key] } }
}

resource "aws_cloudformation_stack" "data" {
  name         = local.names.data
  template_url = local.urls[local.names.data]
  parameters   = local.parameters[local.names.data]
  capabilities = ["CAPABILITY_NAMED_IAM"]
  iam_role_arn = var.role_arn

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudformation_stack" "catalog" {
  count        = contains(keys(local.urls), local.names.catalog) ? 1 : 0
  name         = local.names.catalog
  template_url = local.urls[local.names.catalog]
  parameters   = local.parameters[local.names.catalog]
  capabilities = ["CAPABILITY_NAMED_IAM"]
  iam_role_arn = var.role_arn
  depends_on   = [aws_cloudformation_stack.data]

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudformation_stack" "service" {
  name         = local.package.name
  template_url = local.urls[local.package.name]
  parameters   = local.parameters[local.package.name]
  capabilities = ["CAPABILITY_NAMED_IAM"]
  iam_role_arn = var.role_arn
  depends_on   = [aws_cloudformation_stack.data, aws_cloudformation_stack.catalog]
}

output "outputs" {
  value = aws_cloudformation_stack.service.outputs
}
