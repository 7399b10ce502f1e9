package config_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/profile"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// exported writes settings, queries, sinks and sources as a configuration file.
func exported(t interface{ Fatal(...any) }, set map[string]string, qs []queries.Query, to []sinks.Sink, sources []freshet.Source) (string, []string) {
	var b bytes.Buffer
	e := config.NewExport(&b)
	err := e.Settings(set)
	if err == nil {
		err = e.Queries(qs)
	}
	secrets, sinksErr := e.Sinks(to)
	for _, s := range sources {
		if err == nil {
			err = e.Source(s)
		}
	}
	if err != nil || sinksErr != nil {
		t.Fatal(err, sinksErr)
	}
	return b.String(), secrets
}

// What is exported is read as it was, and exported again byte for byte.
func TestExportComesBack(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"yes", "null", "~", "1e3", "0x1f", "a: b", "# not a comment", "'", "\"", "- x", "|", " two\nlines ", "{a}", "&x", "*x", "!t", "2026-01-01", "${env:HOME}", "%", "@x"}))
	rapid.Check(t, func(rt *rapid.T) {
		var sources []freshet.Source
		for n := range rapid.IntRange(1, 4).Draw(rt, "sources") {
			s := freshet.Source{
				ID: freshet.SourceID(fmt.Sprint("s", n)), URL: fmt.Sprintf("https://a.example/%d?token=abcdefgh12345678&x=%s", n, rapid.StringMatching(`[a-z0-9:&*!@~-]{0,12}`).Draw(rt, "query")),
				Name: text.Draw(rt, "name"), Tags: rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9-]{0,6}`), 0, 3).Draw(rt, "tags"),
				Paused: rapid.Bool().Draw(rt, "paused"), MinGap: time.Duration(rapid.IntRange(0, 1e5).Draw(rt, "gap")) * time.Second,
				Keep: freshet.Keep{Versions: rapid.IntRange(0, 1e6).Draw(rt, "versions"), Bytes: rapid.Int64Range(0, 1<<40).Draw(rt, "bytes")},
			}
			if rapid.Bool().Draw(rt, "level") {
				s.Level = objective.ServiceLevel{Share: 0.9, Within: time.Duration(rapid.IntRange(60, 1e5).Draw(rt, "within")) * time.Second}
			}
			s, err := s.Check()
			if err != nil {
				rt.Skip(err)
			}
			sources = append(sources, s)
		}
		set := map[string]string{"budget": fmt.Sprintf("%d/m", rapid.IntRange(1, 999).Draw(rt, "budget")), "source_gap": "0s", "listen": "left out", "levels": `[{"tag": "news", "level": "90% within 1h"}]`}
		first, _ := exported(rt, set, nil, nil, sources)
		read, err := config.LoadToApply(config.Input{File: "first", Text: bytes.NewReader([]byte(first)), Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }})
		if err != nil {
			rt.Fatalf("%v\n%s", err, first)
		}
		var again []freshet.Source
		for i, s := range read.Sources.All() {
			if string(s.Definition()) != string(sources[i].Definition()) {
				rt.Fatalf("source %d came back as %s, want %s\n%s", i, s.Definition(), sources[i].Definition(), first)
			}
			again = append(again, s)
		}
		applied := read.ToApply()
		if applied["budget"] != set["budget"] || applied["levels"] != set["levels"] || len(applied) != 3 {
			rt.Fatalf("the settings came back as %v", applied)
		}
		if second, _ := exported(rt, applied, nil, nil, again); second != first {
			rt.Fatalf("exported again it is\n%s\nnot\n%s", second, first)
		}
	})
}

// No secret of a sink is exported: references to stored ones take their places, and are kept as they are.
func TestExportedSecrets(t *testing.T) {
	text, secrets := exported(t, nil, nil, []sinks.Sink{
		{Name: "hook", Kind: "webhook", URL: "https://hook.example/", Settings: map[string]profile.Value{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Headers: map[string]profile.Value{"X-Key": "s3cret"}},
		{Name: "stored", Kind: "webhook", URL: "https://hook.example/", Settings: map[string]profile.Value{"secret": "${secret:mine}"}},
		{Name: "team chat", Kind: "slack", URL: "https://hooks.slack.com/services/T0/B0/s3cret"},
	}, nil)
	for _, leaked := range []string{"whsec_", "s3cret\"", "/s3cret", "***"} {
		if bytes.Contains([]byte(text), []byte(leaked)) {
			t.Errorf("the export has %s:\n%s", leaked, text)
		}
	}
	if fmt.Sprint(secrets) != "[hook-secret hook-X-Key team-chat-url]" && fmt.Sprint(secrets) != "[hook-X-Key hook-secret team-chat-url]" {
		t.Errorf("the secrets to store are %v", secrets)
	}
	if !bytes.Contains([]byte(text), []byte("${secret:mine}")) || !bytes.Contains([]byte(text), []byte("${secret:team-chat-url}")) {
		t.Errorf("the export is\n%s", text)
	}
}
