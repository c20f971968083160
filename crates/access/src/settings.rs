//! Settings of `authentication.conf` that are read one by one: local users, LDAP and OIDC strategies.

use std::time::Duration;

use conf::{Setting, Type, Unit};

const FILTER: Type = Type::Form {
    expected: "a filter such as (objectclass=person)",
    fits: |text| ldap3::parse_filter(enclosed(text)).is_ok(),
};
const ATTRIBUTE: Type = Type::Form {
    expected: "the name of an attribute",
    fits: |name| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ';' | '.')),
};
const GROUPS: Type = Type::List { separator: ';' };

/// A filter in parentheses, which directories want and people leave out.
pub(crate) fn enclosed(filter: &str) -> String {
    if filter.starts_with('(') { filter.to_owned() } else { format!("({filter})") }
}

/// A time span of a session or token, such as `1h`; `None` if it is invalid or zero.
#[must_use]
pub fn time_span(text: &str) -> Option<Duration> {
    conf::time_span(text).filter(|span| !span.is_zero())
}

conf::keys! {
    "authentication"["authentication"] {
        /// Source of users and logins. Splunk has no OIDC.
        AUTH_TYPE: String = "authType", "Splunk", Type::Choice(&["Splunk", "LDAP", "SAML", "OIDC"]);
        /// Stanza of the strategy. For LDAP, a comma-separated list of stanzas that are tried in order.
        AUTH_SETTINGS: Vec<String> = "authSettings", "", Type::LIST;
    }
    "authentication"["splunk_auth"] {
        /// Whether the message of a failed login shows that the user is locked or the password has expired.
        /// Splunk: true.
        VERBOSE: bool = "verboseLoginFailMsg", "false", Type::Boolean;
    }
    "authentication"["<LDAP strategy>"] {
        /// Host of the LDAP directory.
        HOST: Option<String> = "host", "", Type::Text;
        /// Port of the LDAP directory. Default: 389, or 636 with `SSLEnabled`.
        PORT: Option<u16> = "port", "", Type::range(1, 65_535);
        /// Whether to connect with TLS.
        SSL_ENABLED: bool = "SSLEnabled", "false", Type::Boolean;
        /// Whether to use StartTLS.
        START_TLS: bool = "startTLS", "false", Type::Boolean;
        /// DN of the user that searches the directory. Default: anonymous.
        BIND_DN: Option<String> = "bindDN", "", Type::Text;
        /// Password of `bindDN`, or file:PATH to read it from a file.
        BIND_PASSWORD: Option<String> = "bindDNpassword", "", Type::Secret;
        /// Base DNs of users.
        USER_BASE_DN: Vec<String> = "userBaseDN", "", GROUPS;
        /// Filter for entries that are users.
        USER_FILTER: String = "userBaseFilter", "(objectclass=*)", FILTER;
        /// The attribute with the login name.
        USER_NAME: String = "userNameAttribute", "uid", ATTRIBUTE;
        /// The attribute with the display name.
        REAL_NAME: String = "realNameAttribute", "cn", ATTRIBUTE;
        /// The attribute with the email address.
        EMAIL: String = "emailAttribute", "mail", ATTRIBUTE;
        /// Base DNs of groups.
        GROUP_BASE_DN: Vec<String> = "groupBaseDN", "", GROUPS;
        /// Filter for entries that are groups.
        GROUP_FILTER: String = "groupBaseFilter", "(objectclass=*)", FILTER;
        /// The attribute with a group's name.
        GROUP_NAME: String = "groupNameAttribute", "cn", ATTRIBUTE;
        /// The attribute with a group's members.
        GROUP_MEMBER: String = "groupMemberAttribute", "member", ATTRIBUTE;
        /// The value by which groups refer to a user: dn, or an attribute of the user.
        GROUP_MAPPING: String = "groupMappingAttribute", "dn", ATTRIBUTE;
        /// Whether membership in nested groups counts: groups that have a group of the user as a member.
        NESTED_GROUPS: bool = "nestedGroups", "false", Type::Boolean;
        /// Time limit of a login.
        NETWORK_TIMEOUT: Duration = "network_timeout", "20", Type::of(Unit::Seconds, 1, 600);
        /// Maximum number of groups read per user.
        SIZE_LIMIT: u32 = "sizelimit", "1000", Type::range(1, 100_000);
    }
    "authentication"["<LDAP strategy>, <OIDC strategy>"] {
        /// PEM file with trusted certificates, in addition to those of the system.
        CA_CERT_FILE: Option<String> = "caCertFile", "", Type::Text;
    }
    "authentication"["<OIDC strategy>"] {
        /// Address of the provider, as in `iss` of its tokens.
        ISSUER: Option<String> = "issuer", "", Type::Text;
        /// ID of this server at the provider.
        CLIENT_ID: Option<String> = "clientId", "", Type::Text;
        /// Secret of `clientId`, or file:PATH to read it from a file.
        CLIENT_SECRET: Option<String> = "clientSecret", "", Type::Secret;
        /// URL to which the provider redirects browsers: `<console>/services/auth/oidc/callback`.
        REDIRECT_URI: Option<String> = "redirectUri", "", Type::Text;
        /// Requested scopes, separated by spaces.
        SCOPES: String = "scopes", "openid profile email", Type::Text;
        /// Expected `aud` of access tokens sent as Bearer. Default: `clientId`.
        AUDIENCE: Option<String> = "audience", "", Type::Text;
        /// The claim with the login name.
        USER_CLAIM: String = "userClaim", "preferred_username", Type::Text;
        /// The claim with the groups that `roleMap` names.
        ROLES_CLAIM: String = "rolesClaim", "groups", Type::Text;
        /// Interval for refreshing the provider's keys.
        KEYS_LIFETIME: Duration = "jwksRefreshSecs", "3600", Type::of(Unit::Seconds, 60, 86_400);
        /// Maximum clock difference between the provider and this server.
        CLOCK_SKEW: i64 = "clockSkewSecs", "60", Type::of(Unit::Seconds, 0, 600);
    }
    "authentication"["<OIDC strategy>, <SAML strategy>"] {
        /// The provider's name on the login page.
        DISPLAY_NAME: String = "displayName", "SSO", Type::Text;
    }
    "authentication"["<strategy>"] {
        /// Roles of users whose groups give no role. Default: none; such users are refused.
        DEFAULT_ROLES: Vec<String> = "defaultRoles", "", GROUPS;
        /// Splunk's name for `defaultRoles` with SAML.
        DEFAULT_ROLE: Vec<String> = "defaultRoleIfMissing", "", GROUPS;
    }
    "authentication"["roleMap_<strategy>, userToRoleMap_<strategy>"] {
        /// `roleMap_<strategy>`: the groups that give the role of this name, separated by semicolons.
        ROLE_GROUPS: Vec<String> = "*", "", GROUPS;
    }
}

