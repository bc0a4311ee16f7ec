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

data "aws_s3_bucket" "assets" {
  bucket = var.bucket
}

locals {
  package      = jsondecode(file("${path.module}/stacks.json"))
  host         = data.aws_s3_bucket.assets.bucket_regional_domain_name
  templates    = { for stack, key in local.package.templates : stack => "https://${local.host}/${key}" }
  capabilities = ["CAPABILITY_NAMED_IAM"]
}

resource "aws_cloudformation_stack" "data" {
  name         = "${local.package.name}-data"
  template_url = local.templates["${local.package.name}-data"]
  capabilities = local.capabilities
  iam_role_arn = var.role_arn

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudformation_stack" "catalog" {
  count        = contains(keys(local.templates), "${local.package.name}-catalog") ? 1 : 0
  name         = "${local.package.name}-catalog"
  template_url = local.templates["${local.package.name}-catalog"]
  capabilities = local.capabilities
  iam_role_arn = var.role_arn
  depends_on   = [aws_cloudformation_stack.data]

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudformation_stack" "service" {
  name         = local.package.name
  template_url = local.templates[local.package.name]
  capabilities = local.capabilities
  iam_role_arn = var.role_arn
  parameters   = { AssetsBucket = var.bucket }
  depends_on   = [aws_cloudformation_stack.data, aws_cloudformation_stack.catalog]
}

output "outputs" {
  description = "What the command line reads of the installation."
  value       = aws_cloudformation_stack.service.outputs
}
