//! Column types, and the macro that turns a struct into a group of columns.

use super::TOGETHER;
use super::address::dotted;
use crate::units::Nanos;
use crate::wire::community::CommunityId;
use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder,
    UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_schema::{DataType, Field};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

/// A value that fits into a column. `Option` makes the column nullable.
pub trait Cell {
    /// The Arrow builder of the column.
    type Builder: ArrayBuilder;
    /// The Arrow type of the column.
    const TYPE: DataType;
    /// Whether the column may hold NULL.
    const NULLABLE: bool = false;
    /// An empty builder with room for as much as the one before holds.
    fn builder(before: Option<&Self::Builder>) -> Self::Builder;
    /// Adds this value.
    fn append(&self, builder: &mut Self::Builder);
    /// Adds a NULL.
    fn append_null(builder: &mut Self::Builder);
    /// Adds several values, with a NULL for each that is `None`.
    fn append_all<'a>(cells: impl Iterator<Item = Option<&'a Self>>, builder: &mut Self::Builder)
    where
        Self: 'a,
    {
        cells.for_each(|cell| match cell {
            Some(cell) => cell.append(builder),
            None => Self::append_null(builder),
        });
    }
}

macro_rules! simple_cells {
    ($($rust:ty => $builder:ty, $arrow:ident, $with:tt;)+) => {$(
        impl Cell for $rust {
            type Builder = $builder;
            const TYPE: DataType = DataType::$arrow;
            fn builder(before: Option<&$builder>) -> $builder {
                <$builder>::with_capacity(before.map_or(0, |before| before.len()))
            }
            fn append(&self, builder: &mut $builder) { builder.append_value(*self); }
            fn append_null(builder: &mut $builder) { builder.append_null(); }
            $with!{$rust}
        }
    )+};
}

/// Numbers are added together: a builder asks for room, and for its bits, once for each call.
macro_rules! together {
    ($rust:ty) => {
        fn append_all<'a>(
            mut cells: impl Iterator<Item = Option<&'a Self>>,
            builder: &mut Self::Builder,
        ) {
            let (mut values, mut known) = ([<$rust>::default(); TOGETHER], [false; TOGETHER]);
            loop {
                let mut count = 0;
                for cell in cells.by_ref().take(TOGETHER) {
                    (values[count], known[count]) =
                        (cell.copied().unwrap_or_default(), cell.is_some());
                    count += 1;
                }
                builder.append_values(&values[..count], &known[..count]);
                if count < TOGETHER {
                    return;
                }
            }
        }
    };
}

macro_rules! one_by_one {
    ($rust:ty) => {};
}

simple_cells! {
    bool => BooleanBuilder, Boolean, one_by_one;
    u8 => UInt8Builder, UInt8, together;
    u16 => UInt16Builder, UInt16, together;
    u32 => UInt32Builder, UInt32, together;
    u64 => UInt64Builder, UInt64, together;
    i32 => Int32Builder, Int32, together;
    i64 => Int64Builder, Int64, together;
    f64 => Float64Builder, Float64, together;
}

/// Texts that are kept in any way; each gives a `str`.
macro_rules! text_cells {
    ($($rust:ty)+) => {$(
        impl Cell for $rust {
            type Builder = StringBuilder;
            const TYPE: DataType = DataType::Utf8;
            fn builder(before: Option<&StringBuilder>) -> StringBuilder { text_builder(before) }
            fn append(&self, builder: &mut StringBuilder) { builder.append_value(&**self); }
            fn append_null(builder: &mut StringBuilder) { builder.append_null(); }
        }
    )+};
}

text_cells! { &'static str String Cow<'static, str> CommunityId }

/// With a little more for the texts: a builder that grows copies all of them.
fn text_builder(before: Option<&StringBuilder>) -> StringBuilder {
    let (texts, bytes) =
        before.map_or((0, 0), |before| (before.len(), before.values_slice().len()));
    StringBuilder::with_capacity(texts, bytes + bytes / 8)
}

impl Cell for Nanos {
    type Builder = Int64Builder;
    const TYPE: DataType = DataType::Int64;
    fn builder(before: Option<&Int64Builder>) -> Int64Builder {
        i64::builder(before)
    }
    fn append(&self, builder: &mut Int64Builder) {
        builder.append_value(self.0);
    }
    fn append_null(builder: &mut Int64Builder) {
        builder.append_null();
    }
    fn append_all<'a>(cells: impl Iterator<Item = Option<&'a Self>>, builder: &mut Int64Builder) {
        i64::append_all(cells.map(|cell| cell.map(|nanos| &nanos.0)), builder);
    }
}

impl Cell for IpAddr {
    type Builder = StringBuilder;
    const TYPE: DataType = DataType::Utf8;
    fn builder(before: Option<&StringBuilder>) -> StringBuilder {
        text_builder(before)
    }
    fn append(&self, builder: &mut StringBuilder) {
        match self {
            IpAddr::V4(addr) => builder.append_value(&*dotted(*addr)),
            IpAddr::V6(addr) => {
                use std::fmt::Write;
                write!(builder, "{addr}").expect("a string builder takes any text");
                builder.append_value("");
            }
        }
    }
    fn append_null(builder: &mut StringBuilder) {
        builder.append_null();
    }
}

