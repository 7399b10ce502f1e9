package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// contrib reads the documents of a YAML file in contrib.
func contrib(t *testing.T, name string) (documents []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../contrib", name))
	if err != nil {
		t.Fatal(err)
	}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var document map[string]any
		if err := yaml.Unmarshal(part, &document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		documents = append(documents, document)
	}
	return documents
}

// commands returns every list under the key command, wherever it is.
func commands(in any) (found [][]string) {
	switch in := in.(type) {
	case map[string]any:
		for key, value := range in {
			list, isList := value.([]any)
			if key != "command" || !isList {
				found = append(found, commands(value)...)
				continue
			}
			var words []string
			for _, word := range list {
				text, _ := word.(string)
				words = append(words, text)
			}
			found = append(found, words)
		}
	case []any:
		for _, value := range in {
			found = append(found, commands(value)...)
		}
	}
	return found
}

// What the files for containers run is a command that there is, with flags that
// it takes.
func TestContribCommands(t *testing.T) {
	for _, tt := range []struct {
		file string
		want int
	}{{"container/compose.yaml", 1}, {"container/compose-cluster.yaml", 4}} {
		count := 0
		for _, document := range contrib(t, tt.file) {
			for _, words := range commands(document) {
				if words[0] == "postgres" {
					continue
				}
				count++
				p := &program{env: func(string) string { return "" }}
				cmd, rest, err := p.root().Find(words)
				if err != nil || !cmd.HasParent() {
					t.Errorf("%s: %q is no command: %v", tt.file, words, err)
					continue
				}
				if err := cmd.ParseFlags(rest); err != nil {
					t.Errorf("%s: %v: %v", tt.file, words, err)
				}
				if left := cmd.Flags().Args(); len(left) > 0 {
					t.Errorf("%s: of %q %q is no flag", tt.file, words, left)
				}
			}
		}
		if count != tt.want {
			t.Errorf("%s runs freshet %d times, want %d", tt.file, count, tt.want)
		}
	}
}

// The probes ask for what the API has.
func TestContribProbes(t *testing.T) {
	rules, err := os.ReadFile("../../internal/api/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("../../contrib/chart/templates/node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	probes := regexp.MustCompile(`httpGet: \{path: (\S+),`).FindAllSubmatch(manifest, -1)
	if len(probes) != 3 {
		t.Errorf("there are %d probes", len(probes))
	}
	for _, probe := range probes {
		if !bytes.Contains(rules, []byte(`"GET `+string(probe[1])+`"`)) {
			t.Errorf("there is no GET %s", probe[1])
		}
	}
}

// Every metric of the alerts is one that the daemon tells.
func TestContribAlerts(t *testing.T) {
	var told strings.Builder
	sources, err := filepath.Glob("../../internal/api/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		told.Write(text)
	}
	metric := regexp.MustCompile(`freshet_[a-z_]+`)
	alerts, used := 0, map[string]bool{}
	for _, group := range contrib(t, "prometheus/alerts.yaml")[0]["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			rule := rule.(map[string]any)
			alerts++
			expr, _ := rule["expr"].(string)
			names := metric.FindAllString(expr, -1)
			if len(names) == 0 || rule["alert"] == nil || rule["annotations"] == nil || rule["labels"] == nil {
				t.Errorf("the rule %v is not whole", rule)
			}
			for _, name := range names {
				used[name] = true
				if !strings.Contains(told.String(), `"`+name+`"`) {
					t.Errorf("%v: no metric is called %s", rule["alert"], name)
				}
			}
		}
	}
	if alerts < 8 {
		t.Errorf("there are %d alerts", alerts)
	}
	// Processes can be there and do nothing: alerts are on what is done, too.
	for _, name := range []string{"freshet_polls_total", "freshet_store_wait_seconds", "freshet_cluster_brain", "freshet_ready"} {
		if !used[name] {
			t.Errorf("no alert looks at %s", name)
		}
	}
}
