pub(crate) mod exports;
