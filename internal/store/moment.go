package store

import (
	"database/sql/driver"
	"fmt"
	"math"
	"time"
)

// A moment is a time as it is stored: nanoseconds since 1970.
type moment int64

// never is the zero time, which is NULL in the database.
const never moment = math.MinInt64

var (
	earliest = time.Unix(0, math.MinInt64+1)
	latest   = time.Unix(0, math.MaxInt64)
)

// momentOf returns t as a moment. Times that nanoseconds cannot count to are
// brought to the nearest one that they can.
func momentOf(t time.Time) moment {
	switch {
	case t.IsZero():
		return never
	case t.Before(earliest):
		return never + 1
	case t.After(latest):
		return math.MaxInt64
	}
	return moment(t.UnixNano())
}

// time returns m in UTC.
func (m moment) time() time.Time {
	if m == never {
		return time.Time{}
	}
	return time.Unix(0, int64(m)).UTC()
}

// value returns m as the driver wants it.
func (m moment) value() driver.Value {
	if m == never {
		return nil
	}
	return int64(m)
}

// until returns the stored form of the span from m to n, NULL if either is
// never. Spans are smaller on disk than moments.
func (m moment) until(n moment) driver.Value {
	if m == never || n == never {
		return nil
	}
	return int64(n - m)
}

// Scan implements sql.Scanner.
func (m *moment) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*m = never
	case int64:
		*m = moment(v)
	default:
		return fmt.Errorf("a time stored as %T", v)
	}
	return nil
}
