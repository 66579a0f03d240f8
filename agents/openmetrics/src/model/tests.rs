//! Tests of sources with documents.
