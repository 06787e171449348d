//! What files of metadata are encrypted by: AES in Galois/Counter Mode, in pieces of a nonce, the ciphertext and a tag.

use std::fmt;

use aes_gcm::aead::array::sizes::U12;
use aes_gcm::aes::Aes192;
use aes_gcm::{AeadInOut, Aes128Gcm, Aes256Gcm, AesGcm, KeyInit};
use lakebed_avro::{Error, ErrorKind, Result};

/// Bytes of a nonce.
const NONCE: usize = 12;
/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes that a piece has beside the text.
pub const OVERHEAD: usize = NONCE + TAG;

/// A key, and the bytes that begin what each piece of a file is bound to, so that pieces cannot be moved or exchanged.
///
/// Time does not depend on the key or the text; the key is wiped when it is dropped, and nothing prints it.
pub struct FileKey {
    cipher: Cipher,
    prefix: Vec<u8>,
    /// What errors say of the key, after all else.
    about: String,
}

enum Cipher {
    Aes128(Box<Aes128Gcm>),
    Aes192(Box<AesGcm<Aes192, U12>>),
    Aes256(Box<Aes256Gcm>),
}

impl FileKey {
    /// A key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// `Encryption` for another length.
    pub fn new(key: &[u8], prefix: &[u8]) -> Result<FileKey> {
        let wrong = |_| {
            let message = format!("a key has 16, 24 or 32 bytes, not {}", key.len());
            Error::new(ErrorKind::Encryption, message)
        };
        let cipher = match key.len() {
            24 => Cipher::Aes192(Box::new(KeyInit::new_from_slice(key).map_err(wrong)?)),
            32 => Cipher::Aes256(Box::new(KeyInit::new_from_slice(key).map_err(wrong)?)),
            _ => Cipher::Aes128(Box::new(KeyInit::new_from_slice(key).map_err(wrong)?)),
        };
        Ok(FileKey { cipher, prefix: prefix.to_vec(), about: String::new() })
    }

    /// The same key, whose errors end in this text, such as its id.
    #[must_use]
    pub fn described(self, about: String) -> FileKey {
        FileKey { about, ..self }
    }

    /// What its errors end in.
    pub(crate) fn about(&self) -> &str {
        &self.about
    }

    /// Appends the text of a piece, which is bound to the prefix and `place`, to `text`. After an error nothing is
    /// appended. Cost: one pass, some gigabytes a second where the processor has instructions for it.
    ///
    /// # Errors
    /// `Encryption` for another key, place or prefix, and for bytes that were changed.
    pub fn open(&self, piece: &[u8], place: &[u8], text: &mut Vec<u8>) -> Result<()> {
        let wrong = || {
            let message = format!("another key, or the file is damaged{}", self.about);
            Error::new(ErrorKind::Encryption, message)
        };
        let (nonce, rest) = piece.split_first_chunk::<NONCE>().ok_or_else(wrong)?;
        let (bytes, tag) = rest.split_last_chunk::<TAG>().ok_or_else(wrong)?;
        let bound = [self.prefix.as_slice(), place].concat();
        let start = text.len();
        text.extend_from_slice(bytes);
        let output = text.get_mut(start..).unwrap_or_default().into();
        let (nonce, tag) = (nonce.into(), tag.into());
        let opened = match &self.cipher {
            Cipher::Aes128(cipher) => cipher.decrypt_inout_detached(nonce, &bound, output, tag),
            Cipher::Aes192(cipher) => cipher.decrypt_inout_detached(nonce, &bound, output, tag),
            Cipher::Aes256(cipher) => cipher.decrypt_inout_detached(nonce, &bound, output, tag),
        };
        opened.map_err(|_| {
            text.truncate(start);
            wrong()
        })
    }

    /// A piece with this text and nonce, which must not be used again with the key.
    ///
    /// # Errors
    /// `Limit` for more than 64 GiB.
    pub fn seal(&self, nonce: [u8; NONCE], text: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        let bound = [self.prefix.as_slice(), place].concat();
        let mut piece = [&nonce, text].concat();
        let output = piece.get_mut(NONCE..).unwrap_or_default().into();
        let nonce = (&nonce).into();
        let tag = match &self.cipher {
            Cipher::Aes128(cipher) => cipher.encrypt_inout_detached(nonce, &bound, output),
            Cipher::Aes192(cipher) => cipher.encrypt_inout_detached(nonce, &bound, output),
            Cipher::Aes256(cipher) => cipher.encrypt_inout_detached(nonce, &bound, output),
        };
        let tag = tag.map_err(|_| Error::new(ErrorKind::Limit, "more than one piece may hold"))?;
        piece.extend_from_slice(&tag);
        Ok(piece)
    }
}

impl fmt::Debug for FileKey {
    /// Prints nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_open_by_their_key_at_their_place_alone() {
        for length in [16_u8, 24, 32] {
            let key: Vec<u8> = (0..length).collect();
            let cipher = FileKey::new(&key, b"prefix").expect("a key");
            let piece = cipher.seal([7; NONCE], b"text", b"place").expect("short");
            assert_eq!(piece.len(), b"text".len() + OVERHEAD);
            let mut text = b"before ".to_vec();
            cipher.open(&piece, b"place", &mut text).expect("the same key");
            assert_eq!(text, b"before text");
            let other = FileKey::new(&[9; 16], b"prefix").expect("a key");
            let elsewhere = FileKey::new(&key, b"another").expect("a key");
            for (key, piece, place) in [
                (&other, piece.as_slice(), b"place".as_slice()),
                (&elsewhere, &piece, b"place"),
                (&cipher, &piece, b"other"),
                (&cipher, piece.get(..OVERHEAD - 1).expect("a part"), b"place"),
            ] {
                let error = key.open(piece, place, &mut text).expect_err("wrong");
                assert_eq!(
                    (error.kind(), text.as_slice()),
                    (ErrorKind::Encryption, b"before text".as_slice())
                );
            }
            for bit in 0..piece.len() * 8 {
                let mut changed = piece.clone();
                changed.get_mut(bit / 8).into_iter().for_each(|byte| *byte ^= 1 << (bit % 8));
                assert!(cipher.open(&changed, b"place", &mut Vec::new()).is_err(), "{bit}");
            }
        }
        assert!(FileKey::new(&[0; 15], b"").is_err());
    }
}
