package units

import "fmt"

// NameOf returns the name of the constant i of an enumeration.
func NameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}
