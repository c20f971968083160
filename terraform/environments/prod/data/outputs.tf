output "storage" {
  description = "For the variable storage of ../cluster: terraform output -json storage"
  value = {
    bucket_arn   = module.storage.bucket_arn
    prefix       = module.storage.prefix
    key_arn      = module.storage.key_arn
    object_store = module.storage.object_store
  }
}
