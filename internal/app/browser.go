package app

import (
	"errors"

	"freshet/client"
	"freshet/internal/freshet"
)

// browser returns the browser that renders pages, or why there is none.
func (n *Node) browser() client.Browser {
	path, version, err := n.renderer.Check()
	if err == nil {
		return client.Browser{Path: path, Version: version}
	}
	b := client.Browser{Problem: err.Error()}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		b.Hint = e.Hint
	}
	return b
}
