package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/klauspost/compress/s2"

	"freshet/internal/freshet"
)

const (
	shortDetails = 256     // bytes of JSON that are stored as they are
	maxDetails   = 1 << 20 // bytes of JSON
)

// storedDetails returns what a change tells about itself as it is stored: as JSON or, if that is long, packed. Half of
// what the log takes on disk would be this text.
func storedDetails(d freshet.Details) (text, packed driver.Value) {
	if reflect.ValueOf(d).IsZero() {
		return nil, nil
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // of texts, numbers and lists
	}
	if len(b) <= shortDetails {
		return string(b), nil
	}
	return nil, s2.Encode(nil, b)
}

// readDetails reads what storedDetails returned.
func readDetails(text string, packed []byte, d *freshet.Details) error {
	if packed == nil {
		return ReadJSON(text, d)
	}
	if n, err := s2.DecodedLen(packed); err != nil || n > maxDetails {
		return fmt.Errorf("read what a change tells: %d bytes, %w", n, freshet.ErrDamaged)
	}
	b, err := s2.Decode(nil, packed)
	if err != nil {
		return fmt.Errorf("read what a change tells: %w: %w", freshet.ErrDamaged, err)
	}
	return ReadJSON(string(b), d)
}
