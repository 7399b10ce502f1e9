package store

// A Size is how much room a store takes.
type Size struct {
	File   int64 // bytes of the files
	Bodies int64 // bytes of stored bodies, as compressed
	Full   int64 // bytes of the same bodies, as they were received
}
