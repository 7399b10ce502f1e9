package extract_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

const (
	russian = "Река поднялась за ночь на двадцать сантиметров, и жители нижних улиц переносят вещи на вторые этажи."
	german  = "Über Nacht stieg der Fluß um zwanzig Zentimeter; die Bewohner der Uferstraße räumen ihre Keller für alle Fälle."
	polish  = "Władze zamknęły trzy mosty na rzece, a mieszkańcy niżej położonych ulic przenoszą rzeczy na piętra."
	czech   = "Úřad uzavřel tři mosty přes řeku; obyvatelé níže položených ulic stěhují věci do vyšších pater."
	kana    = "川の水位は夜の間に二十センチ上がりました。住民は荷物を二階に運んでいます。"
)

func encoded(t *testing.T, label, s string) []byte {
	enc, _ := charset.Lookup(label)
	b, err := enc.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCharset(t *testing.T) {
	tests := []struct {
		name, media string
		body        []byte
		want        string
	}{
		{"declared by the server", "text/plain; charset=windows-1251", encoded(t, "windows-1251", russian), russian},
		{"declared in capitals and quotes", `text/plain; charset="KOI8-R"`, encoded(t, "koi8-r", russian), russian},
		{"declared by the page", "text/html", append([]byte(`<meta charset=windows-1251><p>`), encoded(t, "windows-1251", russian)...), russian},
		{"declared by the page, the old way", "text/html", append([]byte(`<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>`), encoded(t, "koi8-r", russian)...), russian},
		{"declared by XML", "application/xml", append([]byte(`<?xml version="1.0" encoding="windows-1251"?>`), encoded(t, "windows-1251", russian)...), `<?xml version="1.0" encoding="windows-1251"?>` + russian},
		{"declared wrongly by a page in UTF-8", "text/html", []byte("<meta charset=iso-8859-1><p>" + german), german},
		{"declared as UTF-16 by a page that can be read", "text/html", append([]byte("<meta charset=utf-16><p>"), "a\xffb"...), "a\ufffdb"},
		{"declared as something unknown", "text/plain; charset=martian", []byte(german), german},
		{"JSON, whatever is declared", "application/json; charset=iso-8859-1", []byte(`"` + german + `"`), `"` + german + `"`},
		{"a mark of UTF-8", "text/plain; charset=koi8-r", []byte("\xef\xbb\xbf" + german), german},
		{"a mark of UTF-16", "text/plain", append([]byte("\xff\xfe"), utf16le(german)...), german},
		{"undeclared UTF-8", "text/plain", []byte(kana), kana},
		{"undeclared windows-1251", "text/plain", encoded(t, "windows-1251", russian), russian},
		{"undeclared windows-1250, in Polish", "text/plain", encoded(t, "windows-1250", polish), polish},
		{"undeclared ISO-8859-2, in Polish", "text/html", append([]byte("<p>"), encoded(t, "iso-8859-2", polish)...), polish},
		{"undeclared windows-1250, in Czech", "text/html", append([]byte("<p>"), encoded(t, "windows-1250", czech)...), czech},
		{"undeclared ISO-8859-2, in Czech", "text/plain", encoded(t, "iso-8859-2", czech), czech},
		{"undeclared Shift JIS of one line", "text/plain", encoded(t, "shift_jis", kana), kana},
		{"undeclared ISO-2022-JP", "text/plain", encoded(t, "iso-2022-jp", kana), kana},
		{"undeclared UTF-16 without a mark", "text/plain", utf16le(german), german},
		{"undeclared UTF-16 without a mark, the high byte first", "text/plain", encoded(t, "utf-16be", russian), russian},
		{"declared as UTF-8 by the server, and not", "text/html; charset=utf-8", append([]byte("<p>"), encoded(t, "windows-1250", polish)...), polish},
		{"declared as UTF-8 by the page, and not", "text/html", append([]byte("<meta charset=utf-8><p>"), encoded(t, "windows-1251", russian)...), russian},
		{"declared as UTF-8 by the server and otherwise by the page", "text/html; charset=utf-8", append([]byte("<meta charset=koi8-r><p>"), encoded(t, "koi8-r", russian)...), russian},
		{"declared as UTF-8 and cut in a character", "text/plain; charset=utf-8", []byte("caf\xc3"), "caf\ufffd"},
		{"undeclared latin1", "text/plain", encoded(t, "windows-1252", german), german},
		{"undeclared Shift JIS", "text/plain", encoded(t, "shift_jis", strings.Repeat(kana, 3)), strings.Repeat(kana, 3)},
		{"ISO-2022-JP, whose bytes are all ASCII, declared by the page", "text/html", append([]byte("<meta charset='iso-2022-jp'><p>"), encoded(t, "iso-2022-jp", kana)...), kana},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: tt.media, Body: tt.body})
			if got := strings.TrimSuffix(string(rd.Text), "\n"); err != nil || got != tt.want {
				t.Errorf("it reads %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

// A stray byte that comes and goes changes the text where it is, and nowhere else.
func TestStrayByte(t *testing.T) {
	for _, page := range []struct{ name, mediaType, before, text string }{
		{"nothing declared", "text/html", "<p>", german},
		{"one letter", "text/html", "<p>", "a small caf\u00e9"},
		{"plain text", "text/plain", "", german},
		{"declared wrongly by the page", "text/html", "<meta charset=iso-8859-1><p>", german},
		{"another writing", "text/plain", "", russian},
		{"JSON, declared wrongly by the server", "application/json; charset=iso-8859-1", "", `"` + german + `"`},
	} {
		for _, stray := range []byte{0x80, 0x92, 0xa0, 0xc3, 0xe9, 0xf0, 0xff} {
			for at, c := range page.text {
				if c != ' ' {
					continue
				}
				body := page.before + page.text[:at+1] + string([]byte{stray}) + page.text[at:]
				got, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: page.mediaType, Body: []byte(body)})
				if err != nil {
					t.Fatalf("%s: %v", page.name, err)
				}
				want := page.text[:at+1] + "\ufffd" + page.text[at:]
				if strings.TrimSpace(string(got.Text)) != want {
					t.Errorf("%s, with %#x at %d: %q, want %q", page.name, stray, at, got.Text, want)
				}
			}
		}
	}
}

func TestCharsetRefused(t *testing.T) {
	_, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "text/html; charset=iso-2022-kr", Body: []byte("<p>a")})
	if classOf(err) != extract.FailEncoding {
		t.Errorf("an encoding that is not safe to read fails with %v", err)
	}
}

func FuzzCharset(f *testing.F) {
	f.Add("text/html; charset=utf-8", []byte("<p>a\xff"))
	f.Add("text/plain", []byte("\xff\xfea\x00"))
	f.Add("", []byte("\x1b$B$\"\x1b(B"))
	f.Add("text/html; charset=gb18030", []byte("<meta charset=koi8-r>\x81\x30"))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		for _, kind := range []reading.Kind{reading.Auto, reading.Text, reading.HTML} {
			rd, err := extract.Extract(reading.Recipe{Kind: kind}, freshet.Response{MediaType: media, Body: body})
			if err == nil {
				checkText(t, rd.Text)
				if !utf8.ValidString(rd.Title) || strings.ContainsAny(rd.Title, "\n\r\x1b") {
					t.Errorf("the title is %q", rd.Title)
				}
			}
		}
	})
}
