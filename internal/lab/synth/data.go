package synth

import (
	"encoding/json"
	"fmt"
	"time"
)

// A measurement is one row of a JSON endpoint.
type measurement struct {
	Sensor  string  `json:"sensor"`
	Edition int     `json:"edition"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
}

// readings is a JSON document with a few rows, of which each version has a new
// value for one.
func (w *Web) readings(p *page, version int, at time.Time) []byte {
	doc := struct {
		Name    string        `json:"name"`
		Edition int           `json:"edition"`
		Served  string        `json:"served_at,omitempty"`
		Rows    []measurement `json:"readings"`
	}{Name: p.Name, Edition: version}
	if p.Noise != Silent {
		doc.Served = at.UTC().Format(time.RFC3339Nano)
	}
	const rows = 8
	for j := range rows {
		edition := touched(version, j, rows)
		chance := w.chance(p.ID, "reading", j, edition)
		doc.Rows = append(doc.Rows, measurement{
			Sensor:  fmt.Sprintf("%s-%d", nouns[j], j+1),
			Edition: edition,
			Value:   float64(chance.IntN(100_000)) / 100,
			Unit:    "kPa",
		})
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return append(b, '\n')
}

// bulletin is what an airfield tells approaching aircraft, in plain text.
func (w *Web) bulletin(p *page, version int) []byte {
	at, _ := w.born(p, version)
	chance := w.chance(p.ID, "bulletin", version)
	return fmt.Appendf(nil, `%s INFORMATION %c
edition %d, time %s
runway %02d in use
wind %03d degrees %d knots
visibility %d kilometres, %s
temperature %d, dew point %d, pressure %d
`,
		p.Name, 'A'+rune((version-1)%26), version, at.UTC().Format("150405")+"Z",
		1+chance.IntN(36), 10*chance.IntN(36), 2+chance.IntN(30),
		1+chance.IntN(10), pick(chance, weather),
		5+chance.IntN(25), chance.IntN(5), 980+chance.IntN(50))
}
