//! The texts of a help database in memory, without the holes of their file (HELP-34).

use crate::error::{Error, Result};

/// A part of the file that holds something.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Where it begins in the file.
    start: u32,
    /// Where it begins in the image.
    place: u32,
    /// Its length in bytes; a NUL follows in the image.
    length: u32,
}

/// The page file: what there is between its holes. Each part ends with a NUL, as the hole behind it
/// begins with one.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) image: Vec<u8>,
    /// In ascending order.
    extents: Vec<Extent>,
    /// The length of the file.
    pub(super) size: u32,
}

impl Pages {
    /// A file of this size that is one hole.
    pub(super) fn empty(size: u32) -> Pages {
        Pages {
            image: Vec::new(),
            extents: Vec::new(),
            size,
        }
    }

    /// A file of this size without holes, and a NUL behind it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn whole(image: Box<[u8]>, size: u32) -> Result<Pages> {
        let mut pages = Pages::empty(size);
        pages.extents.try_reserve(1).map_err(|_| Error::NOMEM)?;
        pages.extents.push(Extent {
            start: 0,
            place: 0,
            length: size,
        });
        pages.image = image.into_vec();
        Ok(pages)
    }

    /// Adds a part behind the others: gives the room for it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn add(&mut self, start: u32, length: usize) -> Result<&mut [u8]> {
        let place = self.image.len();
        self.image.try_reserve_exact(length + 1).map_err(|_| Error::NOMEM)?;
        self.extents.try_reserve(1).map_err(|_| Error::NOMEM)?;
        self.image.resize(place + length + 1, 0);
        let as_word = |size| u32::try_from(size).map_err(|_| Error::INVAL);
        self.extents.push(Extent {
            start,
            place: as_word(place)?,
            length: as_word(length)?,
        });
        Ok(&mut self.image[place..place + length])
    }

    /// Where the text at this place of the file is in the image; `None` outside of the file.
    pub(super) fn place(&self, offset: u32) -> Option<u32> {
        if offset >= self.size {
            return None;
        }
        let behind = self.extents.partition_point(|extent| extent.start <= offset);
        let extent = self.extents.get(behind.checked_sub(1)?)?;
        // In a hole: the NUL in front of it.
        Some(extent.place + (offset - extent.start).min(extent.length))
    }
}
