//! Event arrays, word by word.

use super::*;

fn print(data: &[u8], size: usize) -> Vec<u8> {
    let printed = |byte| match byte {
        b' ' | 0x09..=0x0d => b' ',
        0x21..=0x7e => byte,
        _ => b'.',
    };
    printable(data, size, printed).collect()
}

/// The examples of the specification (QUEUE-50, E-16).
#[test]
fn text_nul_and_dots() {
    assert_eq!(print(b"ab\tc\n\x01d", 16), b"ab c .\0.........");
    assert_eq!(print(b"0123456789abcdef", 8), b"0123456\0");
    assert_eq!(print(b"x", 4), b"\0...");
    assert_eq!(print(b"", 4), b"\0...");
    assert_eq!(print(b"\x80\xff\x7f ", 5), b"...\0.");
}

/// The lowest free handle is used first; handles that are not in use are refused (EVENT-10,
/// EVENT-13, EVENT-15).
#[test]
fn handles() {
    let mut arrays = EventArrays::new();
    assert_eq!([0; 3].map(|_| arrays.create()), [Ok(0), Ok(1), Ok(2)]);
    arrays.release(1).expect("exists");
    assert_eq!(arrays.release(1), Err(Error::NOCONTEXT));
    assert_eq!(arrays.create(), Ok(1));
    for handle in [-1, 3, i32::MIN, i32::MAX] {
        assert_eq!(arrays.get(handle).err(), Some(Error::NOCONTEXT));
    }
}

