//! The window scale of a flow whose handshake was not seen.

/// Flight sizes against unscaled windows: what shift they need at least.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScaleEvidence {
    needed: [u32; 15],
    /// Largest window field.
    pub raw_most: u16,
}

impl ScaleEvidence {
    /// `flight` bytes were in flight against a window field of `window_raw`.
    pub fn add(&mut self, flight: u64, window_raw: u16) {
        self.raw_most = self.raw_most.max(window_raw);
        if window_raw > 0 {
            // Two percent more than the window is a matter of when the two were seen.
            let fits = |scale: &usize| flight * 100 <= (u64::from(window_raw) << scale) * 102;
            let scale = (0..15).find(fits).unwrap_or(14);
            self.needed[scale] += 1;
        }
    }

    /// The least shift that allows what was in flight; `None` with too little evidence.
    pub fn least_scale(&self) -> Option<u8> {
        let total: u32 = self.needed.iter().sum();
        if total < 20 {
            return None;
        }
        let mut covered = 0;
        let enough = (0..15).find(|&scale| {
            covered += self.needed[scale];
            u64::from(covered) * 100 >= u64::from(total) * 99
        });
        enough.map(|scale| scale as u8)
    }
}
