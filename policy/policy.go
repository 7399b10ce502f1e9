package policy

import (
	"fmt"
	"strings"

	"freshet"
)

// Names lists the policies that New knows.
var Names = []string{"uniform", "round-robin"}

// Default is the policy that is used where none is named.
const Default = "uniform"

// New returns the policy called name.
func New(name string) (freshet.Policy, error) {
	switch name {
	case "uniform":
		return &Uniform{}, nil
	case "round-robin":
		return &RoundRobin{}, nil
	}
	return nil, &freshet.InvalidError{
		Field:  "policy",
		Reason: fmt.Sprintf("there is no policy %q; there are %s", name, strings.Join(Names, ", ")),
	}
}
