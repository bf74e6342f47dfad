//! The stored forms, and the bounds of what is read back.

use proptest::prelude::*;

use super::*;

const ENGINE: &str = "spy";

fn compression(text: &str, max_len: Option<usize>) -> Compression {
    let settings = text.parse().unwrap();
    let shared = Shared { engine: ENGINE, settings, max_len, counts: Counts::default() };
    Compression { shared: Arc::new(shared), packer: Packer::default() }
}

fn stored(compression: &mut Compression, value: &[u8]) -> Vec<u8> {
    let mut room = b"before".to_vec();
    compression.encode(value, &mut room).unwrap();
    assert!(room.starts_with(b"before"));
    room.split_off(6)
}

fn text(len: usize) -> Vec<u8> {
    b"a text that comes again and again. ".iter().copied().cycle().take(len).collect()
}

/// Bytes that no compression makes shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn settings_read_and_show() {
    let zstd = Settings::default();
    for (text, settings) in [
        ("zstd", zstd),
        ("zstd:1k", zstd),
        ("zstd:16,level:19", Settings { over: 16, level: 19, ..zstd }),
        ("lz4:4k,limit:1g", Settings { format: Format::Lz4, over: 4096, limit: 1 << 30, ..zstd }),
    ] {
        assert_eq!(text.parse(), Ok(settings));
        assert_eq!(settings.to_string().parse(), Ok(settings));
    }
    for (text, message) in [
        ("on", "`on` is not zstd or lz4; write compress=zstd:1k"),
        ("gzip:1k", "`gzip` is not zstd or lz4"),
        ("zstd:much", "`much` is not a size; write 4096, 4k, 64m or 1g"),
        ("zstd:1k,level:20", "`20` is not a number of a level from 1 to 19; write level:3"),
        ("lz4,level:3", "lz4 has no level"),
        ("lz4,limit:4g", "a limit of 4 GiB is not from 1 byte to below 4 GiB"),
    ] {
        let error = text.parse::<Settings>().unwrap_err();
        assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn only_values_of_the_size_that_become_shorter_are_compressed() {
    for format in ["zstd:100", "lz4:100"] {
        let mut compression = compression(format, None);
        let small = stored(&mut compression, &text(99));
        assert_eq!((small[0], &small[1..]), (0xC0, &text(99)[..]));
        let random = stored(&mut compression, &noise(1000));
        assert_eq!((random[0], &random[1..]), (0xC0, &noise(1000)[..]));
        let long = stored(&mut compression, &text(5000));
        assert_eq!(long[0], if format == "zstd:100" { 0xC1 } else { 0xF5 });
        assert!(long.len() < 200, "{format}: {}", long.len());
        assert_eq!(compression.decoded_len(&long).unwrap(), Some(5000));
        let counts = &compression.shared.counts;
        let counted = [&counts.packed, &counts.before, &counts.incompressible];
        assert_eq!(counted.map(|count| count.load(Ordering::Relaxed)), [1, 5000, 1]);
    }
}

#[test]
fn every_form_is_read_whatever_the_settings() {
    for written in ["zstd:1", "lz4:1"] {
        let form = stored(&mut compression(written, None), &text(5000));
        for reader in ["zstd:64k,level:1", "lz4"] {
            let mut value = b"before".to_vec();
            assert!(compression(reader, None).decode(&form, &mut value).unwrap());
            assert_eq!(value, [b"before", &text(5000)[..]].concat());
        }
    }
}

#[test]
fn an_unknown_form_is_a_miss_and_counted() {
    let mut compression = compression("zstd", None);
    for foreign in [&b""[..], b"plain text", "\u{e9}".as_bytes(), b"\x00\x01", b"\xff"] {
        assert!(!compression.decode(foreign, &mut Vec::new()).unwrap(), "{foreign:?}");
    }
    assert_eq!(compression.shared.counts.unknown.load(Ordering::Relaxed), 5);
}

#[test]
fn a_claim_beyond_the_limit_is_refused_before_memory_is_taken() {
    for format in ["zstd", "lz4"] {
        let form = stored(&mut compression(format, None), &text(1 << 20));
        let mut reader = compression("zstd,limit:64k", None);
        let error = reader.decode(&form, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("claims 1 MiB > limit 64 KiB"), "{error}");
        // A form that claims less than it holds does not get more room.
        let mut lie = form;
        lie[1..5].copy_from_slice(&1000_u32.to_le_bytes());
        let mut value = Vec::new();
        let error = reader.decode(&lie, &mut value).unwrap_err();
        assert!(matches!(error, Error::Corrupted { .. }), "{error}");
        assert!(value.capacity() < 64 << 10, "{} bytes", value.capacity());
    }
}

#[test]
fn a_value_too_large_as_it_is_stays_so_and_is_told_in_its_own_length() {
    let mut compression = compression("zstd:1", Some(1000));
    assert_eq!(stored(&mut compression, &text(1000))[0], 0xC0);
    assert_eq!(stored(&mut compression, &text(999))[0], 0xC1);
    let refused = Error::ValueTooLarge { engine: ENGINE, len: 1001, limit: 1000 };
    let counted = compression.in_terms_of_value(refused, 1000);
    assert!(matches!(counted, Error::ValueTooLarge { len: 1000, limit: 999, .. }), "{counted}");
}

proptest! {
    #[test]
    fn every_value_comes_back(
        value in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..500),
            prop::collection::vec(0_u8..3, 0..5000),
        ],
        format in prop::sample::select(vec!["zstd:1", "lz4:1", "zstd:64,level:1", "lz4:200"]),
    ) {
        let mut compression = compression(format, None);
        let form = stored(&mut compression, &value);
        prop_assert!(form.len() <= value.len() + HEADER_LEN);
        let mut back = Vec::new();
        prop_assert!(compression.decode(&form, &mut back).unwrap());
        prop_assert_eq!(back, value);
    }

    /// Any change is noticed: as an unknown form, as damage, or it changed nothing. A value as it is has no checksum.
    #[test]
    fn damage_never_gives_another_value(
        format in prop::sample::select(vec!["zstd:1", "lz4:1"]),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let value = [text(700), noise(40)].concat();
        let mut compression = compression(format, None);
        let mut form = stored(&mut compression, &value);
        prop_assume!(form[0] != 0xC0);
        let place = place.index(form.len());
        if cut {
            form.truncate(place);
        } else {
            form[place] = byte;
            prop_assume!(form[0] != 0xC0);
        }
        let mut back = Vec::new();
        match compression.decode(&form, &mut back) {
            Ok(true) => prop_assert_eq!(back, value),
            Ok(false) => {}
            Err(error) => prop_assert_eq!(error.kind(), "corrupted"),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(form in prop::collection::vec(any::<u8>(), 0..200), id in prop::sample::select(vec![0xC1, 0xF5])) {
        let mut compression = compression("zstd,limit:1m", None);
        let _ = compression.decode(&[&[id], &form[..]].concat(), &mut Vec::new());
    }
}
