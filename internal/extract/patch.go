package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/wI2L/jsondiff"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// Bounds on documents that are compared by their structure.
const (
	maxPatch  = 1 << 20   // bytes of each document
	maxMatrix = 1_000_000 // lines of one times lines of the other, up to which items of arrays are matched
)

// Patch returns what leads from one JSON document to another, as a JSON Patch by RFC
// 6902, or an error, an *[invalid.Error], if one of them is no JSON document or too
// long. Items that were inserted into arrays or removed from them are found if the
// documents are not too long; otherwise arrays are compared place by place. Numbers
// are compared as they are written.
func Patch(old, new []byte) ([]byte, error) {
	var docs [2]any
	which := [2]string{"old", "new"}
	for i, text := range [][]byte{old, new} {
		if len(text) > maxPatch {
			return nil, unpatchable("the %s version is longer than %d bytes, which is too much to compare by structure", which[i], maxPatch)
		}
		doc, err := jsonDocument(text)
		if err != nil {
			return nil, unpatchable("the %s version is not a JSON document: %v", which[i], err)
		}
		docs[i] = doc
	}
	var opts []jsondiff.Option
	if countLines(old)*countLines(new) <= maxMatrix && arraysFit(docs[0], docs[1]) {
		opts = append(opts, jsondiff.LCS())
	}
	patch, err := jsondiff.CompareWithoutMarshal(docs[0], docs[1], opts...)
	if err != nil {
		return nil, fmt.Errorf("compare two JSON documents: %w", err)
	}
	steps := make([]any, 0, len(patch))
	for _, o := range patch {
		if o.Type == jsondiff.OperationRemove {
			steps = append(steps, removal{o.Type, o.Path})
		} else {
			steps = append(steps, placement{removal{o.Type, o.Path}, o.Value})
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(steps); err != nil {
		return nil, fmt.Errorf("write a JSON patch: %w", err)
	}
	return b.Bytes(), nil
}

// unpatchable says why there is no patch.
func unpatchable(format string, args ...any) error {
	return freshet.WithHint(invalid.Errorf("format", format, args...), "a JSON patch needs versions that are JSON documents, or have named values or items; use another format")
}

// A removal is a step of a patch that takes something away.
type removal struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// A placement is a step of a patch that adds or replaces something.
type placement struct {
	removal
	Value any `json:"value"` // null is a value, too
}

// jsonDocument reads one JSON document, with its numbers as they are written.
func jsonDocument(text []byte) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return doc, nil
}

// arraysFit reports whether two documents have few enough items for those of every
// array of one to be held against those of every array of the other. A document may be
// one line and have a million of them.
func arraysFit(a, b any) bool { return items(a)*items(b) <= maxMatrix }

// items counts the items of all arrays.
func items(doc any) (n int) {
	switch v := doc.(type) {
	case []any:
		n = len(v)
		for _, item := range v {
			n += items(item)
		}
	case map[string]any:
		for _, item := range v {
			n += items(item)
		}
	}
	return n
}
