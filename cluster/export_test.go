package cluster

import "fmt"

// Chosen returns which of some hands is the one for each of a thousand hosts.
func Chosen(names []string) map[string]string {
	chosen := map[string]string{}
	for i := range 1000 {
		host := fmt.Sprintf("h%d.example", i)
		var most uint64
		for _, name := range names {
			if s := score(host, name); s >= most {
				most, chosen[host] = s, name
			}
		}
	}
	return chosen
}
