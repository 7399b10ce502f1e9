package delivery

import "freshet/internal/freshet"

// Shared returns a store whose log is read once for all who are at the same place.
func Shared(s freshet.Store) freshet.Store { return &sharedLog{Store: s} }
