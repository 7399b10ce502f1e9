package cluster

import (
	"encoding/json"
	"fmt"
)

// A Head is the header of a frame.
type Head struct {
	Kind    string
	ID, Ask uint64
	Blobs   []int
	Say     json.RawMessage
}

// Write returns a header as it is sent.
func (h Head) Write() []byte {
	return frame{Kind: kind(h.Kind), ID: h.ID, Ask: h.Ask, Blobs: h.Blobs, Say: h.Say}.appendHead(nil)
}

// ReadHead reads a header as it was received.
func ReadHead(text []byte) (Head, error) {
	var f frame
	err := f.readHead(text)
	return Head{Kind: string(f.Kind), ID: f.ID, Ask: f.Ask, Blobs: f.Blobs, Say: f.Say}, err
}

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
