package doubt

// CompareWords returns how many words two texts have, and how many in common.
func CompareWords(a, b []byte) (inA, inB, both int) { return overlapOf(a, b).words() }
