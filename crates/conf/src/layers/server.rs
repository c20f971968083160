//! The layers of the server's own settings, such as `limits.conf [search]`.
//!
//! Guarantees: objects of users and apps have no effect on these settings. Earlier versions stored stanzas of
//! any file as such objects, and nothing read them. Leaves to others: which files have such settings.

use super::{Effective, Layer, LayerFile, Layers};

impl Layers {
    /// The `.conf` files, without the objects of users and apps. The stored settings of the system are
    /// included.
    #[must_use]
    pub fn of_server(&self) -> Self {
        let files = self.files.iter().filter(|file| is_of_server(file)).cloned().collect();
        Self { files, ..Self::default() }
    }

    /// The effective settings of a file (named without `.conf`) over the layers of [`Self::of_server`].
    #[must_use]
    pub fn effective_of_server(&self, conf: &str) -> Effective {
        let of_conf = |file: &&LayerFile| file.conf == conf && is_of_server(file);
        Self::merged(conf, self.files.iter().filter(of_conf))
    }
}

fn is_of_server(file: &LayerFile) -> bool {
    !matches!(file.layer, Layer::User(..) | Layer::AppStored(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn objects_of_users_and_apps_are_not_settings_of_the_server() {
        let app = "search".to_owned();
        let layers = Layers::default()
            .with(Layer::User("ann".to_owned(), app.clone()), "limits", "[search]\nttl = 1")
            .with(Layer::AppStored(app.clone()), "limits", "[search]\nttl = 2\nmax_count = 3")
            .with(Layer::AppLocal(app), "limits", "[search]\nttl = 4");
        let value =
            |conf: &Effective, key| conf.get("search", key).map(|entry| entry.value.clone());
        assert_eq!(value(&layers.effective("limits"), "ttl").as_deref(), Some("1"));
        for conf in [layers.effective_of_server("limits"), layers.of_server().effective("limits")] {
            assert_eq!(value(&conf, "ttl").as_deref(), Some("4"));
            assert_eq!(value(&conf, "max_count"), None);
        }
        let layers = layers.with(Layer::SystemStored, "limits", "[search]\nttl = 5");
        assert_eq!(value(&layers.effective_of_server("limits"), "ttl").as_deref(), Some("5"));
    }
}
