package policy

// The indexes of aims, and how old copies are to be expected.
var (
	FreshIndex, AgeIndex   = freshIndex, ageIndex
	ExpectedAge, MeanOfAge = expectedAge, meanAge
)
