//! A keyed hash of flow keys. A key is the same for both directions, so the hash is too.

use super::FlowKey;

/// The secret of a hash. Without it nobody can choose addresses that collide.
#[derive(Clone, Copy, Debug)]
pub struct HashKey([u64; 4]);

impl Default for HashKey {
    /// A fixed key, for runs that must be the same every time.
    fn default() -> HashKey {
        HashKey::new(0)
    }
}

impl HashKey {
    /// A key made from a seed; a live capture takes it from the operating system.
    pub fn new(seed: u64) -> HashKey {
        // SplitMix64 (Steele, Lea, Flood 2014) spreads the seed over the words.
        let mut state = seed;
        HashKey(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }))
    }

    /// The hash of a flow. All 64 bits are usable: high bits choose a worker and low bits a slot,
    /// or the other way round, but not the same bits both.
    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        let ports = u64::from(key.low.port) | u64::from(key.high.port) << 16;
        self.of(key, ports)
    }

    /// The hash of the two hosts of a flow, the same for all flows between them.
    #[inline]
    pub fn pair(&self, key: &FlowKey) -> u64 {
        self.of(key, NO_PORTS)
    }

    #[inline(always)]
    fn of(&self, key: &FlowKey, ports: u64) -> u64 {
        let [k0, k1, k2, k3] = self.0;
        let (low, high) = (words(&key.low.addr), words(&key.high.addr));
        let rest = ports | u64::from(key.tunnel) << 32;
        // The product of two 64-bit words folded to 64 bits mixes every bit with every bit (the
        // construction of wyhash); three independent products overlap in the processor.
        let a = fold(low.0 ^ k0, low.1 ^ k1);
        let b = fold(high.0 ^ k2, high.1 ^ k3);
        fold(a ^ k3.rotate_left(17) ^ rest, b ^ k0.rotate_left(29) ^ rest.rotate_left(40))
    }
}

/// What stands for the ports in the hash of two hosts: no two ports are that number.
const NO_PORTS: u64 = 1 << 48;

/// Maps a hash to one of `n` with its high bits.
#[inline]
pub fn shard(hash: u64, n: usize) -> usize {
    ((u128::from(hash) * n as u128) >> 64) as usize
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn words(addr: &[u8; 16]) -> (u64, u64) {
    let value = u128::from_be_bytes(*addr);
    ((value >> 64) as u64, value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;
    use crate::wire::ip::mapped;

    fn endpoint(addr: u32, port: u16) -> Endpoint {
        Endpoint { addr: mapped(addr.to_be_bytes()), port }
    }

    #[test]
    fn both_directions_hash_alike() {
        let (a, b) = (endpoint(0x0a00_0001, 40000), endpoint(0x0a00_0002, 80));
        let hash = HashKey::default();
        assert_eq!(hash.hash(&FlowKey::of(a, b, 3).0), hash.hash(&FlowKey::of(b, a, 3).0));
        assert_ne!(hash.hash(&FlowKey::of(a, b, 3).0), hash.hash(&FlowKey::of(a, b, 4).0));
        let other = HashKey::new(1);
        assert_ne!(hash.hash(&FlowKey::of(a, b, 3).0), other.hash(&FlowKey::of(a, b, 3).0));
    }

    /// Neighbouring addresses and ports, the usual input, spread over high and low bits alike: no
    /// bucket of 256 is more than six standard deviations from its share.
    #[test]
    fn neighbouring_flows_spread_evenly() {
        let hash = HashKey::default();
        let (mut high, mut low) = ([0u32; 256], [0u32; 256]);
        for client in 0..256u32 {
            for port in 0..256u16 {
                let (a, b) = (endpoint(0x0a00_0000 + client, 1024 + port), endpoint(1, 443));
                let value = hash.hash(&FlowKey::of(a, b, 0).0);
                high[shard(value, 256)] += 1;
                low[value as usize & 255] += 1;
            }
        }
        for count in high.into_iter().chain(low) {
            assert!(count.abs_diff(256) < 96, "{count} flows in a bucket of 256");
        }
    }

    #[test]
    fn every_input_bit_changes_about_half_the_output_bits() {
        let hash = HashKey::default();
        let base = FlowKey::of(endpoint(0x0a00_0001, 40000), endpoint(0xc0a8_0101, 443), 0).0;
        let reference = hash.hash(&base);
        for bit in 0..(2 * 18 + 2) * 8 {
            let mut key = base;
            match bit / 8 {
                i @ 0..16 => key.low.addr[i] ^= 1 << (bit % 8),
                i @ 16..32 => key.high.addr[i - 16] ^= 1 << (bit % 8),
                32..34 => key.low.port ^= 1 << (bit - 32 * 8),
                34..36 => key.high.port ^= 1 << (bit - 34 * 8),
                _ => key.tunnel ^= 1 << (bit - 36 * 8),
            }
            let changed = (hash.hash(&key) ^ reference).count_ones();
            assert!((12..=52).contains(&changed), "bit {bit} changes {changed} bits");
        }
    }
}
