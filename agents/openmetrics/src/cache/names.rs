//! The names of a table by their numbers.

/// Names, one after the other.
#[derive(Debug, Default)]
pub(super) struct Names {
    text: String,
    /// The end of each name in the text.
    ends: Vec<usize>,
    /// Their numbers, ascending; `None` as long as no number from 0 on is missing.
    numbers: Option<Vec<u32>>,
    /// The number of the next one.
    next: u32,
}

impl Names {
    /// The name of a number.
    pub fn get(&self, number: u32) -> Option<&str> {
        let index = match &self.numbers {
            None => number as usize,
            Some(numbers) => numbers.binary_search(&number).ok()?,
        };
        self.at(index)
    }

    fn at(&self, index: usize) -> Option<&str> {
        let begin = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(begin..*self.ends.get(index)?)
    }

    /// Adds a name, and returns its number.
    pub fn push(&mut self, name: &str) -> u32 {
        let number = self.next;
        self.text.push_str(name);
        self.ends.push(self.text.len());
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
        self.next = number.saturating_add(1);
        number
    }

    /// Leaves out a number, whose name was forgotten.
    pub fn skip(&mut self) {
        self.numbers.get_or_insert_with(|| (0..self.next).collect());
        self.next = self.next.saturating_add(1);
    }

    /// Forgets names. Returns whether a name was forgotten.
    pub fn forget(&mut self, is_forgotten: &mut dyn FnMut(u32) -> bool) -> bool {
        let mut kept = Names {
            numbers: Some(Vec::new()),
            ..Names::default()
        };
        for (number, name) in self.iter().filter(|(number, _)| !is_forgotten(*number)) {
            kept.next = number;
            kept.push(name);
        }
        kept.next = self.next;
        let is_news = kept.ends.len() < self.ends.len();
        if is_news {
            kept.shrink_to_fit();
            *self = kept;
        }
        is_news
    }

    /// The names with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..self.ends.len()).filter_map(|index| {
            let number = match &self.numbers {
                None => u32::try_from(index).ok()?,
                Some(numbers) => *numbers.get(index)?,
            };
            Some((number, self.at(index)?))
        })
    }

    /// The number of the next name.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The length of all names.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Makes room for so many names of so many bytes altogether, and no more.
    pub fn reserve(&mut self, count: usize, bytes: usize) {
        self.ends.reserve_exact(count);
        self.text.reserve_exact(bytes);
    }

    /// Gives back room that no name needs.
    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        if let Some(numbers) = &mut self.numbers {
            numbers.shrink_to_fit();
        }
    }
}
