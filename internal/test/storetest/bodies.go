package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"freshet/internal/freshet"
)

var bodyTests = []test{
	{"text and response come back as they were captured", func(b *bench) {
		b.add("a")
		r := saw("a", noon, freshet.First, "text")
		r.Capture.Raw = freshet.Raw{
			Status: 203, URL: "https://a.example/after?redirects", Body: []byte("<html>\x00\xff text"),
			Header: http.Header{
				"Content-Type": {"text/html; charset=utf-8"}, "Etag": {`W/"x"`}, "Link": {"<a>; rel=b", "<c>; rel=d"},
				"Date": {"Sun, 01 Mar 2026 12:00:00 GMT"}, "Last-Modified": {"sunday, in winter"}, "Expires": {"0"},
				"X-Unheard-Of": {"välue", ""},
			},
		}
		b.commit(r)
		b.reopen()
		got, err := b.Raw(b.Context(), "a", 1)
		b.ok("raw", err)
		same(b, "the response", got, r.Capture.Raw)
		same(b, "the text", b.text("a", 1), "text")
	}},
	{"headers come back, however they differ from version to version", func(b *bench) {
		b.add("a")
		var want []freshet.Raw
		for n, h := range differentHeaders() {
			r := saw("a", noon.Add(time.Duration(n)*time.Minute), freshet.Changed, fmt.Sprint("text ", n))
			r.Capture.Raw = freshet.Raw{Method: []string{"GET", "", "POST"}[n%3], Status: 200, URL: "https://a.example/", Header: h, Body: fmt.Append(nil, "<p>", n)}
			b.commit(r)
			want = append(want, r.Capture.Raw)
			if n%4 == 3 {
				b.reopen()
			}
		}
		b.reopen()
		for n, w := range want {
			got, err := b.Raw(b.Context(), "a", n+1)
			b.ok("raw", err)
			same(b, fmt.Sprintf("response %d", n+1), got, w)
		}
	}},
	{"versions are listed newest first, in pages", func(b *bench) {
		b.add("a")
		b.history("a", 7)
		page, err := b.Versions(b.Context(), "a", freshet.Between{}, 0, 3)
		b.ok("versions", err)
		if len(page) != 3 || page[0].Number != 7 || page[2].Number != 5 {
			b.Errorf("the first page is %+v", page)
		}
		page, err = b.Versions(b.Context(), "a", freshet.Between{}, 3, 100)
		b.ok("versions", err)
		if len(page) != 2 || page[0].Number != 2 || page[1].Number != 1 {
			b.Errorf("the versions below 3 are %+v", page)
		}
		one, err := b.Version(b.Context(), "a", 2)
		b.ok("version", err)
		same(b, "one version", one, page[0])
		same(b, "its hash", one.Hash, freshet.HashOf([]byte(b.text("a", 2))))
		for _, n := range []int{0, 8, -1} {
			_, err := b.Version(b.Context(), "a", n)
			b.is(fmt.Sprintf("version %d", n), err, freshet.ErrNotFound)
			_, err = b.Text(b.Context(), "a", n)
			b.is(fmt.Sprintf("the text of version %d", n), err, freshet.ErrNotFound)
		}
	}},
	{"a version is found by its text", func(b *bench) {
		b.add("a")
		b.history("a", 7)
		hash := freshet.HashOf([]byte(b.text("a", 4)))
		for _, tt := range []struct {
			id    freshet.SourceID
			hash  freshet.Hash
			above int
			want  int
		}{{"a", hash, 0, 4}, {"a", hash, 3, 4}, {"a", hash, 4, 0}, {"a", hash, -9, 4}, {"a", freshet.HashOf([]byte("no such text")), 0, 0}, {"b", hash, 0, 0}} {
			got, err := b.VersionWith(b.Context(), tt.id, tt.hash, tt.above)
			b.ok("version with a text", err)
			same(b, fmt.Sprintf("the version of %s above %d", tt.id, tt.above), got, tt.want)
		}
	}},
	{"a version is found by its text, before and after a restart", func(b *bench) {
		b.add("a")
		b.history("a", 20)
		known := map[freshet.Hash]int{}
		for n := 1; n <= 20; n++ {
			known[freshet.HashOf([]byte(b.text("a", n)))] = n
		}
		check := func(last int) {
			for hash, n := range known {
				for _, above := range []int{0, 3, last - 17, last - 16, last - 15, last - 1, last} {
					want := n
					if n <= above {
						want = 0
					}
					got, err := b.VersionWith(b.Context(), "a", hash, above)
					b.ok("version with a text", err)
					same(b, fmt.Sprintf("version %d above %d", n, above), got, want)
				}
			}
		}
		check(20)
		b.reopen()
		check(20)
		for n := 21; n <= 40; n++ {
			r := saw("a", minute(n), freshet.Changed, fmt.Sprintf("a text after the restart, %d", n))
			b.commit(r)
			known[r.Capture.Hash] = n
			if n == 21 || n == 29 || n == 40 {
				check(n)
			}
		}
	}},
	{"any bytes are kept", func(b *bench) {
		b.add("a")
		big := make([]byte, 3<<20)
		rand.NewChaCha8([32]byte{1}).Read(big)
		texts := [][]byte{
			[]byte("ordinary"), {}, {0}, []byte("\x00\xff\xfe\x00"), bytes.Repeat([]byte("long "), 1<<20), {}, big,
			append(bytes.Clone(big), "and a little"...), []byte("日本語 \u0000"), []byte("ordinary"),
		}
		for i, text := range texts {
			r := saw("a", minute(i), freshet.Changed, "")
			r.Capture.Text, r.Capture.Hash = text, freshet.HashOf(text)
			r.Capture.Raw.Body = bytes.ToUpper(text)
			b.commit(r)
		}
		for range 2 {
			for i, text := range texts {
				if got := b.text("a", i+1); got != string(text) {
					b.Errorf("version %d has %d bytes of text that are not the %d captured", i+1, len(got), len(text))
				}
				raw, err := b.Raw(b.Context(), "a", i+1)
				b.ok("raw", err)
				if !bytes.Equal(raw.Body, bytes.ToUpper(text)) {
					b.Errorf("version %d has %d bytes of body that are not the %d captured", i+1, len(raw.Body), len(text))
				}
			}
			b.reopen()
		}
	}},
	{"what a caller does to a body afterwards changes nothing", func(b *bench) {
		b.add("a")
		r := saw("a", noon, freshet.First, "as it was")
		b.commit(r)
		clear(r.Capture.Text)
		got, err := b.Text(b.Context(), "a", 1)
		b.ok("text", err)
		clear(got)
		same(b, "the text", b.text("a", 1), "as it was")
	}},
	{"a long history can be read in any order", func(b *bench) {
		b.add("a")
		page := strings.Split(strings.Repeat("a line of a page that is much as it was before\n", 300), "")
		rnd := rand.New(rand.NewPCG(1, 2))
		var texts []string
		for i := range 150 {
			for range 5 {
				page[rnd.IntN(len(page))] = string(rune('a' + rnd.IntN(26)))
			}
			text := strings.Join(page, "")
			if i > 0 && i%10 == 0 {
				text = texts[rnd.IntN(len(texts))] // as it once was
			}
			texts = append(texts, text)
			b.commit(saw("a", minute(i), freshet.Changed, text))
		}
		b.reopen()
		for _, i := range rnd.Perm(len(texts)) {
			if b.text("a", i+1) != texts[i] {
				b.Errorf("version %d is not what was captured", i+1)
			}
		}
	}},
	{"a text that hashes to another name is damaged", func(b *bench) {
		b.add("a")
		r := saw("a", noon, freshet.First, "true")
		r.Capture.Hash = freshet.HashOf([]byte("false"))
		b.commit(r)
		b.reopen()
		_, err := b.Text(b.Context(), "a", 1)
		b.is("the text", err, freshet.ErrDamaged)
	}},
}

