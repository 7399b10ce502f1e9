package policy

// The indexes of aims, and how old copies are to be expected.
var (
	FreshIndex, AgeIndex   = freshIndex, ageIndex
	FreshClock, AgeClock   = freshClock, ageClock
	ExpectedAge, MeanOfAge = expectedAge, meanAge
)
