package app_test

import (
	"fmt"
	"testing"

	"freshet/client"
	"freshet/internal/app"
)

// A search sees what was captured before it, although versions are indexed many at once.
func TestSearchSeesWhatWasCaptured(t *testing.T) {
	t.Parallel()
	s := settings(t)
	url, text := page(t)
	c, _, _ := serve(t, s, app.ServeConfig{})
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "page", URL: url}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		word := fmt.Sprintf("kingfisher%d", i)
		change(t, c, "page", text, word)
		found, err := c.Search(t.Context(), client.SearchQuery{Words: word})
		if err != nil || len(found.Items) != 1 || found.Waiting != 0 {
			t.Fatalf("a search for %s finds %+v, %v", word, found, err)
		}
	}
}
