//! Jobs: whoever may not search starts none, and nobody reads what somebody else found.

use axum::http::StatusCode;

use super::server::Server;

const SAVED: &str = "/servicesNS/nobody/search/saved/searches";

#[tokio::test(flavor = "multi_thread")]
async fn dispatch_and_further_searches_need_search() {
    let server = Server::start().await;
    let form = [("name", "all"), ("search", "search index=open")];
    assert!(server.post("admin", SAVED, &form).await.status.is_success());
    let path = format!("{SAVED}/all/dispatch");
    assert_eq!(server.post("nos", &path, &[]).await.status, StatusCode::FORBIDDEN);
    let own = server.post("nos", "/services/saved/searches", &form).await;
    assert_eq!(own.status, StatusCode::FORBIDDEN);
    let sid = server.job("user", "| makeresults").await;
    let mute = [("name", "mute"), ("srchIndexesAllowed", "*")];
    let made = server.post("admin", "/services/authorization/roles", &mute).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let roles = [("roles", "mute")];
    let changed = server.post("admin", "/services/authentication/users/user", &roles).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    let path = format!("/services/search/jobs/{sid}/results?search=%7C%20eval%20a%3D1");
    let told = server.get("user", &path).await;
    assert_eq!(told.status, StatusCode::FORBIDDEN, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_search_may_leave_out_the_pipe() {
    let server = Server::start().await;
    let sid = server.job("admin", "| makeresults count=3 | eval a=1").await;
    let written =
        ["stats count", "%7C stats count", "search a=1 %7C stats count", "a=1 %7C stats count"];
    for commands in written {
        let further = commands.replace(' ', "%20");
        let path = format!("/services/search/jobs/{sid}/results?output_mode=json&search={further}");
        let told = server.get("admin", &path).await;
        assert!(told.text.contains(r#""count":"3""#), "{commands}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_others_are_closed_to_power_users() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open"), ("imported_roles", "")]).await;
    let power = power();
    let form = [("name", "lpow"), ("srchIndexesAllowed", "open"), ("capabilities", power.as_str())];
    let made = server.post("admin", "/services/authorization/roles", &form).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    server.user("lpow", "lpow").await;
    let sid = server.job("admin", "search index=closed").await;
    for user in ["lpow", "watcher", "power"] {
        let loaded = server.search(user, &format!("| loadjob {sid}")).await;
        assert!(!loaded.text.contains("word_closed"), "{user}: {loaded:?}");
        for below in ["results", "events", "results_preview", "summary", "search.log"] {
            let path = format!("/services/search/jobs/{sid}/{below}?output_mode=json");
            let told = server.get(user, &path).await;
            assert_eq!(told.status, StatusCode::NOT_FOUND, "{path} by {user}: {told:?}");
        }
    }
    let loaded = server.search("admin", &format!("| loadjob {sid}")).await;
    assert!(loaded.text.contains("word_closed"), "{loaded:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_an_index_that_was_closed_meanwhile_are_closed_too() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open,closed")]).await;
    let sid = server.job("watcher", "search index=closed").await;
    let path = "/services/authorization/roles/watcher";
    let narrowed = server.post("admin", path, &[("srchIndexesAllowed", "open")]).await;
    assert_eq!(narrowed.status, StatusCode::OK, "{narrowed:?}");
    let told = server.get("watcher", &format!("/services/search/jobs/{sid}/results")).await;
    assert_eq!(told.status, StatusCode::NOT_FOUND, "{told:?}");
}

fn power() -> String {
    [access::capabilities::USER, access::capabilities::POWER].concat().join(",")
}