// contextDone returns a context that is done.
func contextDone(b *bench) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	return ctx, cancel
}

// differentHeaders are headers of one page: most stays the same, some comes and goes.
func differentHeaders() (list []http.Header) {
	for n := range 12 {
		h := http.Header{
			"Date": {time.Date(2026, 3, 1, 12, n, 0, 0, time.UTC).Format(http.TimeFormat)}, "Content-Type": {"text/html; charset=utf-8"}, "Server": {"nginx"},
			"Content-Security-Policy": {"default-src 'self'; img-src 'self' data: https:; object-src 'none'"}, "X-Served-By": {fmt.Sprintf("cache-fra-%d-FRA", n%4)},
			"Age": {fmt.Sprint(n * 17)}, "Strict-Transport-Security": {"max-age=31536000; includeSubDomains"},
			"Set-Cookie": {fmt.Sprintf("a=***; Max-Age=%d; Path=/", n), "b=***; Secure"},
		}
		switch n % 5 {
		case 1:
			delete(h, "Server")
			h["Set-Cookie"] = h["Set-Cookie"][:1]
		case 2:
			h["Set-Cookie"] = append(h["Set-Cookie"], "c=***; Secure")
			h["X-Empty"] = []string{""}
		case 3:
			h["Age"] = []string{"007"}
			h["X-Other"] = []string{strings.Repeat(fmt.Sprint("long ", n), 60)}
		}
		list = append(list, h)
	}
	return list
}
