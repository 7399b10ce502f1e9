package sinks_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// partsOf returns the parts of a message by their media types, without those that contain others.
func partsOf(t *testing.T, kind string, body io.Reader) map[string]*bytes.Buffer {
	t.Helper()
	found := map[string]*bytes.Buffer{}
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(media, "multipart/") {
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]*bytes.Buffer{media: bytes.NewBuffer(text)}
	}
	for r := multipart.NewReader(body, params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		for media, text := range partsOf(t, p.Header.Get("Content-Type"), p) {
			found[media+p.Header.Get("Content-Id")] = text
		}
	}
}

// An e-mail has what changed in the pictures in it, each beside its change, up to a size.
func TestMailWithPictures(t *testing.T) {
	size := 1000
	o := opened(t, letter("smtp://mail.example", nil), func(c *sinks.Config) {
		c.Difference = func(_ context.Context, c freshet.Change) ([]byte, error) {
			return bytes.Repeat([]byte(c.Source[:1]), size), nil
		}
	})
	of := func(id freshet.SourceID, picture *freshet.PictureChange) *freshet.Change {
		c := change()
		c.Source, c.Details.Picture = id, picture
		return &c
	}
	seen := &freshet.PictureChange{Share: 0.02, Count: 1}
	digest := sinks.Batch{Batch: queries.Batch{Query: "q", Name: "Q", From: 1, To: 3, At: time.Unix(0, 0)}}
	for i, c := range []*freshet.Change{of("map", seen), of("plain", nil), of("chart", seen)} {
		digest.Matches = append(digest.Matches, sinks.Match{Match: queries.Match{Query: "q", Number: int64(i) + 1, Cause: queries.MatchChange, Source: c.Source}, Change: c, Texts: texts})
	}
	parts := func(body []byte, err error) map[string]*bytes.Buffer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return partsOf(t, m.Header.Get("Content-Type"), m.Body)
	}
	one := parts(o.Render(t.Context(), *of("map", seen), texts))
	if one["image/png<map-4.png>"] == nil {
		t.Fatalf("there is no picture among the parts %v", one)
	}
	picture, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, one["image/png<map-4.png>"]))
	if err != nil || string(picture) != strings.Repeat("m", 1000) || !strings.Contains(one["text/html"].String(), `src="cid:map-4.png"`) || one["text/plain"] == nil {
		t.Errorf("the picture is %.20q: %v; the page is %s", picture, err, one["text/html"])
	}
	if all := parts(o.RenderBatch(t.Context(), digest)); len(all) != 4 || all["image/png<chart-4.png>"] == nil || strings.Contains(all["text/html"].String(), "plain-4") {
		t.Errorf("a digest of two changes of pictures and another has the parts %v", all)
	}
	size = 3 << 20
	if large := parts(o.Render(t.Context(), *of("map", seen), texts)); len(large) != 2 || strings.Contains(large["text/html"].String(), "cid:") {
		t.Errorf("with a picture that is too large, the parts are %v", large)
	}
	link := sinks.NewEvent(t.Context(), *of("map", seen), "https://freshet.example", texts).DiffLink()
	if link != "https://freshet.example/sources/map/versions?to=4&view=pictures" {
		t.Errorf("the link to what changed is %s", link)
	}
}
