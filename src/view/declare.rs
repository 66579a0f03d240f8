//! How a structure of C is seen: a pointer behind functions that copy one field out, or in.
//!
//! `Option<VIEW>` is the pointer itself, NULL being `None`, so exported functions and methods take
//! their arguments as views: what C has to see to when it hands such a pointer over is the view's
//! contract, which is said once, where the view is declared. `tests/support/generated.rs` turns the
//! views back into pointers for the headers.

/// Declares a typed view of a C structure: what it points to, and which fields are read and
/// written.
///
/// A view is a plain pointer that is not NULL. It holds no reference, so C may change the structure
/// at any time; each function reads or writes one field at that moment. `views` and `arrays` are
/// fields that point to something else, seen as what it is.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $name:ident of $structure:ty, contract $contract:literal
        $(get { $($(#[$get_doc:meta])* $get:ident: $($get_field:ident).+ as $get_type:ty;)* })?
        $(set { $($(#[$set_doc:meta])* $set:ident: $set_field:ident as $set_type:ty;)* })?
        $(views { $($(#[$view_doc:meta])* $view:ident: $view_field:ident as $view_type:ident;)* })?
        $(arrays { $($(#[$array_doc:meta])* $array:ident: $array_field:ident [$array_count:ident] as $array_type:ident;)* })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub struct $name(std::ptr::NonNull<$structure>);

        impl $name {
            /// The view of what a pointer points to; `None` for NULL.
            ///
            /// # Safety
            #[doc = $contract]
            /// That holds until the view, and every copy of it, was used for the last time.
            #[inline(always)]
            pub(crate) unsafe fn new(pointer: *mut $structure) -> Option<$name> {
                std::ptr::NonNull::new(pointer).map($name)
            }

            /// The structure as C sees it.
            #[inline(always)]
            pub(crate) fn as_ptr(self) -> *mut $structure {
                self.0.as_ptr()
            }

            $($(
                $(#[$get_doc])*
                #[inline(always)]
                pub(crate) fn $get(self) -> $get_type {
                    // SAFETY: the structure is valid by the contract of `new`. The field is copied,
                    // and no reference to it is made, so that it does not matter who else has a
                    // pointer to it.
                    unsafe { (&raw const (*self.0.as_ptr()).$($get_field).+).read() }
                }
            )*)?

            $($(
                $(#[$set_doc])*
                #[inline(always)]
                pub(crate) fn $set(self, value: $set_type) {
                    // SAFETY: the structure is valid by the contract of `new`, and nobody holds a
                    // reference to the field: C has none, and this room makes none.
                    unsafe { (&raw mut (*self.0.as_ptr()).$set_field).write(value) };
                }
            )*)?

            $($(
                $(#[$view_doc])*
                #[inline(always)]
                pub(crate) fn $view(self) -> Option<$view_type> {
                    // SAFETY: the structure is valid by the contract of `new`, which extends to
                    // what it points to: NULL, or what the other view demands. The pointer is
                    // copied.
                    unsafe { $view_type::new((&raw const (*self.0.as_ptr()).$view_field).read().cast()) }
                }
            )*)?

            $($(
                $(#[$array_doc])*
                #[inline(always)]
                pub(crate) fn $array(self) -> $array_type {
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
