package config

import (
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
)

// user returns a reader of one item of the list of users. A file holds no passwords: who is listed cannot
// log in until an admin sets one.
func (d *document) user(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		var name, role string
		before := len(d.Problems)
		d.mapping(n, path, []field{d.word("name", &name), d.word("role", &role)})
		if len(d.Problems) > before {
			return
		}
		u := auth.User{Name: name, Role: access.Role(role)}
		if err := u.Check(); err != nil {
			d.report(n, path, "%v", err)
			return
		}
		for _, other := range s.Users {
			if other.Name == name {
				d.report(n, path, "the user %s is listed already", name)
				return
			}
		}
		if u.Role == access.Admin { // without whom there can be no others
			s.Users = slices.Insert(s.Users, 0, u)
		} else {
			s.Users = append(s.Users, u)
		}
	}
}

func showUser(u auth.User) yaml.MapSlice {
	return yaml.MapSlice{{Key: "name", Value: u.Name}, {Key: "role", Value: string(u.Role)}}
}

// Users writes the list of users.
func (e *Export) Users(list []auth.User) error {
	if len(list) == 0 {
		return nil
	}
	return e.part(yaml.MapSlice{{Key: "users", Value: each(list, showUser)}})
}
