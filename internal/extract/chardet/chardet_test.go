package chardet_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"freshet/internal/extract/chardet"
)

func TestDetect(t *testing.T) {
	for _, text := range texts {
		for label := range strings.FieldsSeq(text.encodings) {
			for length, want := range map[string]string{
				"headline": text.short, "paragraph": text.long,
				"page": "<html><head><title>" + text.short + "</title></head><body><p class=lead>" + text.short + "</p><p>" + text.long + "</p></body></html>",
			} {
				t.Run(text.language+"/"+label+"/"+length, func(t *testing.T) {
					body := encoded(t, label, want)
					found := chardet.Detect([]byte(body))
					enc, _ := charset.Lookup(found)
					if got, err := enc.NewDecoder().String(body); err != nil || got != want {
						t.Errorf("it is taken for %s, and reads %.80q (%v)", found, got, err)
					}
				})
			}
		}
	}
}

// What comes beyond the sample is not looked at, nor what comes before it.
func TestDetectIsBounded(t *testing.T) {
	head, tail := strings.Repeat("<p>plain</p>", 100_000), strings.Repeat("\xcf\xf0\xe8", 30_000)
	polish := encoded(t, "windows-1250", texts[0].long)
	if got := chardet.Detect([]byte(head + polish)); got != "windows-1250" {
		t.Errorf("Polish after a megabyte of ASCII is taken for %s", got)
	}
	if got := chardet.Detect([]byte(strings.Repeat(polish, 1000) + tail)); got != "windows-1250" {
		t.Errorf("Polish with something else far behind is taken for %s", got)
	}
}

// One letter more or less has no page read otherwise.
func TestDetectWithoutEvidence(t *testing.T) {
	for _, text := range []string{"", "plain", "caf\xe9", "50 \xb0C", "\xa3825", "it\x92s", "\xa9 2026 Nov\xe9"} {
		if got := chardet.Detect([]byte(text)); got != chardet.Fallback {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func TestWide(t *testing.T) {
	for _, label := range []string{"utf-16le", "utf-16be"} {
		for _, text := range texts {
			if !strings.ContainsAny(text.long, " ") {
				continue // no zero bytes
			}
			if got := chardet.Wide([]byte(encoded(t, label, text.long))); got != label {
				t.Errorf("%s in %s is taken for %q", text.language, label, got)
			}
		}
	}
	for _, text := range []string{"", "ab", "\x00\x00\x00\x00", "a\x00b", "a\x00\x01\x00", "\x00a\x00", "<p>a\x00b</p><\x00p>\x00c", "GIF89a\x00\x01\x00\x02\x00\x03"} {
		if got := chardet.Wide([]byte(text)); got != "" {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func encoded(t *testing.T, label, text string) string {
	enc, _ := charset.Lookup(label)
	s, err := enc.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkDetect(b *testing.B) {
	for _, text := range texts {
		label, _, _ := strings.Cut(text.encodings, " ")
		enc, _ := charset.Lookup(label)
		body, _ := enc.NewEncoder().Bytes([]byte(strings.Repeat(text.long, 100)))
		b.Run(text.language, func(b *testing.B) {
			b.SetBytes(int64(min(len(body), 64<<10)))
			for b.Loop() {
				chardet.Detect(body)
			}
		})
	}
}
