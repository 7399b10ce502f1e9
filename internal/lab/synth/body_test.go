package synth_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/lab/synth"
)

var update = flag.Bool("update", false, "write the golden files anew")

var forms = map[string]synth.Form{
	"news": synth.News, "status": synth.Status, "prices": synth.Prices, "rss": synth.RSS,
	"atom": synth.Atom, "api": synth.API, "bulletin": synth.Bulletin,
}

func TestEveryVersionSaysItsNumber(t *testing.T) {
	for name, form := range forms {
		for _, noise := range []synth.Noise{synth.Silent, synth.Hidden, synth.Visible} {
			w := one(synth.Page{Form: form, Noise: noise, Schedule: synth.Regular{Every: time.Second}})
			seen := map[string]int{}
			for v := 1; v <= 120; v++ {
				body := w.Body("page", v, start)
				if got, ok := synth.VersionIn(body); !ok || got != v {
					t.Fatalf("version %d of a page of form %s says it is %d", v, name, got)
				}
				if before, ok := seen[string(body)]; ok {
					t.Fatalf("versions %d and %d of a page of form %s are the same", before, v, name)
				}
				seen[string(body)] = v
			}
		}
	}
}

func TestSelectedRowsSayTheirNumber(t *testing.T) {
	w := one(synth.Page{Form: synth.API, Schedule: synth.Regular{Every: time.Second}})
	for v := 1; v <= 40; v++ {
		var doc struct {
			Rows json.RawMessage `json:"readings"`
		}
		if err := json.Unmarshal(w.Body("page", v, start), &doc); err != nil {
			t.Fatal(err)
		}
		if got, _ := synth.VersionIn(doc.Rows); got != v {
			t.Errorf("the rows of version %d say they are %d", v, got)
		}
	}
}

func TestNoiseIsNotAChange(t *testing.T) {
	later := start.Add(time.Millisecond)
	for _, form := range []synth.Form{synth.News, synth.Status, synth.Prices} {
		for noise, marks := range map[synth.Noise]string{synth.Hidden: "<header>", synth.Visible: "<main>"} {
			w := one(synth.Page{Form: form, Noise: noise})
			a, b := w.Body("page", 1, start), w.Body("page", 1, later)
			if bytes.Equal(a, b) {
				t.Errorf("a noisy page says the same twice: %s", a)
			}
			_, a, _ = bytes.Cut(a, []byte(marks))
			_, b, _ = bytes.Cut(b, []byte(marks))
			if len(a) == 0 || !bytes.Equal(a, b) {
				t.Errorf("noise %d reaches beyond %s", noise, marks)
			}
		}
	}
	for name, form := range forms {
		w := one(synth.Page{Form: form})
		if !bytes.Equal(w.Body("page", 1, start), w.Body("page", 1, later)) {
			t.Errorf("a silent page of form %s depends on when it is asked for", name)
		}
	}
}

func TestFeedsAndDataParse(t *testing.T) {
	for _, form := range []synth.Form{synth.RSS, synth.Atom} {
		w := one(synth.Page{Name: `Bees & "friends" <x>`, Form: form, Schedule: synth.Regular{Every: time.Second}})
		d := xml.NewDecoder(bytes.NewReader(w.Body("page", 15, start)))
		items := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("the feed is not XML: %v", err)
			}
			if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "item" || e.Name.Local == "entry") {
				items++
			}
		}
		if items != 10 {
			t.Errorf("the feed has %d items, want the latest 10", items)
		}
	}
	if w := one(synth.Page{Form: synth.API, Noise: synth.Visible}); !json.Valid(w.Body("page", 1, start)) {
		t.Errorf("the endpoint does not answer with JSON: %s", w.Body("page", 1, start))
	}
}

func TestGoldenBodies(t *testing.T) {
	for name, form := range forms {
		w := one(synth.Page{Name: "A page", Form: form, Schedule: synth.Regular{Every: 10 * time.Second}})
		got := w.Body("page", 3, start)
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the body of form %s is not that of %s; got\n%s", name, file, got)
		}
	}
}

func TestVersionIn(t *testing.T) {
	tests := []struct {
		text string
		want int
		ok   bool
	}{
		{"edition 17", 17, true},
		{"edition\n17", 17, true},
		{`{"edition": 17}`, 17, true},
		{`{"edition":17}`, 17, true},
		{"edition 0000000042 of it", 42, true},
		{"(edition 3) (edition 12) (edition 9)", 12, true},
		{"this edition is the first", 0, false},
		{"edition", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := synth.VersionIn([]byte(tt.text)); got != tt.want || ok != tt.ok {
			t.Errorf("in %q there is version %d (%v), want %d (%v)", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzVersionIn checks that whatever surrounds an edition, one at least as high
// is found.
func FuzzVersionIn(f *testing.F) {
	f.Add([]byte("edition 1"), uint32(17), []byte(`"edition": 99999999999999999999999`))
	f.Fuzz(func(t *testing.T, before []byte, version uint32, after []byte) {
		text := fmt.Appendf(nil, "%s edition %d. %s", before, version, after)
		if got, ok := synth.VersionIn(text); !ok || got < int(version) {
			t.Errorf("in %q there is version %d (%v), want at least %d", text, got, ok, version)
		}
	})
}