impl<T: Cell> Cell for Option<T> {
    type Builder = T::Builder;
    const TYPE: DataType = T::TYPE;
    const NULLABLE: bool = true;
    fn builder(before: Option<&T::Builder>) -> T::Builder {
        T::builder(before)
    }
    fn append(&self, builder: &mut T::Builder) {
        match self {
            Some(value) => value.append(builder),
            None => T::append_null(builder),
        }
    }
    fn append_null(builder: &mut T::Builder) {
        T::append_null(builder);
    }
    fn append_all<'a>(cells: impl Iterator<Item = Option<&'a Self>>, builder: &mut T::Builder)
    where
        Self: 'a,
    {
        T::append_all(cells.map(|cell| cell.and_then(Option::as_ref)), builder);
    }
}

/// A group of columns: a struct made by [`columns!`], or a pair of groups.
pub trait Columns {
    /// The Arrow builders of the group.
    type Builder;
    /// Empty builders with room for as much as those before hold.
    fn builder(before: Option<&Self::Builder>) -> Self::Builder;
    /// Adds the fields, each with its meaning as metadata `doc`.
    fn fields(fields: &mut Vec<Field>);
    /// Adds rows, column by column: a row after the other would fetch every builder for each.
    fn append<'a>(rows: impl Iterator<Item = &'a Self> + Clone, builder: &mut Self::Builder)
    where
        Self: 'a;
    /// The columns that were built.
    fn finish(builder: Self::Builder, arrays: &mut Vec<ArrayRef>);
}

impl<A: Columns, B: Columns> Columns for (A, B) {
    type Builder = (A::Builder, B::Builder);
    fn builder(before: Option<&Self::Builder>) -> Self::Builder {
        (A::builder(before.map(|pair| &pair.0)), B::builder(before.map(|pair| &pair.1)))
    }
    fn fields(fields: &mut Vec<Field>) {
        A::fields(fields);
        B::fields(fields);
    }
    fn append<'a>(rows: impl Iterator<Item = &'a Self> + Clone, builder: &mut Self::Builder)
    where
        Self: 'a,
    {
        A::append(rows.clone().map(|row| &row.0), &mut builder.0);
        B::append(rows.map(|row| &row.1), &mut builder.1);
    }
    fn finish(builder: Self::Builder, arrays: &mut Vec<ArrayRef>) {
        A::finish(builder.0, arrays);
        B::finish(builder.1, arrays);
    }
}

/// The field of a column of cells of type `T`.
pub fn field<T: Cell>(name: &str, doc: &str) -> Field {
    let doc = doc.trim().to_owned();
    Field::new(name, T::TYPE, T::NULLABLE).with_metadata([("doc".to_owned(), doc)])
}

/// Finishes one builder.
pub fn finish(mut builder: impl ArrayBuilder) -> ArrayRef {
    Arc::new(builder.finish())
}

/// Declares a struct whose fields are columns; the doc comment of a field is its documentation in
/// the schema.
#[macro_export]
macro_rules! columns {
    ($(#[$meta:meta])* pub struct $name:ident / $builder:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty,)+
    }) => {
        $(#[$meta])*
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)+ }

        #[doc = concat!("The Arrow builders of [`", stringify!($name), "`].")]
        pub struct $builder { $($field: <$type as $crate::record::Cell>::Builder,)+ }

        impl $crate::record::Columns for $name {
            type Builder = $builder;
            fn builder(before: Option<&$builder>) -> $builder {
                $builder { $($field: <$type as $crate::record::Cell>::builder(
                    before.map(|before| &before.$field),
                ),)+ }
            }
            fn fields(fields: &mut Vec<arrow_schema::Field>) {
                $(fields.push($crate::record::field::<$type>(
                    stringify!($field), concat!($($doc),+),
                ));)+
            }
            fn append<'a>(rows: impl Iterator<Item = &'a Self> + Clone, builder: &mut $builder) {
                $(<$type as $crate::record::Cell>::append_all(
                    rows.clone().map(|row| Some(&row.$field)), &mut builder.$field,
                );)+
            }
            fn finish(builder: $builder, arrays: &mut Vec<arrow_array::ArrayRef>) {
                $(arrays.push($crate::record::finish(builder.$field));)+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn many_numbers_keep_their_places_and_what_is_unknown() {
        let given: Vec<Option<Nanos>> =
            (0..70).map(|at| (at % 3 > 0).then_some(Nanos(at))).collect();
        let mut builder = Nanos::builder(None);
        Option::<Nanos>::append_all(given.iter().map(Some), &mut builder);
        let array = builder.finish();
        let read: Vec<Option<Nanos>> = array.iter().map(|cell| cell.map(Nanos)).collect();
        assert_eq!(read, given);
    }

    #[test]
    fn addresses_read_as_the_standard_library_writes_them() {
        let addrs = ["0.0.0.0", "1.20.200.99", "255.255.255.255", "10.100.0.1", "2001:db8::1"];
        let mut builder = StringBuilder::new();
        for addr in addrs {
            addr.parse::<IpAddr>().unwrap().append(&mut builder);
        }
        let array = builder.finish();
        let read: Vec<&str> = (0..array.len()).map(|row| array.value(row)).collect();
        assert_eq!(read, addrs);
    }
}
