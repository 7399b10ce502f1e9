package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
)

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
