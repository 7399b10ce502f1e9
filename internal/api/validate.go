package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// admit returns the source that n describes in its normal form, or a
// *freshet.InvalidError that says what is wrong with it.
func (a *api) admit(n client.NewSource) (freshet.Source, error) {
	text, err := json.Marshal(n)
	if err != nil {
		return freshet.Source{}, fmt.Errorf("encode source %s: %w", n.ID, err)
	}
	s, err := freshet.ParseDefinition(text)
	if err != nil {
		return s, err
	}
	return extract.CheckSource(s, a.Check)
}

// trust judges a source by the secrets that it would have sent. One that is asked for
// as before, at the same host, was judged before or stands in the file.
func (a *api) trust(s freshet.Source, before *freshet.Source) error {
	if a.Trust == nil || before != nil && s.Host() == before.Host() && (freshet.MediumOf(s.URL) == freshet.OnWeb || s.URL == before.URL) && bytes.Equal(s.Part("request"), before.Part("request")) {
		return nil
	}
	return a.Trust(s)
}
