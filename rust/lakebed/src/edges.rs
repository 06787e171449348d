//! The interpolation of edges between the points of a geography.

/// How the edges of a geography are interpolated (`EdgeAlgorithm.java` of Paimon and of Iceberg).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the algorithms")]
pub enum EdgeAlgorithm {
    Spherical,
    Vincenty,
    Thomas,
    Andoyer,
    Karney,
}

impl EdgeAlgorithm {
    const ALL: [EdgeAlgorithm; 5] = [
        EdgeAlgorithm::Spherical,
        EdgeAlgorithm::Vincenty,
        EdgeAlgorithm::Thomas,
        EdgeAlgorithm::Andoyer,
        EdgeAlgorithm::Karney,
    ];

    /// The name as both formats print it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            EdgeAlgorithm::Spherical => "spherical",
            EdgeAlgorithm::Vincenty => "vincenty",
            EdgeAlgorithm::Thomas => "thomas",
            EdgeAlgorithm::Andoyer => "andoyer",
            EdgeAlgorithm::Karney => "karney",
        }
    }

    /// The algorithm with that name, in any case.
    pub(crate) fn from_name(name: &str) -> Option<EdgeAlgorithm> {
        EdgeAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }
}
