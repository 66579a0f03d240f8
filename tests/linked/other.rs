//! Another static library in Rust, with a panic handler and an allocator as each has.

#[unsafe(no_mangle)]
pub extern "C" fn other(number: i32) -> i32 {
    let result = std::panic::catch_unwind(|| {
        assert!(number < 7, "caught");
        Box::new(number)
    });
    result.map_or(-1, |number| *number)
}
