package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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

// JSONOrNull returns a value as JSON, the zero value as NULL.
func JSONOrNull(v any) driver.Value {
	if r := reflect.ValueOf(v); !r.IsValid() || r.IsZero() {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of texts, numbers and lists
	}
	return string(text)
}

// ReadJSON reads what JSONOrNull returned.
func ReadJSON(text string, dst any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), dst); err != nil {
		return fmt.Errorf("read stored values: %w", err)
	}
	return nil
}

// An optional is a value that few sources have, and takes little room where there is none. It is
// never changed in its place, only replaced: copies of an entry can share it.
type optional[T comparable] struct{ is *T }

// get returns the value, the zero one if there is none.
func (s optional[T]) get() (v T) {
	if s.is != nil {
		v = *s.is
	}
	return v
}

// set replaces the value. One that is equal stays, so that an entry that has not changed equals the
// one before.
func (s *optional[T]) set(v T) {
	var none T
	switch {
	case v == none:
		s.is = nil
	case s.is == nil || *s.is != v:
		s.is = &v
	}
}
