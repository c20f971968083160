//! Reads the groups of a user; with `nestedGroups` also the groups these are members of, at any depth.

use std::collections::HashSet;

use ldap3::{Ldap, LdapError, Scope, SearchEntry, SearchOptions, ldap_escape};

use super::{Found, LdapDirectory, LdapSettings, NO_SUCH_OBJECT, SIZE_LIMIT};

/// Members in one filter.
const AT_ONCE: usize = 50;

impl LdapSettings {
    /// The filter that finds the groups of any of these members.
    pub(super) fn finding_groups(&self, members: &[String]) -> String {
        let is_in =
            |member: &String| format!("({}={})", self.group_member, ldap_escape(member.as_str()));
        let any: String = members.iter().map(is_in).collect();
        let any = if members.len() == 1 { any } else { format!("(|{any})") };
        format!("(&{any}{})", self.group_filter)
    }
}

/// The groups found so far.
#[derive(Debug, Default)]
struct Groups {
    names: Vec<String>,
    /// DNs in lower case. Groups can be members of each other in a circle.
    seen: HashSet<String>,
    cut: bool,
}

impl LdapDirectory {
    pub(super) async fn groups_of(
        &self,
        ldap: &mut Ldap,
        user: &Found,
    ) -> Result<Vec<String>, LdapError> {
        let settings = &self.settings;
        let own = if settings.group_mapping == "dn" {
            Some(user.dn.as_str())
        } else {
            user.value(&settings.group_mapping)
        };
        let Some(member) = own else { return Ok(Vec::new()) };
        let mut groups = Groups::default();
        let mut open = vec![member.to_owned()];
        while !open.is_empty() && !groups.cut {
            let mut next = Vec::new();
            for members in open.chunks(AT_ONCE) {
                next.extend(self.read_groups(ldap, members, &mut groups).await?);
            }
            open = if settings.nested_groups { next } else { Vec::new() };
        }
        if groups.cut {
            tracing::warn!(
                strategy = settings.name,
                user = user.dn,
                "only sizelimit groups of the user are read"
            );
        }
        Ok(groups.names)
    }

    /// Adds the groups of these members; returns the DNs of the new ones.
    async fn read_groups(
        &self,
        ldap: &mut Ldap,
        members: &[String],
        groups: &mut Groups,
    ) -> Result<Vec<String>, LdapError> {
        let settings = &self.settings;
        let filter = settings.finding_groups(members);
        let most = i32::try_from(settings.max_groups).unwrap_or(i32::MAX);
        let mut new = Vec::new();
        for base in &settings.group_bases {
            ldap.with_search_options(SearchOptions::new().sizelimit(most));
            let result = ldap.search(base, Scope::Subtree, &filter, [&settings.group_name]).await?;
            match result.1.rc {
                0 | NO_SUCH_OBJECT => {}
                SIZE_LIMIT => groups.cut = true,
                _ => result.1.clone().success().map(drop)?,
            }
            for entry in result.0.into_iter().filter(|entry| !entry.is_ref()) {
                let entry = SearchEntry::construct(entry);
                if groups.seen.len() >= settings.max_groups as usize {
                    groups.cut = true;
                } else if groups.seen.insert(entry.dn.to_lowercase()) {
                    new.push(entry.dn);
                    groups.names.extend(entry.attrs.into_values().flatten());
                }
            }
        }
        Ok(new)
    }
}
