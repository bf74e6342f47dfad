//! The connections of an event loop, by the tokens that its events carry.

/// The connections. A token names one connection, and never a later one in the same place.
#[derive(Debug)]
pub struct Slots<C> {
    slots: Vec<Slot<C>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot<C> {
    /// Connections that had this place.
    generation: u32,
    connection: Option<C>,
}

impl<C> Default for Slots<C> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<C> Slots<C> {
    /// Takes a connection in, and returns its token.
    pub fn insert(&mut self, connection: C) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, connection: None });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[place];
        slot.connection = Some(connection);
        token(slot.generation, place)
    }

    /// The connection of a token, unless it has ended.
    #[inline]
    pub fn find(&mut self, token: u64) -> Option<&mut C> {
        let slot = self.slots.get_mut(place_of(token))?;
        if u64::from(slot.generation) == token >> 32 { slot.connection.as_mut() } else { None }
    }

    /// Takes a connection out.
    pub fn remove(&mut self, token: u64) -> Option<C> {
        self.find(token)?;
        let place = place_of(token);
        let slot = &mut self.slots[place];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(place);
        slot.connection.take()
    }

    /// All connections with their tokens.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &C)> {
        self.slots.iter().enumerate().filter_map(|(place, slot)| {
            let connection = slot.connection.as_ref()?;
            Some((token(slot.generation, place), connection))
        })
    }
}

fn token(generation: u32, place: usize) -> u64 {
    u64::from(generation) << 32 | place as u64
}

fn place_of(token: u64) -> usize {
    usize::try_from(token & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}
