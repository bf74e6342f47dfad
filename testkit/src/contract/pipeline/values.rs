//! Values come back whole.

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::fixture::Fixture;
use super::super::need::TRIED_VALUE_LEN;
use super::client::Client;
use super::{in_each_way, in_own_store};
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(pipelined_values_of_every_size_come_back_whole, PIPELINE),
    case!(a_pipelined_value_of_the_largest_size_comes_back_whole, PIPELINE),
    case!(pipelined_values_of_every_byte_come_back_whole, PIPELINE),
    case!(values_come_back_whole_whatever_the_room, PIPELINE),
];

/// Sends each set and its get without waiting, and afterwards all gets once more.
fn come_back(client: &mut Client, values: &[Vec<u8>]) -> Result<(), Failed> {
    let mut sets = Vec::new();
    let mut gets = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let key = client.key(i);
        sets.push(client.set(&key, value)?);
        gets.push((client.get(&key)?, value));
    }
    client.finish()?;
    for (i, value) in values.iter().enumerate() {
        let key = client.key(i);
        gets.push((client.get(&key)?, value));
    }
    client.finish()?;
    sets.into_iter().try_for_each(|set| client.is_stored(set))?;
    gets.into_iter().try_for_each(|(get, value)| client.is_hit(get, value))
}

fn pipelined_values_of_every_size_come_back_whole(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.unwrap_or(usize::MAX);
    let mut random = Random::new(31);
    // Sizes around the buffers of clients, a value among requests without bytes, and two large ones together.
    let sizes = [
        0, 1, 2, 100, 0, 1023, 1024, 4095, 4096, 4097, 8192, 16_379, 16_384, 16_389, 32_768,
        65_536, 0, 102_400, 102_400, 1, 0,
    ];
    let values: Vec<_> =
        sizes.into_iter().filter(|len| *len <= limit).map(|len| random.bytes(len)).collect();
    in_each_way(fixture, |client| come_back(client, &values))
}

/// Some engines limit the item, which is the value with its key and a header.
fn a_pipelined_value_of_the_largest_size_comes_back_whole(fixture: &Fixture) -> Result<(), Failed> {
    const HEADER_LEN: usize = 512;
    let len = match fixture.capabilities()?.max_value_len {
        Some(limit) => limit.saturating_sub(HEADER_LEN).min(TRIED_VALUE_LEN),
        None => 1 << 20,
    };
    let mut random = Random::new(32);
    let values = [random.bytes(len), b"small".to_vec()];
    in_own_store(fixture, |client| come_back(client, &values))
}

fn pipelined_values_of_every_byte_come_back_whole(fixture: &Fixture) -> Result<(), Failed> {
    let every: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
    let mut values = vec![every];
    // Bytes that look like answers and their ends.
    for text in ["\r\n", "END\r\n", "HD\r\n", "VA 5\r\nhello\r\n", "$-1\r\n", "+OK\r\n", "-ERR\r\n"]
    {
        values.push(text.into());
        values.push(text.repeat(300).into());
    }
    in_each_way(fixture, |client| come_back(client, &values))
}

fn values_come_back_whole_whatever_the_room(fixture: &Fixture) -> Result<(), Failed> {
    let mut random = Random::new(33);
    let values: Vec<_> = [0, 1, 50, 400, 3000, 0, 20_000].map(|len| random.bytes(len)).into();
    in_each_way(fixture, |client| {
        for room in [1 << 20, 64 << 10, 4 << 10, 512] {
            client.set_room(room);
            come_back(client, &values)?;
        }
        Ok(())
    })
}
