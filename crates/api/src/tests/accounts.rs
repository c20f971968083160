//! Users and roles: nobody gains rights by granting a role or taking over a user, and nobody sees more of
//! other users than needed.

use access::Scope;
use axum::http::{Method, StatusCode};

use super::server::Server;

const USERS: &str = "/services/authentication/users";
const ROLES: &str = "/services/authorization/roles";

async fn helpdesk(server: &Server) {
    let form = [("name", "helpdesk"), ("capabilities", "edit_user,edit_roles,search")];
    assert_eq!(server.post("admin", ROLES, &form).await.status, StatusCode::CREATED);
    server.user("helpdesk", "helpdesk").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_program_may_do_what_its_user_and_its_scope_allow_until_it_is_closed() {
    let server = Server::start().await;
    let accounts = &server.state.accounts;
    let scope = Scope { capabilities: Some(vec!["search".to_owned()]), indexes: None };
    let keys = [
        accounts.program_session("admin", None),
        accounts.program_session("admin", Some(scope)),
        accounts.program_session("user", None),
    ];
    let own = "/services/authentication/current-context";
    let expected = [StatusCode::CREATED, StatusCode::FORBIDDEN, StatusCode::FORBIDDEN];
    for (number, (key, created)) in keys.iter().zip(expected).enumerate() {
        let form = format!("name=new{number}&password=changeme-1&roles=user");
        let answer = server.send_with(Some(key), Method::GET, own, "").await;
        assert_eq!(answer.status, StatusCode::OK, "{number}: {answer:?}");
        let answer = server.send_with(Some(key), Method::POST, USERS, &form).await;
        assert_eq!(answer.status, created, "{number}: {answer:?}");
        accounts.close_local_session(key);
        let answer = server.send_with(Some(key), Method::GET, own, "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{number}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_user_does_not_raise_above_the_own_rights() {
    let server = Server::start().await;
    helpdesk(&server).await;
    let own = format!("{USERS}/helpdesk");
    let admin = format!("{USERS}/admin");
    let nos = format!("{USERS}/nos");
    let refused: [(&str, &[(&str, &str)]); 5] = [
        (&own, &[("roles", "admin")]),
        (&nos, &[("roles", "power")]),
        (&admin, &[("password", "taken-over-1")]),
        (&admin, &[("roles", "nothing")]),
        (USERS, &[("name", "new"), ("password", "changeme-1"), ("roles", "admin")]),
    ];
    for (path, form) in refused {
        let answer = server.post("helpdesk", path, form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {form:?}: {answer:?}");
    }
    let form = [("name", "new"), ("password", "changeme-1"), ("roles", "nothing")];
    assert_eq!(server.post("helpdesk", USERS, &form).await.status, StatusCode::CREATED);
    let password = [("password", "changeme-2")];
    assert_eq!(server.post("helpdesk", &nos, &password).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_roles_does_not_raise_above_the_own_rights() {
    let server = Server::start().await;
    helpdesk(&server).await;
    let own = format!("{ROLES}/helpdesk");
    let nothing = format!("{ROLES}/nothing");
    let user = format!("{ROLES}/user");
    let refused: [(&str, &[(&str, &str)]); 5] = [
        (&own, &[("capabilities", "edit_user,edit_roles,search,indexes_edit")]),
        (&own, &[("imported_roles", "admin")]),
        (&nothing, &[("srchIndexesAllowed", "*")]),
        (&user, &[("capabilities", "search")]),
        (ROLES, &[("name", "new"), ("imported_roles", "power")]),
    ];
    for (path, form) in refused {
        let answer = server.post("helpdesk", path, form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {form:?}: {answer:?}");
    }
    let form = [("name", "new"), ("capabilities", "search")];
    assert_eq!(server.post("helpdesk", ROLES, &form).await.status, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_roles_indexes_and_tokens_of_others_are_not_told() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open")]).await;
    let list = |path: &str| format!("{path}?output_mode=json&count=0");
    let users = server.get("watcher", &list(USERS)).await.text;
    assert!(
        users.contains("\"name\":\"watcher\"") && !users.contains("\"name\":\"admin\""),
        "{users}"
    );
    let other = server.get("watcher", &format!("{USERS}/admin")).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
    let roles = server.get("watcher", &list(ROLES)).await.text;
    assert!(
        roles.contains("\"name\":\"watcher\"") && !roles.contains("\"name\":\"nothing\""),
        "{roles}"
    );
    let indexes = server.get("watcher", &list("/services/data/indexes")).await.text;
    assert!(indexes.contains("\"name\":\"open\"") && !indexes.contains("closed"), "{indexes}");
    for (user, may) in [("watcher", false), ("admin", true)] {
        let told = server.get(user, "/services/data/indexes/open?output_mode=json").await.json();
        let acl = &told["entry"][0]["acl"];
        assert_eq!(acl["can_write"], may, "{user}: {acl}");
        assert_eq!(acl["can_change_perms"], may, "{user}: {acl}");
        assert_eq!(acl["removable"], may, "{user}: {acl}");
        let links = &told["entry"][0]["links"];
        for rel in ["edit", "remove", "disable", "roll-hot-buckets"] {
            assert_eq!(links[rel].is_string(), may, "{user}: {rel}: {links}");
        }
        assert!(links["list"].is_string(), "{user}: {links}");
    }
    let closed = server.get("watcher", "/services/data/indexes/closed").await;
    assert_eq!(closed.status, StatusCode::NOT_FOUND);
    let tokens = server.get("watcher", "/services/data/inputs/http").await;
    assert_eq!(tokens.status, StatusCode::FORBIDDEN);
    let all = server.get("admin", &list(USERS)).await.text;
    assert!(all.contains("\"name\":\"nos\"") && all.contains("\"name\":\"watcher\""), "{all}");
}
