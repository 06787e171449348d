use std::io::Write;

use super::*;

/// Compresses with each codec's own encoder, so that the table below covers every row of [`CODECS`].
fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Null => bytes.to_vec(),
        Codec::Deflate => {
            let mut engine = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
            let mut out = vec![0; engine.deflate_compress_bound(bytes.len())];
            let length = engine.deflate_compress(bytes, &mut out).unwrap();
            out.truncate(length);
            out
        }
        Codec::Snappy => {
            let mut out = snap::raw::Encoder::new().compress_vec(bytes).unwrap();
            out.extend(crc32fast::hash(bytes).to_be_bytes());
            out
        }
        Codec::Zstandard => {
            // Through the streaming writer: a frame without a content size, as Java writes it.
            let mut writer = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        Codec::Bzip2 => {
            let mut writer = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        Codec::Xz => {
            let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
    }
}

const SYNC: [u8; 16] = *b"a marker of bits";

fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i / 7) as u8).collect()
}

#[test]
fn every_codec_inflates_what_its_encoder_wrote() {
    for (codec, name) in CODECS {
        let mut inflater = Inflater::new(codec, &Limits::DEFAULT, SYNC);
        for length in [0, 1, 1000, 300_000, 7] {
            let bytes = sample(length);
            assert_eq!(inflater.inflate(&compress(codec, &bytes)).unwrap(), bytes, "{name} {length}");
        }
        assert_eq!(Codec::from_header(Some(name.as_bytes())).unwrap(), codec);
        assert_eq!(codec.name(), name);
    }
}

#[test]
fn every_codec_refuses_output_over_the_limit_by_that_very_error() {
    let limits = Limits { max_block_bytes: 100_000, ..Limits::DEFAULT };
    for (codec, name) in CODECS.into_iter().filter(|(codec, _)| *codec != Codec::Null) {
        let bomb = compress(codec, &vec![0; 10_000_000]);
        let mut inflater = Inflater::new(codec, &limits, SYNC);
        assert_eq!(inflater.inflate(&bomb).unwrap_err().kind(), ErrorKind::Limit, "{name}");
        let just = compress(codec, &vec![0; 100_000]);
        assert_eq!(inflater.inflate(&just).unwrap().len(), 100_000, "{name}");
    }
}

#[test]
fn every_prefix_of_a_compressed_block_is_refused() {
    for (codec, name) in CODECS.into_iter().filter(|(codec, _)| *codec != Codec::Null) {
        let bytes = sample(500);
        let block = compress(codec, &bytes);
        let mut inflater = Inflater::new(codec, &Limits::DEFAULT, SYNC);
        for cut in 0..block.len() {
            match inflater.inflate(&block[..cut]) {
                Err(_) => {}
                // An empty zstandard input is zero frames: the check of the row count refuses it.
                Ok(out) => assert!(out.is_empty() && cut == 0, "{name} cut at {cut}"),
            }
        }
    }
}

/// The block that a flipped bit in a length makes of several.
#[test]
fn a_block_that_holds_others_is_refused() {
    let (first, second) = (sample(500), sample(70));
    for (codec, name) in CODECS.into_iter().filter(|(codec, _)| *codec != Codec::Null) {
        let block = [&compress(codec, &first)[..], &SYNC, b"\x02\x50", &compress(codec, &second)].concat();
        let mut inflater = Inflater::new(codec, &Limits::DEFAULT, SYNC);
        let kind = inflater.inflate(&block).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Codec | ErrorKind::Checksum), "{name}: {kind:?}");
    }
}

#[test]
fn deflated_bytes_may_contain_the_marker_and_be_followed_by_a_checksum() {
    let mut inflater = Inflater::new(Codec::Deflate, &Limits::DEFAULT, SYNC);
    let bytes = [&sample(100_000)[..], &SYNC, &sample(100)].concat();
    let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::none());
    writer.write_all(&bytes).unwrap();
    let stored = writer.finish().unwrap();
    assert!(stored.windows(SYNC.len()).any(|window| window == SYNC));
    for behind in 0..=4 {
        let block = [&stored[..], &SYNC[..behind]].concat();
        assert_eq!(inflater.inflate(&block).unwrap(), bytes, "{behind} bytes behind");
    }
}

#[test]
fn an_unknown_codec_is_named() {
    let error = Codec::from_header(Some(b"lz4")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownCodec);
    assert!(error.message().contains("lz4"));
}
