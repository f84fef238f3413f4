//! Registries: what a folder offers is declared once; names in scenario files, documentation and
//! tests follow.

/// An entry of a registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenario files.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Settings in TOML that show what it can do.
    pub examples: &'static [&'static str],
}

/// Declares the modules of a folder and everything that is derived from their list.
macro_rules! registry {
    ($(#[$meta:meta])* $registry:ident, $settings:path {
        $($name:literal, $module:ident :: $type:ident, $doc:literal;)+
    }) => {
        $(mod $module;)+
        $(pub use $module::$type;)+

        $(#[$meta])*
        #[derive(Clone, Debug, serde::Deserialize)]
        pub enum $registry {
            $(#[doc = $doc] #[serde(rename = $name)] $type($module::$type),)+
        }

        impl $registry {
            /// Every entry, in the order of the documentation.
            pub const ENTRIES: &'static [$crate::registry::Entry] = &[$($crate::registry::Entry {
                name: $name,
                doc: $doc,
                examples: <$module::$type as $settings>::EXAMPLES,
            },)+];

            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self { $($registry::$type(_) => $name,)+ }
            }
        }

        /// Runs `$body` with the settings of whichever entry it is.
        macro_rules! with_settings {
            ($self:expr, $inner:ident => $body:expr) => {
                match $self { $($registry::$type($inner) => $body,)+ }
            };
        }
    };
}
pub(crate) use registry;