/// Settings of Splunk's file that have no effect.
const UNUSED: &[Setting] = &conf::without_effect(
    "authentication",
    [
        "allowSslCompression",
        "anonymous_referrals",
        "attributeQueryRequestSigned",
        "attributeQueryResponseSigned",
        "attributeQuerySoapPassword",
        "attributeQuerySoapUsername",
        "attributeQueryTTL",
        "charset",
        "cipherSuite",
        "constantLoginTime",
        "dynamicGroupFilter",
        "dynamicMemberAttribute",
        "enableAutoMappedRoles",
        "enableRangeRetrieval",
        "externalTwoFactorAuthSettings",
        "externalTwoFactorAuthVendor",
        "idpCertChains",
        "idpCertExpirationCheckInterval",
        "idpCertExpirationWarningDays",
        "idpMetadataFile",
        "lockRoleToFullDN",
        "maxAttributeQueryQueueSize",
        "maxAttributeQueryThreads",
        "pagelimit",
        "passwordHashAlgorithm",
        "replicateCertificates",
        "skipAttributeQueryRequestForUsers",
        "sslKeysfile",
        "sslKeysfilePassword",
        "sslPassword",
        "sslVerifyServerCert",
        "sslVersions",
        "timelimit",
    ],
);

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[
    SETTINGS,
    UNUSED,
    crate::lockout::LockoutSettings::SETTINGS,
    crate::password_policy::PasswordPolicy::SETTINGS,
    crate::sessions::SessionSettings::SETTINGS,
];
