package extract

import (
	"bytes"
	"encoding/json"
	"errors"

	"freshet/internal/lazyregexp"
	"freshet/internal/safeyaml"
)

// parseYAML returns the documents of a YAML file as values of JSON.
func parseYAML(text []byte) ([]any, error) {
	if len(text) > maxTree {
		return nil, fail(FailLimit, asText, "the YAML document has %d bytes; the most is %d MiB", len(text), maxTree>>20)
	}
	docs, err := safeyaml.Values(text)
	if err != nil {
		if e, ok := errors.AsType[*safeyaml.Error](err); ok && e.Limit {
			return nil, fail(FailLimit, asText, "the YAML document: %w", err)
		}
		return nil, fail(FailParse, "", "not a YAML document: %w", err)
	}
	size := 0
	for i, doc := range docs {
		b, err := json.Marshal(doc)
		if err != nil {
			return nil, fail(FailParse, "", "the YAML document cannot be written: %w", err)
		}
		if size += len(b); size > maxText {
			return nil, fail(FailLimit, asText, "the YAML document is longer than %d MiB when written out", maxText>>20)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		docs[i] = nil
		if err := d.Decode(&docs[i]); err != nil {
			return nil, fail(FailParse, "", "the YAML document cannot be written: %w", err)
		}
	}
	return docs, nil
}

// yamlStart matches a text that begins as YAML does: with a mark, a name and a colon, or a dash.
var yamlStart = lazyregexp.New(`\A(\s*(#.*)?\n)*(---|%YAML|- |["']?[\w./ -]{1,80}["']?:([ \t]|$|\n))`)

// yamlOr returns the values of a text that is YAML, or else why it is not JSON. A text that is not said to be YAML
// is taken for it if it begins as YAML and holds more than one word.
func yamlOr(notJSON error, text []byte, said bool) ([]any, error) {
	if !said && !yamlStart.Match(text[:min(len(text), 4<<10)]) {
		return nil, notJSON
	}
	docs, err := parseYAML(text)
	switch {
	case said:
		return docs, err
	case err != nil:
		return nil, notJSON
	}
	for _, doc := range docs {
		switch doc.(type) {
		case map[string]any, []any:
			return docs, nil
		}
	}
	return nil, notJSON
}
