package postgres

// What tests hold to themselves: see driver.go.
var (
	Escape   = escape
	Unescape = unescape
	Rebind   = rebind
)
