//go:build !linux && !darwin && !freebsd

package app

import (
	"errors"
	"fmt"
)

// spaceOf cannot tell here.
func spaceOf(dir string) (free, size int64, err error) {
	return 0, 0, fmt.Errorf("free space of %s: %w", dir, errors.ErrUnsupported)
}
