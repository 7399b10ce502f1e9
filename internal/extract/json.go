package extract

import (
	"bytes"
	"encoding/json"
)

// canonicalJSON returns a JSON document in a form that depends on nothing but
// what it says: object members sorted by name, strings with the fewest escapes,
// one value a line. Numbers stay as they are written, digit by digit. Of members
// with the same name the last one counts.
func canonicalJSON(src []byte) ([]byte, error) {
	d, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	w := jsonWriter{doc: d, out: make([]byte, 0, len(src)+len(src)/2)}
	w.value(0, 0)
	if w.full {
		return nil, fail(FailLimit, "Use a JSONPath to watch only the part you need.", "the JSON document is longer than %d MiB when written line by line", maxText>>20)
	}
	return append(w.out, '\n'), nil
}

// validJSON reports whether src is a JSON document.
func validJSON(src []byte) bool {
	_, err := parseJSON(src)
	return err == nil
}

// nodeText writes a value: a string as it reads, any other value as canonical JSON.
func nodeText(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return orBlank(plainText([]byte(s))), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fail(FailParse, "", "write a selected value: %w", err)
	}
	return canonicalJSON(b.Bytes())
}

// orBlank returns text, or an empty line for none, so that each value that
// was selected shows.
func orBlank(text []byte) []byte {
	if len(text) == 0 {
		return []byte{'\n'}
	}
	return text
}
