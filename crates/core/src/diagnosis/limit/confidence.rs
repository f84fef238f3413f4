//! How sure a verdict is.

/// How sure a verdict is. The share of right answers that each stands for is measured, not set:
/// see the accuracy table in the documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A guess from little.
    #[default]
    Low,
    /// The likeliest of several.
    Medium,
    /// Nothing speaks against it.
    High,
}

impl Confidence {
    /// Every confidence, the surest last.
    pub const ALL: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];

    /// The word in the column `confidence`.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }

    /// What it stands for.
    pub const fn meaning(self) -> &'static str {
        match self {
            Confidence::Low => "it is a guess from little",
            Confidence::Medium => "it is the likeliest of several",
            Confidence::High => "no other cause is likely",
        }
    }
}
