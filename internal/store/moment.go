package store

import (
	"database/sql/driver"
	"fmt"
	"math"
	"time"
)

// A Moment is a time as it is stored: nanoseconds since 1970.
type Moment int64

// never is the zero time, which is NULL in the database.
const never Moment = math.MinInt64

var (
	earliest = time.Unix(0, math.MinInt64+1)
	latest   = time.Unix(0, math.MaxInt64)
)

// MomentOf returns t as a moment. Times that nanoseconds cannot count to are
// brought to the nearest one that they can.
func MomentOf(t time.Time) Moment {
	switch {
	case t.IsZero():
		return never
	case t.Before(earliest):
		return never + 1
	case t.After(latest):
		return math.MaxInt64
	}
	return Moment(t.UnixNano())
}

// Time returns m in UTC.
func (m Moment) Time() time.Time {
	if m == never {
		return time.Time{}
	}
	return time.Unix(0, int64(m)).UTC()
}

// Value returns m as the driver wants it.
func (m Moment) Value() driver.Value {
	if m == never {
		return nil
	}
	return int64(m)
}

// until returns the stored form of the span from m to n, NULL if either is
// never. Spans are smaller on disk than moments.
func (m Moment) until(n Moment) driver.Value {
	if m == never || n == never {
		return nil
	}
	return int64(n - m)
}

// Scan implements sql.Scanner.
func (m *Moment) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*m = never
	case int64:
		*m = Moment(v)
	default:
		return fmt.Errorf("a time stored as %T", v)
	}
	return nil
}
