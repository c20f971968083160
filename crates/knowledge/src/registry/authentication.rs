//! Settings of `authentication.conf`. Stanzas are `[authentication]`, `[splunk_auth]`, one per LDAP, SAML
//! or OIDC strategy under a name of its own, `[authenticationResponseAttrMap_<strategy>]`, and
//! `[roleMap_<strategy>]`, whose keys are roles.

use super::{Setting, unused, used};

pub(super) const SETTINGS: &[Setting] = &[
    used(
        "authType",
        "[authentication]: Splunk, LDAP, SAML or OIDC (Splunk has no OIDC); default Splunk",
    ),
    used(
        "authSettings",
        "[authentication]: the stanza of the strategy; of LDAP several, separated by commas, asked in turn",
    ),
    used(
        "lockoutUsers",
        "[splunk_auth]: whether too many wrong passwords lock a user; default true",
    ),
    used("lockoutAttempts", "[splunk_auth]: wrong passwords that lock a user, 1 to 64; default 5"),
    used(
        "lockoutThresholdMins",
        "[splunk_auth]: minutes in which they happen, 1 to 120; default 5",
    ),
    used("lockoutMins", "[splunk_auth]: minutes that a lock holds, 1 to 1440; default 30"),
    used(
        "lockoutSourceAttempts",
        "[splunk_auth]: wrong passwords from one address, for whatever users, that lock the address; default 100",
    ),
    used(
        "lockoutMaxEntries",
        "[splunk_auth]: users and addresses with wrong passwords that are remembered; default 10000",
    ),
    used("minPasswordLength", "[splunk_auth]: characters of a password, 1 to 256; default 8"),
    used("minPasswordUppercase", "[splunk_auth]: uppercase letters in a password; default 0"),
    used("minPasswordLowercase", "[splunk_auth]: lowercase letters in a password; default 0"),
    used("minPasswordDigit", "[splunk_auth]: digits in a password; default 0"),
    used(
        "minPasswordSpecial",
        "[splunk_auth]: characters in a password that are neither letters nor digits; default 0",
    ),
    used(
        "enablePasswordHistory",
        "[splunk_auth]: whether former passwords are refused; default false",
    ),
    used("passwordHistoryCount", "[splunk_auth]: how many former ones, 1 to 128; default 24"),
    used("expireUserAccounts", "[splunk_auth]: whether passwords expire; default false"),
    used(
        "expirePasswordDays",
        "[splunk_auth]: days that a password is good, 1 to 3650; default 90",
    ),
    used(
        "forceWeakPasswordChange",
        "[splunk_auth]: whether a password that no longer fits the rules has to be changed at the next login; default false",
    ),
    used(
        "verboseLoginFailMsg",
        "[splunk_auth]: whether a refused login says that the user is locked or the password expired; default false (Splunk: true)",
    ),
    used("host", "[<LDAP strategy>]: host of the directory"),
    used("port", "[<LDAP strategy>]: its port; default 389, with SSLEnabled 636"),
    used("SSLEnabled", "[<LDAP strategy>]: whether to connect with TLS; default false"),
    used("startTLS", "[<LDAP strategy>]: whether to use StartTLS; default false"),
    used(
        "nestedGroups",
        "[<LDAP strategy>]: whether groups that have a group of the user as a member count; default false",
    ),
    used("bindDN", "[<LDAP strategy>]: who searches the directory; default: anonymous"),
    used("bindDNpassword", "[<LDAP strategy>]: its password, or file:PATH to read it from a file"),
    used("userBaseDN", "[<LDAP strategy>]: where users are, separated by semicolons"),
    used(
        "userBaseFilter",
        "[<LDAP strategy>]: which entries there are users; default (objectclass=*)",
    ),
    used("userNameAttribute", "[<LDAP strategy>]: the attribute with the login name; default uid"),
    used(
        "realNameAttribute",
        "[<LDAP strategy>]: the attribute with the name for people; default cn",
    ),
    used("emailAttribute", "[<LDAP strategy>]: the attribute with the address; default mail"),
    used("groupBaseDN", "[<LDAP strategy>]: where groups are, separated by semicolons"),
    used(
        "groupBaseFilter",
        "[<LDAP strategy>]: which entries there are groups; default (objectclass=*)",
    ),
    used("groupNameAttribute", "[<LDAP strategy>]: the attribute with a group's name; default cn"),
    used(
        "groupMemberAttribute",
        "[<LDAP strategy>]: the attribute with a group's members; default member",
    ),
    used(
        "groupMappingAttribute",
        "[<LDAP strategy>]: what groups call a user: dn or an attribute of the user; default dn",
    ),
    used("network_timeout", "[<LDAP strategy>]: seconds for a login; default 20"),
    used("sizelimit", "[<LDAP strategy>]: groups of a user that are read; default 1000"),
    used("caCertFile", "[<strategy>]: PEM file of certificates to trust besides the system's"),
    used("issuer", "[<OIDC strategy>]: the provider's address, as in the tokens' iss"),
    used("clientId", "[<OIDC strategy>]: this server's id at the provider"),
    used("clientSecret", "[<OIDC strategy>]: its secret, or file:PATH to read it from a file"),
    used(
        "redirectUri",
        "[<OIDC strategy>]: where the provider sends browsers back to: <console>/services/auth/oidc/callback",
    ),
    used("scopes", "[<OIDC strategy>]: default openid profile email"),
    used("audience", "[<OIDC strategy>]: aud of access tokens taken as Bearer; default: clientId"),
    used(
        "userClaim",
        "[<OIDC strategy>]: the claim with the login name; default preferred_username",
    ),
    used(
        "rolesClaim",
        "[<OIDC strategy>]: the claim with the groups that roleMap names; default groups",
    ),
    used(
        "displayName",
        "[<OIDC or SAML strategy>]: the provider's name on the login page; default SSO",
    ),
    used(
        "jwksRefreshSecs",
        "[<OIDC strategy>]: age at which the provider's keys are read again; default 3600",
    ),
    used("clockSkewSecs", "[<OIDC strategy>]: how far the clocks may differ; default 60"),
    used(
        "defaultRoles",
        "[<strategy>]: roles of users whom no group gives one; default: none, they are refused",
    ),
    used("entityId", "[<SAML strategy>]: the name of this server at the provider"),
    used("issuerId", "[<SAML strategy>]: the provider's entity ID, the issuer of its assertions"),
    used("idpSSOUrl", "[<SAML strategy>]: the provider's URL for logins"),
    used("idpSLOUrl", "[<SAML strategy>]: the provider's URL for logouts; default: none"),
    used(
        "idpCertPath",
        "[<SAML strategy>]: the provider's certificates, a PEM file or a directory of them",
    ),
    used(
        "clientCert",
        "[<SAML strategy>]: PEM file with the RSA key that signs requests, and its certificate",
    ),
    used(
        "signAuthnRequest",
        "[<SAML strategy>]: whether requests are signed; default: true if clientCert is set (Splunk: true)",
    ),
    used(
        "signatureAlgorithm",
        "[<SAML strategy>]: signature of requests: RSA-SHA256, RSA-SHA384 or RSA-SHA512; default RSA-SHA256 (Splunk: RSA-SHA1)",
    ),
    used(
        "inboundSignatureAlgorithm",
        "[<SAML strategy>]: accepted signatures, separated by semicolons; default RSA-SHA256 to RSA-SHA512, ECDSA-SHA256 and ECDSA-SHA384; SHA-1 never",
    ),
    used(
        "inboundDigestMethod",
        "[<SAML strategy>]: accepted digests, separated by semicolons; default SHA256;SHA384;SHA512; SHA-1 never",
    ),
    used(
        "signedAssertion",
        "[<SAML strategy>]: true; unsigned assertions are never accepted, false is refused",
    ),
    used(
        "allowPartialSignatures",
        "[<SAML strategy>]: whether a signed assertion is enough; false: the whole response has to be signed; default true",
    ),
    used(
        "assertionTimeSkew",
        "[<SAML strategy>]: seconds by which the provider's clock may differ, 0 to 600; default 120",
    ),
    used("nameIdFormat", "[<SAML strategy>]: the NameID format to ask for; default: none"),
    used("fqdn", "[<SAML strategy>]: host or URL of the console; default: this machine's name"),
    used(
        "redirectPort",
        "[<SAML strategy>]: port of the console as browsers see it, 0 for a URL without one; default: the console's",
    ),
    used("ssoBinding", "[<SAML strategy>]: HTTPRedirect; nothing else is supported"),
    used("sloBinding", "[<SAML strategy>]: HTTPRedirect; nothing else is supported"),
    used("idpAttributeQueryUrl", "[<SAML strategy>]: refused; attribute queries are not sent"),
    used("excludedUsers", "[<SAML strategy>]: users who may not log in, separated by commas"),
    used("blacklistedUsers", "[<SAML strategy>]: older name of excludedUsers"),
    used("errorUrl", "[<SAML strategy>]: where browsers go after a failed login; default: a page"),
    used(
        "redirectAfterLogoutToUrl",
        "[<SAML strategy>]: where browsers go after a logout; default: a page",
    ),
    used(
        "defaultRoleIfMissing",
        "[<SAML strategy>]: role of users whom no group gives one; default: none, they are refused",
    ),
    used(
        "role",
        "[authenticationResponseAttrMap_<SAML strategy>]: attribute with the user's groups; default role",
    ),
    used(
        "realName",
        "[authenticationResponseAttrMap_<SAML strategy>]: attribute with the full name; default realName",
    ),
    used(
        "mail",
        "[authenticationResponseAttrMap_<SAML strategy>]: attribute with the email address; default mail",
    ),
    unused("allowSslCompression"),
    unused("attributeQueryRequestSigned"),
    unused("attributeQueryResponseSigned"),
    unused("attributeQuerySoapPassword"),
    unused("attributeQuerySoapUsername"),
    unused("attributeQueryTTL"),
    unused("cipherSuite"),
    unused("enableAutoMappedRoles"),
    unused("idpCertChains"),
    unused("idpCertExpirationCheckInterval"),
    unused("idpCertExpirationWarningDays"),
    unused("idpMetadataFile"),
    unused("lockRoleToFullDN"),
    unused("maxAttributeQueryQueueSize"),
    unused("maxAttributeQueryThreads"),
    unused("replicateCertificates"),
    unused("skipAttributeQueryRequestForUsers"),
    unused("sslKeysfile"),
    unused("sslKeysfilePassword"),
    unused("sslPassword"),
    unused("sslVersions"),
    unused("sslVerifyServerCert"),
    unused("passwordHashAlgorithm"),
    unused("anonymous_referrals"),
    unused("charset"),
    unused("dynamicGroupFilter"),
    unused("dynamicMemberAttribute"),
    unused("pagelimit"),
    unused("enableRangeRetrieval"),
    unused("timelimit"),
    unused("constantLoginTime"),
    unused("externalTwoFactorAuthVendor"),
    unused("externalTwoFactorAuthSettings"),
];

/// Whether the keys of a stanza are names of roles or users rather than settings.
pub(super) fn has_free_keys(stanza: &str) -> bool {
    ["roleMap_", "userToRoleMap_"].iter().any(|prefix| stanza.starts_with(prefix))
}
