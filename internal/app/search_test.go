package app_test

import (
	"fmt"
	"testing"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/freshet"
)

// A search sees what was captured before it, although versions are indexed many at once.
func TestSearchSeesWhatWasCaptured(t *testing.T) {
	t.Parallel()
	s := settings(t)
	url, text := page(t)
	s.Sources = []freshet.Source{{ID: "page", URL: url}}
	s.Limits.Budget.Polls = 60
	c, _, _ := serve(t, s, app.ServeConfig{})
	for i := range 5 {
		word := fmt.Sprintf("kingfisher%d", i)
		change(t, c, "page", text, word)
		found, err := c.Search(t.Context(), client.SearchQuery{Words: word})
		if err != nil || len(found.Items) != 1 || found.Waiting != 0 {
			t.Fatalf("a search for %s finds %+v, %v", word, found, err)
		}
	}
}
