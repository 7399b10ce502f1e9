package delivery

// Shared returns a store whose log is read once for all who are at the same place.
func Shared(s Store) Store {
	s.Archive = &sharedLog{Archive: s.Archive}
	return s
}
