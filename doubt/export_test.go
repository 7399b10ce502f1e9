package doubt

// CompareWords returns how many words two texts have, and how many in common.
func CompareWords(a, b []byte) (inA, inB, both int) {
	same, gone, come := shared(a, b)
	return same + count(gone), same + count(come), same + common(gone, come)
}

// Exceeds reports whether more than a share of the words of a text is in another.
func Exceeds(was, is []byte, share float64) bool { return overlapOf(was, is).exceeds(share) }
