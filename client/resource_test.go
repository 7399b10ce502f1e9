package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"freshet/client"
)

// A list that comes in pages is read to its end, with what each page says of the next.
func TestListsAreReadToTheEnd(t *testing.T) {
	pages := map[string]string{
		"":    `{"items": [{"name": "a"}, {"name": "b&c"}], "next": "b&c"}`,
		"b&c": `{"items": [{"name": "d"}], "next": "d"}`,
		"d":   `{"items": [{"name": "e"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, pages[r.URL.Query().Get("after")])
	}))
	defer server.Close()
	users, err := client.New(server.URL, http.DefaultClient.Do).Users.List(t.Context())
	if err != nil || len(users) != 4 || users[3].Name != "e" {
		t.Errorf("the users are %+v, %v", users, err)
	}
}
