package importer_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"freshet/internal/app/importer"
	"freshet/internal/freshet/profile"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// instances returns instances of changedetection.io as one file each: those of the layout until
// 0.52, and those with a folder for each watch.
func instances(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("testdata/changedetection")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		path := filepath.Join("testdata/changedetection", e.Name())
		if e.IsDir() {
			l, err := importer.ReadFolder(os.DirFS(path))
			if err != nil || l.Format != importer.Changedetection {
				t.Fatalf("%s is taken for %q: %v", path, l.Format, err)
			}
			all[e.Name()] = l.Text
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// said returns what becomes of a watch, with all of its notes.
func said(t *testing.T, instance map[string]any, id string) string {
	t.Helper()
	text, err := json.Marshal(instance)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := read(importer.Changedetection, string(text), importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Path == "watching."+id {
			text, _ := json.Marshal([]any{e.Source, e.Notes, e.When, e.Receivers, e.Err != nil})
			return string(text)
		}
	}
	t.Fatalf("%s is missing", id)
	return ""
}

// split returns a file of the layout until 0.52 as a folder of the one since then.
func split(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	var file struct {
		Watching map[string]json.RawMessage
		Settings map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{}
	write := func(name string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		folder[name] = &fstest.MapFile{Data: text}
	}
	for id, w := range file.Watching {
		write(id+"/watch.json", w)
	}
	if tags, ok := file.Settings["application"]["tags"].(map[string]any); ok {
		for id, tag := range tags {
			write(id+"/tag.json", tag)
		}
		delete(file.Settings["application"], "tags")
	}
	write("changedetection.json", map[string]any{"settings": file.Settings})
	return folder
}

// Both layouts become the same.
func TestLayouts(t *testing.T) {
	for name, text := range instances(t) {
		l, err := importer.ReadFolder(split(t, text))
		if err != nil || l.Format != importer.Changedetection {
			t.Fatalf("%s is taken for %q: %v", name, l.Format, err)
		}
		old, _ := read(importer.Changedetection, text, importer.Options{})
		now, err := read(l.Format, l.Text, importer.Options{})
		a, _ := json.Marshal(old)
		b, _ := json.Marshal(now)
		if err != nil || len(old) == 0 || string(a) != string(b) {
			t.Errorf("%s: in the new layout it becomes %s, in the old one %s; %v", name, b, a, err)
		}
	}
}

// state is what a watch has that is no setting, and what has no effect as it is set there.
var state = []string{"previous_md5", "last_checked", "history_n", "uuid", "date_created", "time_between_check_use_default", "notification_format", "notification_muted", "conditions_match_logic"}

// Nothing that is set of a watch is lost without a note: without it something else comes of it.
func TestNothingIsLost(t *testing.T) {
	defaults := map[string]any{}
	for name, text := range instances(t) {
		var instance map[string]any
		if err := json.Unmarshal([]byte(text), &instance); err != nil {
			t.Fatal(err)
		}
		watching := instance["watching"].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(watching)) {
			watch := watching[id].(map[string]any)
			whole := said(t, instance, id)
			if watch["url"] == nil {
				continue // it is skipped, with the reason
			}
			for _, key := range slices.Sorted(maps.Keys(watch)) {
				value := watch[key]
				empty, _ := json.Marshal(value)
				isDefault := strings.Contains(` null "" [] {} false "GET" "System default" "text_json_diff" "system" "no-proxy" `, " "+string(empty)+" ") || strings.HasPrefix(key, "filter_text") && value == true || strings.HasPrefix(string(empty), `{"days":null`)
				if isDefault || slices.Contains(state, key) {
					continue
				}
				delete(watch, key)
				if without := said(t, instance, id); without == whole {
					t.Errorf("%s: %s %s of %s is lost: %s", name, key, empty, id, whole)
				}
				watch[key] = value
				defaults[key] = true
			}
		}
	}
	if len(defaults) < 35 {
		t.Errorf("only %d settings were tried", len(defaults))
	}
}

// Settings of tags and of the program hold for watches. What is made of them is valid.
func TestSettingsOfOthers(t *testing.T) {
	wants := map[string][]string{
		"2-request.json":       {`"Accept-Language":"de"`, `"proxy":"socks5://proxy.example:1080"`, `90% within 6h`, `"render":true`, `proxy ui-7other is not carried over`},
		"3-browser.json":       {`"click":"html \u003e body \u003e div:nth-of-type(2) \u003e button"`, `"fill":{"#q \u003e input":"wine"}`, `{"wait":"5s"}`, `".banner"`, `Wait for text`},
		"4-conditions.json":    {`text.contains(\"sale\") || now.number \u003e 5`, `levenshtein_ratio`, `size(added) \u003e 0`},
		"5-restock.json":       {`now.price \u003c 10 || now.price \u003e 20`, `now.availability != before.availability`},
		"6-times.json":         {`mon 09:00-17:30`, `Europe/Berlin`, `90% within 1h30m`, `90% within 24h`, `"paused":true`},
		"7-notifications.json": {`tgram://`, `"kind":"json","url":"https://hooks.example/x"`, `News of {{.Title}}`, `custom`, `discord://`, `pover://user@token`},
		"8-tags":               {`h1, .tagged`, `cookie`, `.ad`, `tag trigger`, `ntfy://push.example/topic?scheme=http`, `Plain-tag`},
		"9-old-tag":            {`"one","two"`, `"A title"`, `markdown`, `90% within 30m`},
		"10-odd":               {`https://shop.example/without-scheme`, `some_new_setting`, `"render":{"compare":"picture"}`},
	}
	all := instances(t)
	if len(all) != 10 {
		t.Errorf("there are %d instances", len(all))
	}
	for name, text := range all {
		entries, err := read(importer.Changedetection, text, importer.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		came, _ := json.Marshal(entries)
		for _, want := range wants[name] {
			if !strings.Contains(string(came), want) {
				t.Errorf("%s: there is no %s in %s", name, want, came)
			}
		}
		for _, e := range entries {
			if e.Err != nil {
				if name != "10-odd" {
					t.Errorf("%s: %v", name, e.Err)
				}
				continue
			}
			s, err := e.Source.Defined()
			if err != nil {
				t.Fatal(err)
			}
			schema := &queries.Schema{}
			schema.Add(s.Recipe)
			if report, err := queries.Check(queries.Query{Name: "a", When: e.When, Trigger: "each"}, schema); e.When != "" && (err != nil || len(report.Warnings) > 0) {
				t.Errorf("%s: the condition %s: %v %v", name, e.When, err, report.Warnings)
			}
			for _, r := range e.Receivers {
				to := sinks.Sink{Name: "a", Kind: r.Sink.Kind, URL: profile.Value(r.Sink.URL), Template: r.Sink.Template}
				if _, err := sinks.Check(sinks.Config{Apprise: "https://apprise.example", CheckURL: func(u string) (string, error) { return u, nil }}, to); err != nil {
					t.Errorf("%s: the receiver %v: %v", name, r.Sink, err)
				}
			}
		}
	}
}
