package api

import (
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

// What a client sent comes back in an error only so far that it is known again,
// and without what looks like a secret.
const (
	mostDetail = 1000 // bytes
	mostValue  = 200
	mostErrors = 20
)

// echoed returns a text of an error as it is told.
func echoed(text string) string { return freshet.Shorten(freshet.MaskText(text), mostDetail) }

// tidy bounds what a Problem tells.
func (p *Problem) tidy() {
	p.Detail, p.Hint = echoed(p.Detail), echoed(p.Hint)
	p.Errors = p.Errors[:min(len(p.Errors), mostErrors)]
	for i, e := range p.Errors {
		p.Errors[i] = &client.ErrorDetail{Location: freshet.Shorten(e.Location, mostValue), Message: echoed(e.Message), Value: echoedValue(e.Value)}
	}
}

// echoedValue returns a wrong value as it is told: as it is if it is short, and
// otherwise the beginning of its text.
func echoedValue(v any) any {
	if v == nil {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		encoded, err := json.Marshal(v)
		if err != nil {
			return freshet.Shorten(fmt.Sprint(v), mostValue)
		}
		if masked := freshet.MaskText(string(encoded)); len(encoded) <= mostValue && masked == string(encoded) {
			return v
		}
		text = string(encoded)
	}
	return freshet.Shorten(freshet.MaskText(text), mostValue)
}

// tidyErrors is a [huma.Transformer] for errors, huma's own too.
func tidyErrors(_ huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *Problem:
		e.tidy()
	case *huma.ErrorModel:
		e.Detail = echoed(e.Detail)
		e.Errors = e.Errors[:min(len(e.Errors), mostErrors)]
		for _, d := range e.Errors {
			d.Location, d.Message, d.Value = freshet.Shorten(d.Location, mostValue), echoed(d.Message), echoedValue(d.Value)
		}
	}
	return v, nil
}
