package release_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"freshet/internal/test/tier"
)

// A schema says what a JSON value may be, in the words of OpenAPI 2 that Kubernetes uses.
type schema struct {
	Ref        string                                  `json:"$ref"`
	Type       string                                  `json:"type"`
	Format     string                                  `json:"format"`
	Required   []string                                `json:"required"`
	Properties map[string]schema                       `json:"properties"`
	Additional *schema                                 `json:"additionalProperties"`
	Items      *schema                                 `json:"items"`
	Kinds      []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// types are what JSON values decode into.
var types = map[string]string{"string": "string", "boolean": "bool", "integer": "uint64", "array": "[]interface {}", "object": "map[string]interface {}"}

// A catalogue has the schemas by their names.
type catalogue map[string]schema

// check returns what is wrong with a value: fields that there are not, or that are missing, and wrong types.
func (c catalogue) check(at string, s schema, value any) (wrong []string) {
	if s.Ref != "" {
		s = c[strings.TrimPrefix(s.Ref, "#/definitions/")]
	}
	if want := types[s.Type]; s.Format != "int-or-string" && want != "" && fmt.Sprintf("%T", value) != want {
		return []string{fmt.Sprintf("%s is a %T, and should be a %s", at, value, want)}
	}
	list, _ := value.([]any)
	for i, item := range list {
		wrong = append(wrong, c.check(fmt.Sprintf("%s[%d]", at, i), *s.Items, item)...)
	}
	object, _ := value.(map[string]any)
	for name, field := range object {
		if property, known := s.Properties[name]; known {
			wrong = append(wrong, c.check(at+"."+name, property, field)...)
		} else if s.Additional != nil {
			wrong = append(wrong, c.check(at+"."+name, *s.Additional, field)...)
		} else if s.Properties != nil {
			wrong = append(wrong, at+" has no field "+name)
		}
	}
	for _, name := range s.Required {
		if object[name] == nil {
			wrong = append(wrong, at+" lacks "+name)
		}
	}
	return wrong
}

// schemas returns those of the version of Kubernetes that helm is built with.
func schemas(t *testing.T) catalogue {
	t.Helper()
	dir := must(t, exec.CommandContext(t.Context(), "go", "-C", "tools", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubectl"))
	var all struct{ Definitions catalogue }
	read(t, filepath.Join(strings.TrimSpace(dir), "testdata/openapi/swagger.json"), &all)
	return all.Definitions
}

// of returns the schema of a manifest. The copy in kubectl has policy/v1beta1 instead of policy/v1, whose fields are the same.
func (c catalogue) of(manifest map[string]any) schema {
	version := strings.Replace(fmt.Sprint(manifest["apiVersion"]), "policy/v1", "policy/v1beta1", 1)
	for s := range maps.Values(c) {
		for _, k := range s.Kinds {
			if strings.TrimPrefix(k.Group+"/"+k.Version, "/") == version && k.Kind == manifest["kind"] {
				return s
			}
		}
	}
	return schema{Required: []string{"a kind of Kubernetes"}}
}

// The chart passes helm lint. What it makes fits the schemas of Kubernetes and runs commands that freshet has.
func TestChart(t *testing.T) {
	tier.Long(t, "it builds helm")
	helm, freshet := filepath.Join(t.TempDir(), "helm"), filepath.Join(t.TempDir(), "freshet")
	must(t, exec.CommandContext(t.Context(), "go", "-C", "tools", "build", "-o", helm, "helm.sh/helm/v4/cmd/helm"))
	must(t, exec.CommandContext(t.Context(), "go", "build", "-o", freshet, "../../cmd/freshet"))
	known := schemas(t)
	for _, tt := range []struct {
		args  []string
		kinds string
	}{
		{[]string{"--set", "settings.budget=7/m"}, "ConfigMap Service Service StatefulSet"},
		{[]string{"--set", "cluster.enabled=true,image.tag=1"}, "ConfigMap Deployment PersistentVolumeClaim PodDisruptionBudget PodDisruptionBudget Service Service StatefulSet"},
	} {
		must(t, exec.CommandContext(t.Context(), helm, append([]string{"lint", "--strict", "../chart"}, tt.args...)...))
		text := must(t, exec.CommandContext(t.Context(), helm, append([]string{"template", "watch", "../chart", "--namespace", "web"}, tt.args...)...))
		var kinds []string
		for part := range bytes.SplitSeq([]byte(text), []byte("\n---\n")) {
			var manifest map[string]any
			if err := yaml.Unmarshal(part, &manifest); err != nil {
				t.Fatalf("%v\n%s", err, part)
			}
			kinds = append(kinds, fmt.Sprint(manifest["kind"]))
			for _, wrong := range known.check(kinds[len(kinds)-1], known.of(manifest), manifest) {
				t.Error(wrong)
			}
			for _, args := range containers(t, manifest) {
				must(t, exec.CommandContext(t.Context(), freshet, append(args, "--help")...))
			}
		}
		if slices.Sort(kinds); strings.Join(kinds, " ") != tt.kinds {
			t.Errorf("%v makes %v, want %s", tt.args, kinds, tt.kinds)
		}
	}
}

// containers returns the arguments of the containers of a manifest.
func containers(t *testing.T, manifest map[string]any) (all [][]string) {
	t.Helper()
	var pods struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &pods); err != nil {
		return nil // it has no pods
	}
	for _, c := range pods.Spec.Template.Spec.Containers {
		all = append(all, c.Args)
	}
	return all
}
