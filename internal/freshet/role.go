package freshet

// A Role is what a user may do: each may do all that the ones before it may.
type Role string

// The roles.
const (
	Viewer Role = "viewer" // reads all but users, tokens and the audit log
	Editor Role = "editor" // also edits sources, queries and sinks
	Admin  Role = "admin"  // may do everything
)

// Roles are all roles, the one that may do least first.
var Roles = []Role{Viewer, Editor, Admin}

// Rights returns what a role may do.
func (r Role) Rights() []Right {
	switch r {
	case Viewer:
		return []Right{RightRead}
	case Editor:
		return []Right{RightRead, RightWrite}
	case Admin:
		return []Right{RightRead, RightWrite, RightAdmin, RightHand}
	}
	return nil
}

// A Right is one kind of thing that a token may be used for.
type Right string

// The rights.
const (
	RightRead  Right = "read"  // read sources, versions, changes and numbers
	RightWrite Right = "write" // edit sources, queries and sinks, and poll
	RightAdmin Right = "admin" // users, tokens, settings and the audit log
	RightHand  Right = "hand"  // make polls for the daemon from another machine
)

// Rights are all rights.
var Rights = []Right{RightRead, RightWrite, RightAdmin, RightHand}