/// The published array in words.
fn words(array: &mut EventArray, form: Form) -> Vec<u32> {
    let words = array.publish(form).chunks_exact(4);
    words
        .map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes")))
        .collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A low-resolution record has the layout that clients read (EVENT-1, EVENT-2, EVENT-3,
/// EVENT-5).
#[test]
fn layout_of_a_low_resolution_record() {
    let mut array = EventArray::new().expect("memory");
    array.add_record(Stamp::Low(7, 8), 3).expect("room");
    array
        .add_parameter(99, 6, ParameterValue::Bytes(b"12345"))
        .expect("a record");
    array.add_parameter(98, 1, ParameterValue::Word(5)).expect("a record");
    let words = words(&mut array, Form::Low);
    assert_eq!(words[..8], [(9 << 24) | 52, 1, 7, 8, 3, 2, 99, (6 << 24) | 9]);
    assert_eq!(&bytes(&words[8..10]), b"12345\0\0\0");
    assert_eq!(words[10..], [98, (1 << 24) | 8, 5]);
}

/// A record may begin at offset 44 (EVENT-2), and all 64 bits of a missed record's stamp are
/// kept (E-6).
#[test]
fn high_resolution_records_are_not_aligned() {
    let mut array = EventArray::new().expect("memory");
    array.add_record(Stamp::High(1 << 40, 2), 0).expect("room");
    array.add_parameter(1, 0, ParameterValue::Word(1)).expect("a record");
    array.add_missed(Stamp::High(0x11_2233_4455, -1), -5).expect("room");
    let words = words(&mut array, Form::High);
    assert_eq!(words.len() * 4, 68);
    assert_eq!(bytes(&words[11..13]), 0x11_2233_4455_u64.to_ne_bytes());
    assert_eq!(words[13..], [u32::MAX, u32::MAX, PM_EVENT_FLAG_MISSED, -5_i32 as u32]);
}

/// An empty string has no value bytes, and four bytes need no padding (EVENT-4).
#[test]
fn padding() {
    for (text, size) in [(&b""[..], 8), (b"1", 12), (b"1234", 12), (b"12345", 16)] {
        let mut array = EventArray::new().expect("memory");
        array.add_record(Stamp::Low(0, 0), 0).expect("room");
        let before = array.used;
        array
            .add_parameter(0, 6, ParameterValue::Bytes(text))
            .expect("a record");
        assert_eq!(array.used - before, size);
    }
}

/// A parameter is refused at the beginning, after a missed record and after a reset (E-1, E-2,
/// EVENT-14).
#[test]
fn a_parameter_needs_a_record() {
    let mut array = EventArray::new().expect("memory");
    assert_eq!(array.add_parameter(0, 0, ParameterValue::Word(0)), Err(Error::EINVAL));
    array.add_record(Stamp::Low(0, 0), 0).expect("room");
    array.add_missed(Stamp::Low(0, 0), 4).expect("room");
    assert_eq!(array.add_parameter(0, 0, ParameterValue::Word(0)), Err(Error::EINVAL));
    array.add_record(Stamp::Low(0, 0), 0).expect("room");
    array.reset();
    assert_eq!(array.add_parameter(0, 0, ParameterValue::Word(0)), Err(Error::EINVAL));
    assert_eq!(words(&mut array, Form::Low), [(9 << 24) | 8, 0]);
}

/// Either form of record counts the parameters that follow it (E-3).
#[test]
fn forms_may_be_mixed() {
    let mut array = EventArray::new().expect("memory");
    array.add_record(Stamp::High(1, 2), 0).expect("room");
    array
        .add_parameter(5, 2, ParameterValue::Long(u64::MAX))
        .expect("a record");
    array.add_record(Stamp::Low(1, 2), 0).expect("room");
    array.add_parameter(5, 2, ParameterValue::Long(0)).expect("a record");
    let words = words(&mut array, Form::Low);
    assert_eq!((words[7], words[15]), (1, 1));
}

/// Padding is zeros also where the array had other bytes before it was reset (EVENT-4, EVENT-14).
#[test]
fn padding_of_an_array_that_was_used() {
    let mut array = EventArray::new().expect("memory");
    for (text, expected) in [
        (&[0xff; 64][..], [u32::MAX; 2]),
        (b"\x01", [u32::from_ne_bytes([1, 0, 0, 0]), 0]),
    ] {
        array.add_record(Stamp::Low(0, 0), 0).expect("room");
        array.add_parameter(0, 6, ParameterValue::Bytes(text)).expect("room");
        array.add_parameter(0, 6, ParameterValue::Bytes(b"")).expect("room");
        let at = if text.len() > 1 { 8..10 } else { 8..9 };
        assert_eq!(words(&mut array, Form::Low)[at.clone()], expected[..at.len()]);
        array.reset();
    }
}

/// A record that just fits into the longest array is added, and a longer one is refused (E-4).
#[test]
fn the_last_bytes() {
    for (room, stamp, expected) in [
        (16, Stamp::Low(1, 2), Ok(())),
        (12, Stamp::Low(1, 2), Err(Error::TOOBIG)),
        (24, Stamp::High(1, 2), Ok(())),
        (20, Stamp::High(1, 2), Err(Error::TOOBIG)),
    ] {
        let mut array = EventArray::new().expect("memory");
        array.add_record(Stamp::Low(0, 0), 0).expect("room");
        let filling = vec![1; LENGTH_LIMIT / 4 * 4 - array.used as usize - 8 - room];
        array
            .add_parameter(0, 6, ParameterValue::Bytes(&filling))
            .expect("it fits");
        assert_eq!(array.add_record(stamp, 0), expected, "{room}");
        assert_eq!(words(&mut array, Form::Low)[1], 1 + u32::from(expected.is_ok()));
    }
}

/// A length that its field cannot hold is refused, not cut (E-4).
#[test]
fn lengths_do_not_wrap() {
    let mut array = EventArray::new().expect("memory");
    array.add_record(Stamp::Low(0, 0), 0).expect("room");
    let big = vec![1; LENGTH_LIMIT];
    assert_eq!(
        array.add_parameter(0, 6, ParameterValue::Bytes(&big)),
        Err(Error::TOOBIG)
    );
    let fits = LENGTH_LIMIT / 4 * 4 - array.used as usize - 8;
    assert_eq!(
        array.add_parameter(0, 6, ParameterValue::Bytes(&big[..=fits])),
        Err(Error::TOOBIG)
    );
    assert_eq!(words(&mut array, Form::Low)[..2], [(9 << 24) | 24, 1]);
    array
        .add_parameter(0, 6, ParameterValue::Bytes(&big[..fits]))
        .expect("just fits");
    assert_eq!(array.add_record(Stamp::Low(0, 0), 0), Err(Error::TOOBIG));
    assert_eq!(words(&mut array, Form::Low)[1], 1);
}

/// Records that were added after an end are taken away, and the next record takes their place.
#[test]
fn cut_arrays() {
    let parameter = |array: &mut EventArray, word| array.add_parameter(7, 1, ParameterValue::Word(word));
    let mut array = EventArray::new().expect("memory");
    let empty = array.end();
    assert_eq!(array.room(), 0xff_fffc - 8);
    array.add_record(Stamp::Low(1, 2), 0).expect("room");
    parameter(&mut array, 3).expect("a record");
    let expected = array.publish(Form::Low).to_vec();
    let end = array.end();
    array.add_record(Stamp::High(4, 5), 0).expect("room");
    array
        .add_parameter(8, 6, ParameterValue::Bytes(&[b'x'; 4000]))
        .expect("room");
    array.add_missed(Stamp::Low(6, 7), 8).expect("room");
    let later = array.end();
    array.cut(end);
    assert_eq!(array.publish(Form::Low), expected);
    // An end beyond that of the array has no effect.
    array.cut(later);
    assert_eq!(
        (array.end(), array.publish(Form::Low)),
        (end, &mut expected.clone()[..])
    );
    // A parameter belongs to the record that is the newest again.
    parameter(&mut array, 9).expect("the first record");
    assert_eq!(array.publish(Form::Low)[20..24], 2_u32.to_ne_bytes());
    array.cut(empty);
    assert_eq!(parameter(&mut array, 1), Err(Error::EINVAL));
    assert_eq!(array.publish(Form::Low).len(), 8);
}
