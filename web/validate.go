package web

import (
	"encoding/json"
	"fmt"

	"freshet"
	"freshet/client"
	"freshet/content"
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
	return content.CheckSource(s, a.Check)
}
