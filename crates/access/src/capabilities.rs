//! Capabilities, with Splunk's names, so that existing roles and clients work.

/// All of them, sorted. Each is required by a path, a command or an object rule (see
/// `docs/rights.md`); capabilities without effect are not offered.
pub const ALL: &[&str] = &[
    "admin_all_objects",
    "change_own_password",
    "delete_by_keyword",
    "edit_deployment_server",
    "edit_httpauths",
    "edit_local_apps",
    "edit_messages",
    "edit_monitor",
    "edit_own_objects",
    "edit_roles",
    "edit_scripted",
    "edit_server",
    "edit_splunktcp",
    "edit_storage_passwords",
    "edit_tcp",
    "edit_tcp_stream",
    "edit_token_http",
    "edit_tokens_all",
    "edit_tokens_own",
    "edit_udp",
    "edit_user",
    "get_metadata",
    "get_typeahead",
    "indexes_edit",
    "indexes_list_all",
    "input_file",
    "list_all_objects",
    "list_all_roles",
    "list_all_users",
    "list_deployment_server",
    "list_health",
    "list_httpauths",
    "list_inputs",
    "list_introspection",
    "list_metrics_catalog",
    "list_settings",
    "list_storage_passwords",
    "list_tokens_all",
    "list_tokens_own",
    "output_file",
    "rest_apps_view",
    "rest_properties_get",
    "rest_properties_set",
    "restart_splunkd",
    "run_collect",
    "run_custom_command",
    "run_mcollect",
    "run_msearch",
    "run_sendalert",
    "run_walklex",
    "schedule_search",
    "search",
    "upload_lookup_files",
];

/// Capabilities of `user`.
pub const USER: &[&str] = &[
    "change_own_password",
    "edit_own_objects",
    "get_metadata",
    "get_typeahead",
    "input_file",
    "list_health",
    "list_inputs",
    "list_metrics_catalog",
    "list_tokens_own",
    "output_file",
    "rest_apps_view",
    "rest_properties_get",
    "rest_properties_set",
    "run_collect",
    "run_custom_command",
    "run_mcollect",
    "run_msearch",
    "schedule_search",
    "search",
    "upload_lookup_files",
];

/// Additional capabilities of `power`.
pub const POWER: &[&str] = &["edit_messages", "edit_tokens_own", "run_sendalert", "run_walklex"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_holds_what_built_in_roles_have() {
        assert!(ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(USER.iter().chain(POWER).all(|name| ALL.contains(name)));
    }
}
