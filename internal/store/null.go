package store

import (
	"database/sql/driver"
	"time"
)

// TextOrNull returns "" as NULL, which takes no room in a log that is mostly
// without faults.
func TextOrNull(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// lengthOrNull returns a length of time, none as NULL.
func lengthOrNull(d time.Duration) driver.Value {
	if d == 0 {
		return nil
	}
	return int64(d)
}

// CountOrNull returns a number, zero as NULL.
func CountOrNull(n int64) driver.Value {
	if n == 0 {
		return nil
	}
	return n
}

// oneOrNull returns true as 1 and false as NULL.
func oneOrNull(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return nil
}

// Blob returns b as a value that is not NULL.
func Blob(b []byte) driver.Value {
	if b == nil {
		return []byte{}
	}
	return b
}
