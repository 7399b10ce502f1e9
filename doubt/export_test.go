package doubt

// CompareWords is compareWords, for tests.
var CompareWords = compareWords
