//! Rows of the store in the form of the codec.

/// Rows that are the bytes of the codec, without a version prefix: the store's schema version covers them.
#[macro_export]
macro_rules! stored_as_codec {
    ($($row:ty),*) => {$(
        impl ::esker_storage::ValueCodec for $row {
            fn encode_value(&self, out: &mut Vec<u8>) {
                let mut writer = ::esker_primitives::codec::Writer::new();
                ::esker_primitives::codec::Encode::encode(self, &mut writer);
                out.extend_from_slice(writer.as_slice());
            }

            fn decode_value(bytes: &[u8]) -> Option<Self> {
                let mut reader = ::esker_primitives::codec::Reader::new(bytes);
                let row = ::esker_primitives::codec::Decode::decode(&mut reader).ok()?;
                reader.finish().ok().map(|()| row)
            }
        }
    )*};
}
