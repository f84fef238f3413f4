//! How a model is declared: its parameters once, as the fields of a struct. Names, units, defaults,
//! domains and documentation of the registry follow from them.

/// Declares a model: what it says of itself, then its parameters as
/// `name: type, domain, fallback;`. Makes a struct with these fields and its entry of the registry.
macro_rules! model {
    (
        $(#[doc = $doc:literal])+
        $name:literal $model:ident {
            formula: $formula:literal,
            source: $source:literal,
            conditions: [$($condition:literal),+ $(,)?],
            $($(#[doc = $about:literal])+ $field:ident: $type:ty, $domain:ident, $fallback:expr;)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $model { $($(#[doc = $about])+ pub $field: $type,)+ }

        impl Default for $model {
            /// What is usual; a parameter that must be given is not a number until it is.
            fn default() -> $model {
                use $crate::model::{Argument, Fallback::{self, *}};
                $model { $($field: {
                    let fallback: Fallback = $fallback;
                    <$type>::from_number(fallback.number()).expect("a default is a value")
                },)+ }
            }
        }

        impl $crate::model::Declared for $model {
            const MODEL: $crate::model::Model = $crate::model::Model {
                name: $name,
                doc: concat!($($doc),+),
                formula: $formula,
                source: $source,
                conditions: &[$($condition),+],
                parameters: &{
                    use $crate::model::{Argument, Domain, Fallback::*, Parameter};
                    [$(Parameter {
                        name: stringify!($field),
                        doc: concat!($($about),+),
                        domain: Domain::$domain,
                        fallback: $fallback,
                        choices: <$type as Argument>::CHOICES,
                    },)+]
                },
                predict: $crate::model::predict::<$model>,
            };

            fn from_values(values: &[f64]) -> Result<$model, $crate::model::Outside> {
                use $crate::model::argument;
                let mut values = values.iter().copied();
                Ok($model { $($field: argument(stringify!($field), &mut values)?,)+ })
            }

            fn check(&self) -> Result<(), $crate::model::Outside> {
                use $crate::model::Argument;
                let values = [$(self.$field.number(),)+];
                Self::MODEL.check(&values)
            }
        }
    };
}
pub(crate) use model;

/// Declares a parameter that is one of several words.
macro_rules! choices {
    ($(#[$meta:meta])* $choice:ident {
        $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $choice { $($(#[doc = $doc])+ $variant,)+ }

        impl $crate::model::Argument for $choice {
            const CHOICES: &'static [&'static str] = &[$($word),+];

            fn from_number(number: f64) -> Option<$choice> {
                let all = [$($choice::$variant),+];
                all.into_iter().find(|choice| choice.number() == number)
            }

            fn number(self) -> f64 {
                f64::from(self as u8)
            }
        }
    };
}
pub(crate) use choices;
