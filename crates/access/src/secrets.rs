//! Stored passwords of apps (`storage/passwords`): documents of the catalog, encrypted with a key
//! that is not in the catalog.
//!
//! The object store reveals their names, never the passwords. The encryption authenticates the key
//! of a document, so that documents cannot be swapped.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use catalog::{Catalog, Followed, Snapshot};
use parking_lot::RwLock;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "passwords";
/// Maximum number of passwords.
const MAX_SECRETS: usize = 10_000;

/// A stored password, encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// Its app.
    pub app: String,
    /// Its owner.
    pub owner: String,
    /// Its realm; may be empty.
    pub realm: String,
    /// The user name.
    pub user: String,
    /// Base64 of nonce, ciphertext and tag.
    pub sealed: String,
}

impl Secret {
    /// `realm:user:`, with colons in the parts escaped.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}:", escaped(&self.realm), escaped(&self.user))
    }

    /// Its unique key.
    fn place(&self) -> String {
        format!("{}/{}", self.app, self.name())
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(':', "\\:")
}

/// All stored passwords.
pub struct Secrets {
    catalog: Catalog,
    key: LessSafeKey,
    known: RwLock<BTreeMap<String, Secret>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Followed for Secrets {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut known = self.known.write();
        *known = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Secrets {
    /// Size of a key in bytes.
    pub const KEY_BYTES: usize = 32;

    /// Generates a key.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new_key() -> Result<[u8; Self::KEY_BYTES], Error> {
        let mut key = [0; Self::KEY_BYTES];
        random(&mut key)?;
        Ok(key)
    }

    /// Reads the passwords from the catalog; they stay encrypted.
    ///
    /// # Errors
    /// If a document is unreadable.
    pub fn load(catalog: Catalog, key: &[u8; Self::KEY_BYTES]) -> Result<Self, Error> {
        let known = Self::read(&catalog.snapshot())?;
        Ok(Self { catalog, key: sealing(key)?, known: RwLock::new(known) })
    }

    fn read(snapshot: &Snapshot) -> Result<BTreeMap<String, Secret>, Error> {
        let mut known = BTreeMap::new();
        for document in snapshot.documents(KIND) {
            let secret: Secret = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(secret.place(), secret);
        }
        Ok(known)
    }

    /// All passwords, encrypted.
    #[must_use]
    pub fn all(&self) -> Vec<Secret> {
        self.known.read().values().cloned().collect()
    }

    /// Stores a password, replacing an existing one.
    ///
    /// # Errors
    /// If the catalog cannot be written, or the limit is reached.
    pub async fn put(&self, mut secret: Secret, password: &str) -> Result<Secret, Error> {
        let place = secret.place();
        let known = self.all();
        if known.len() >= MAX_SECRETS && !known.iter().any(|known| known.place() == place) {
            return Err(Error::TooMany { what: "passwords", limit: MAX_SECRETS });
        }
        secret.sealed = seal(&self.key, &place, password)?;
        let document =
            serde_json::to_value(&secret).map_err(|error| Error::document(KIND, &place, &error))?;
        self.catalog.put_document(KIND, &place, document).await?;
        let mut known = self.known.write();
        known.insert(place, secret.clone());
        Ok(secret)
    }

    /// Removes a password.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, secret: &Secret) -> Result<(), Error> {
        let place = secret.place();
        self.catalog.delete_document(KIND, &place).await?;
        self.known.write().remove(&place);
        Ok(())
    }

    /// Decrypts a password.
    ///
    /// # Errors
    /// If it was encrypted with another key, or is damaged.
    pub fn open(&self, secret: &Secret) -> Result<String, Error> {
        let place = secret.place();
        open(&self.key, &place, &secret.sealed).ok_or(Error::Sealed { name: place })
    }
}

fn random(bytes: &mut [u8]) -> Result<(), Error> {
    let filled = SystemRandom::new().fill(bytes);
    filled.map_err(|_| Error::Internal("the system has no random numbers".to_owned()))
}

/// A key for one purpose, derived from a secret that several processes have.
#[must_use]
pub fn derived_key(secret: &[u8], purpose: &str) -> [u8; Secrets::KEY_BYTES] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, format!("karst {purpose} key").as_bytes());
    let mut derived = [0; Secrets::KEY_BYTES];
    derived.copy_from_slice(tag.as_ref());
    derived
}

fn sealing(key: &[u8; Secrets::KEY_BYTES]) -> Result<LessSafeKey, Error> {
    let key = UnboundKey::new(&AES_256_GCM, key);
    let key = key.map_err(|_| Error::Internal("a key of a wrong length".to_owned()))?;
    Ok(LessSafeKey::new(key))
}

fn seal(key: &LessSafeKey, place: &str, text: &str) -> Result<String, Error> {
    let mut nonce = [0; NONCE_LEN];
    random(&mut nonce)?;
    let mut sealed = text.as_bytes().to_vec();
    let (unique, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(place.as_bytes()));
    let done = key.seal_in_place_append_tag(unique, aad, &mut sealed);
    done.map_err(|_| Error::Internal("a password cannot be sealed".to_owned()))?;
    Ok(BASE64_STANDARD.encode([nonce.as_slice(), &sealed].concat()))
}

fn open(key: &LessSafeKey, place: &str, sealed: &str) -> Option<String> {
    let mut bytes = BASE64_STANDARD.decode(sealed).ok()?;
    let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let text = key.open_in_place(nonce, Aad::from(place.as_bytes()), sealed).ok()?;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_and_in_its_place_only() {
        let key = |byte: u8| sealing(&[byte; Secrets::KEY_BYTES]).unwrap();
        let sealed = seal(&key(1), "search/a:b:", "s3cret").unwrap();
        assert!(!sealed.contains("s3cret"));
        assert_ne!(sealed, seal(&key(1), "search/a:b:", "s3cret").unwrap());
        assert_eq!(open(&key(1), "search/a:b:", &sealed).as_deref(), Some("s3cret"));
        assert_eq!(open(&key(2), "search/a:b:", &sealed), None);
        assert_eq!(open(&key(1), "search/other:b:", &sealed), None);
    }

    #[test]
    fn names_are_told_apart_whatever_their_parts_hold() {
        let name = |realm: &str, user: &str| {
            let [app, owner, sealed] = ["search", "admin", ""].map(str::to_owned);
            let (realm, user) = (realm.to_owned(), user.to_owned());
            Secret { app, owner, realm, user, sealed }.name()
        };
        assert_eq!(name("", "me"), ":me:");
        assert_eq!(name("a:b", "c"), "a\\:b:c:");
        assert_ne!(name("a", "b:c"), name("a:b", "c"));
    }
}
