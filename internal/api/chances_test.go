package api_test

import (
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/learn/imported"
)

// Chances that are given of a source can be read, replaced and taken back, and a daemon
// says that they are there.
func TestChances(t *testing.T) {
	r := newRig(t)
	r.Origin.Put("/page", "text/plain", "page\n")
	r.add("page", "/page")
	const path = "/api/v1/sources/page/chances"
	soon := time.Now().UTC().Truncate(time.Second).Add(time.Hour)
	var given, read imported.Forecast
	r.do("PUT", path, map[string]any{"times": []any{
		map[string]any{"at": soon.Add(time.Hour), "chance": 0.25}, map[string]any{"at": soon, "until": soon},
	}}).is(200).into(&given)
	if !given.Until.Equal(soon.Add(time.Hour+time.Minute)) || len(given.Times) != 2 || !given.Times[0].At.Equal(soon) || given.Times[0].Likely() != 1 {
		t.Errorf("they are given as %+v", given)
	}
	r.do("GET", path, nil).is(200).into(&read)
	if string(read.Memory()) != string(given.Memory()) {
		t.Errorf("%s is read as %s", given.Memory(), read.Memory())
	}
	r.run()
	var why client.Why
	r.do("GET", "/api/v1/sources/page/why", nil).is(200).into(&why)
	c := why.GivenChances
	if c == nil || !c.Next.Equal(soon) || c.Chance != 1 || c.Times != 2 || !strings.Contains(why.Sentence, "Chances that were given for it hold until") || !strings.Contains(why.Sentence, "(100%)") {
		t.Errorf("why says %+v: %s", c, why.Sentence)
	}
	r.do("PUT", path, map[string]any{"rate_per_day": 0, "until": soon}).is(200)
	r.do("GET", "/api/v1/sources/page/why", nil).is(200).into(&why)
	if !strings.Contains(why.Sentence, "no change is expected before that") {
		t.Errorf("why says %s", why.Sentence)
	}
	for range 2 {
		r.do("DELETE", path, nil).is(204)
		r.do("GET", path, nil).is(404)
	}
	why = client.Why{}
	r.do("GET", "/api/v1/sources/page/why", nil).is(200).into(&why)
	if why.GivenChances != nil || strings.Contains(why.Sentence, "Chances") {
		t.Errorf("why says %+v: %s", why.GivenChances, why.Sentence)
	}
}
