package app

import "net/http"

// WithHands has a handler take in hands, too.
func (n *Node) WithHands(h http.Handler) http.Handler { return n.withHands(h) }

// BuildOf is what tells nodes apart that could learn something else from the same log.
var BuildOf = buildOf
