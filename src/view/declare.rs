//! How a structure of C is seen: a pointer behind functions that copy one field out, or in.
//!
//! `Option<VIEW>` is the pointer itself, NULL being `None`, so exported functions and methods take
//! their arguments as views: what C has to see to when it hands such a pointer over is the view's
//! contract, which is said once, where the view is declared. `tests/support/generated.rs` turns the
//! views back into pointers for the headers.
//!
//! A view lasts as long as the call that it came in by: `'call`. So it cannot be stored in
//! something that stays, nor sent to another thread:
//!
//! ```
//! # use pcp_pmda::view::agent::Ext;
//! fn in_the_call(ext: Ext<'_>) -> std::ffi::c_int {
//!     let copy = ext;
//!     copy.domain()
//! }
//! ```
//!
//! ```compile_fail
//! # use pcp_pmda::view::agent::Ext;
//! fn stored(ext: Ext<'_>, place: &std::cell::Cell<Option<Ext<'static>>>) {
//!     place.set(Some(ext));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! # use pcp_pmda::view::agent::Ext;
//! fn sent(ext: Ext<'_>) -> std::ffi::c_int {
//!     std::thread::scope(|scope| scope.spawn(|| ext.domain()).join().unwrap_or(0))
//! }
//! ```
//!
//! Numbers and functions may be stored by anybody. What stores a pointer, or a number by which a
//! pointer is followed, is `unsafe`: another view of the same structure follows it. A pointer that
//! has the type of what it leads to may be stored as well.
//!
//! ```
//! # use pcp_pmda::view::memory::Lasting;
//! # use pcp_pmda::view::agent::Ext;
//! # use pcp_pmda::view::types::pmdaMetric;
//! fn numbers_and_tables(ext: Ext<'_>, table: Lasting<pmdaMetric>) {
//!     ext.set_ordinal(-1);
//!     ext.set_fetch_callback(None);
//!     ext.set_metrics(table);
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::agent::Ext;
//! fn wild_pointer(ext: Ext<'_>) {
//!     ext.set_profile(std::ptr::without_provenance_mut(16));
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::agent::Ext;
//! fn larger_than_its_table(ext: Ext<'_>) {
//!     ext.set_metric_count(1000);
//! }
//! ```

/// Declares a typed view of a C structure: what it points to, and which fields are read and
/// written.
///
/// A view is a plain pointer that is not NULL. It holds no reference, so C may change the structure
/// at any time; each function reads or writes one field at that moment.
///
/// - `fields` are read, and written if a setter stands in brackets behind the name. Only what C
///   does not follow may have one: numbers and functions.
/// - `followed` are pointers, and counts of what pointers lead to: their setters are `unsafe`.
/// - `kept` are pointers that are written as views: the type says that they lead to such a thing.
/// - `views` and `arrays` are pointers that are read as what they point to.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $name:ident of $structure:ty, contract $contract:literal
        $(fields { $($(#[$get_doc:meta])* $get:ident $([$set:ident])?: $get_field:ident $(. $get_part:ident)? as $get_type:ty;)* })?
        $(followed { $($(#[$put_doc:meta])* $put:ident: $put_field:ident as $put_type:ty;)* })?
        $(kept { $($(#[$keep_doc:meta])* $keep:ident: $keep_field:ident as $keep_type:ty;)* })?
        $(views { $($(#[$view_doc:meta])* $view:ident: $view_field:ident as $view_type:ident;)* })?
        $(arrays { $($(#[$array_doc:meta])* $array:ident: $array_field:ident [$array_count:ident] as $array_type:ident;)* })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub struct $name<'call>(std::ptr::NonNull<$structure>, std::marker::PhantomData<&'call $structure>);

        impl<'call> $name<'call> {
            /// The view of what a pointer points to; `None` for NULL.
            ///
            /// # Safety
            #[doc = $contract]
            /// That holds for `'call`.
            #[inline(always)]
            #[allow(dead_code, reason = "some come from C alone, as arguments")]
            pub(crate) unsafe fn new(pointer: *mut $structure) -> Option<$name<'call>> {
                std::ptr::NonNull::new(pointer).map(|pointer| $name(pointer, std::marker::PhantomData))
            }

            /// The structure as C sees it.
            #[inline(always)]
            #[allow(dead_code, reason = "not each is handed on to C")]
            pub(crate) fn as_ptr(self) -> *mut $structure {
                self.0.as_ptr()
            }

            $($(
                $(#[$get_doc])*
                #[inline(always)]
                #[allow(dead_code, reason = "some are only written")]
                pub fn $get(self) -> $get_type {
                    // SAFETY: the structure is valid by the contract of `new`. The field is copied,
                    // and no reference to it is made, so that it does not matter who else has a
                    // pointer to it.
                    unsafe { (&raw const (*self.0.as_ptr()).$get_field $(. $get_part)?).read() }
                }

                $(
                    #[doc = concat!("Stores what [`", stringify!($name), "::", stringify!($get), "`] reads.")]
                    #[inline(always)]
                    pub fn $set(self, value: $get_type) {
                        // SAFETY: the structure is valid by the contract of `new`, and nobody holds
                        // a reference to the field: C has none, and this room makes none.
                        unsafe { (&raw mut (*self.0.as_ptr()).$get_field).write(value) };
                    }
                )?
            )*)?

            $($(
                $(#[$put_doc])*
                ///
                /// # Safety
                /// With this value the structure still is as the contract of the view demands, as
                /// long as it is there.
                #[inline(always)]
                pub unsafe fn $put(self, value: $put_type) {
                    // SAFETY: as for the fields that are plain; the caller answers for the value.
                    unsafe { (&raw mut (*self.0.as_ptr()).$put_field).write(value) };
                }
            )*)?

            $($(
                $(#[$keep_doc])*
                #[inline(always)]
                pub fn $keep(self, value: $keep_type) {
                    const { assert!(size_of::<$keep_type>() == size_of::<*mut std::ffi::c_void>()) };
                    // SAFETY: as for the fields that are plain. The value is a pointer or NULL, and
                    // has a type that nobody has without what it points to.
                    unsafe { (&raw mut (*self.0.as_ptr()).$keep_field).cast::<$keep_type>().write(value) };
                }
            )*)?

            $($(
                $(#[$view_doc])*
                #[inline(always)]
                pub fn $view(self) -> Option<$view_type<'call>> {
                    // SAFETY: the structure is valid by the contract of `new`, which extends to
                    // what it points to: NULL, or what the other view demands. The pointer is
                    // copied.
                    unsafe { $view_type::new((&raw const (*self.0.as_ptr()).$view_field).read().cast()) }
                }
            )*)?

            $($(
                $(#[$array_doc])*
                #[inline(always)]
                pub fn $array(self) -> $array_type<'call> {
                    // SAFETY: the structure is valid by the contract of `new`, which extends to
                    // what it points to: NULL, or as many valid elements as it says. Pointer and
                    // count are copied.
                    unsafe {
                        let first = (&raw const (*self.0.as_ptr()).$array_field).read();
                        $array_type::new(first.cast(), (&raw const (*self.0.as_ptr()).$array_count).read())
                    }
                }
            )*)?
        }
    };
}

pub(super) use view;
