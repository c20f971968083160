//! The macros that declare settings.

/// Declares settings that form a struct, one field each: the struct, its [`Default`], its reader
/// `read(&Layers)` and the declarations `SETTINGS`. The description, stanza, key, field, Rust type, default
/// and [`Type`](crate::Type) of a setting are declared in one place:
///
/// ```
/// # use karst_conf as conf;
/// use conf::{Layer, Layers, Type};
///
/// conf::settings! {
///     /// Limits of rarefying.
///     #[derive(Debug, Clone)]
///     pub struct Settings {
///         "limits"["search"] {
///             /// Maximum number of rarefied rows.
///             "max_rarefied" => pub max_rarefied: usize = "10", Type::number(1);
///         }
///         fixed {
///             /// Rows per batch.
///             pub batch_rows: usize = 8_192;
///         }
///     }
/// }
///
/// let layers = Layers::builtin().with(Layer::SystemLocal, "limits", "[search]\nmax_rarefied = 7");
/// assert_eq!(Settings::read(&layers)?.max_rarefied, 7);
/// assert_eq!((Settings::default().max_rarefied, Settings::SETTINGS[0].name), (10, "max_rarefied"));
/// # Ok::<(), conf::Invalid>(())
/// ```
///
/// An empty default means that the value may be absent (`Option`). `fixed { ... }` has fields that no file
/// sets, `nested { ... }` has fields whose types are structs of this macro; both are optional, in this
/// order. Settings that can be changed over REST end with `, live` if a change takes effect immediately, and
/// with `, stored` if it does at the next start.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($conf:literal[$stanza:literal] {$(
                $(#[doc = $doc:literal])+
                $key:literal => $fvis:vis $field:ident: $ty:ty
                    = $default:literal, $kind:expr $(, $live:ident)?;
            )*})*
            $(fixed {$(
                $(#[doc = $pdoc:literal])+
                $pvis:vis $plain:ident: $pty:ty = $value:expr;
            )*})?
            $(nested {$(
                $(#[doc = $ndoc:literal])+
                $nvis:vis $nested:ident: $nty:ty;
            )*})?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($($(#[doc = $doc])+ $fvis $field: $ty,)*)*
            $($($(#[doc = $pdoc])+ $pvis $plain: $pty,)*)?
            $($($(#[doc = $ndoc])+ $nvis $nested: $nty,)*)?
        }

        impl $name {
            /// The settings of `.conf` files among the fields, in the order of the fields.
            $vis const SETTINGS: &'static [$crate::Setting] = &[$($($crate::Setting {
                conf: $conf,
                stanza: $stanza,
                name: $key,
                kind: $kind,
                default: $default,
                doc: concat!($($doc,)+),
                effect: $crate::effect!($($live)?),
            },)*)*];

            /// Reads the settings from `.conf` files.
            ///
            /// # Errors
            /// The first invalid value, with its place.
            $vis fn read(layers: &$crate::Layers) -> ::core::result::Result<Self, $crate::Invalid> {
                let mut confs = $crate::Confs::of(layers);
                let mut settings = Self::SETTINGS.iter();
                let mut next = || settings.next().expect("each field of a file has one setting");
                ::core::result::Result::Ok(Self {
                    $($($field: confs.read(next())?,)*)*
                    $($($plain: $value,)*)?
                    $($($nested: <$nty>::read(layers)?,)*)?
                })
            }
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                let mut settings = Self::SETTINGS.iter();
                let mut next = || settings.next().expect("each field of a file has one setting");
                Self {
                    $($($field: next().default_value().expect("the default is a value"),)*)*
                    $($($plain: $value,)*)?
                    $($($nested: <$nty>::default(),)*)?
                }
            }
        }
    };
}

/// Declares settings that are read one by one ([`Key`](crate::Key)), for files with many stanzas of one
/// kind, and the slice `SETTINGS` of them. A key that no reader uses is dead code, which `make lint`
/// rejects.
///
/// ```
/// # use karst_conf as conf;
/// use conf::{Reader, Type};
///
/// conf::keys! {
///     "outputs"["tcpout:<group>"] {
///         /// Whether batches are compressed.
///         COMPRESSED: bool = "compressed", "true", Type::Boolean;
///     }
/// }
///
/// let conf = conf::Layers::builtin().effective("outputs");
/// assert!(Reader::new(&conf, "tcpout:x").get(&COMPRESSED)?);
/// assert_eq!(SETTINGS.len(), 1);
/// # Ok::<(), conf::Invalid>(())
/// ```
#[macro_export]
macro_rules! keys {
    (
        $($conf:literal[$stanza:literal] {$(
            $(#[doc = $doc:literal])+
            $id:ident: $ty:ty = $key:literal, $default:literal, $kind:expr $(, $live:ident)?;
        )*})*
    ) => {
        $($(
            $(#[doc = $doc])+
            pub(crate) const $id: $crate::Key<$ty> = $crate::Key::new($crate::Setting {
                conf: $conf,
                stanza: $stanza,
                name: $key,
                kind: $kind,
                default: $default,
                doc: concat!($($doc,)+),
                effect: $crate::effect!($($live)?),
            });
        )*)*

        /// All declarations of this module.
        pub(crate) const SETTINGS: &[$crate::Setting] = &[
            $($($crate::Setting {
                conf: $conf,
                stanza: $stanza,
                name: $key,
                kind: $kind,
                default: $default,
                doc: concat!($($doc,)+),
                effect: $crate::effect!($($live)?),
            },)*)*
        ];
    };
}

/// The effect of a setting, depending on whether it is declared `live` or `stored`.
#[doc(hidden)]
#[macro_export]
macro_rules! effect {
    () => {
        $crate::Effect::Restart
    };
    (live) => {
        $crate::Effect::Live
    };
    (stored) => {
        $crate::Effect::Stored
    };
}
