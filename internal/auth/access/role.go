// Package access names the roles of users and the rights of tokens.
package access

import "slices"

// A Role is a set of rights of a user. Each role includes the one before.
type Role string

// The roles.
const (
	Viewer Role = "viewer" // reads all but users, tokens and the audit log
	Editor Role = "editor" // also edits sources, queries and sinks
	Admin  Role = "admin"  // may do everything
)

// Roles lists all roles, the least powerful first.
var Roles = []Role{Viewer, Editor, Admin}

// Rights returns the rights of the role.
func (r Role) Rights() []Right {
	switch r {
	case Viewer:
		return []Right{Read}
	case Editor:
		return []Right{Read, Write}
	case Admin:
		return []Right{Read, Write, Administer, Work}
	}
	return nil
}

// A Right permits one kind of request.
type Right string

// The rights.
const (
	Read       Right = "read"  // read sources, versions, changes and numbers
	Write      Right = "write" // edit sources, queries and sinks, and poll
	Administer Right = "admin" // users, tokens, settings and the audit log
	Work       Right = "hand"  // make polls for the daemon from another machine
)

// Expand returns what a token with some rights may do: the right of an admin includes all others, but for that of
// workers. Their tokens lie on other machines and are for nothing else.
func Expand(rights []Right) []Right {
	if !slices.Contains(rights, Administer) {
		return rights
	}
	all := []Right{Read, Write, Administer}
	if slices.Contains(rights, Work) {
		all = append(all, Work)
	}
	return all
}

// Rights lists all rights.
var Rights = []Right{Read, Write, Administer, Work}
