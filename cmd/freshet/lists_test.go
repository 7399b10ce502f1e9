package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// alsoLists are verbs that list though they do not say so first; unlimited are lists that cannot
// grow, and why.
var (
	alsoLists = []string{"freshet user audit", "freshet changes", "freshet history log", "freshet budget numbers", "freshet query matches", "freshet search"}
	unlimited = map[string]string{"freshet sink kinds": "the program has them"}
)

// Every verb that lists takes --limit.
func TestEveryListTakesALimit(t *testing.T) {
	lists := 0
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		if c.Hidden { // a former name
			return
		}
		path := c.CommandPath()
		if strings.HasPrefix(c.Short, "List ") || c.Name() == "list" || slices.Contains(alsoLists, path) {
			lists++
			if has := c.Flag("limit") != nil; has == (unlimited[path] != "") {
				t.Errorf("%s: it takes --limit: %v; it is said not to grow: %q", path, has, unlimited[path])
			}
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look((&program{env: func(string) string { return "" }}).root())
	if lists < 20 {
		t.Errorf("only %d lists were found", lists)
	}
}
