package config_test

import (
	"reflect"
	"strings"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

func TestAims(t *testing.T) {
	for _, tt := range []struct {
		name, text, err string
		want            []freshet.TagLevel
	}{
		{"none", "levels:\n  - {tag: news, level: 90% within 10m}\n", "", []freshet.TagLevel{{Tag: "news", Level: objective.ServiceLevel{Share: 0.9, Within: 10 * 60e9}}}},
		{"by tag and overall", "aim: age\nlevels:\n  - {tag: news, aim: freshness}\n", "",
			[]freshet.TagLevel{{Tag: "news", Aim: objective.Freshness}, {Aim: objective.Age}}},
		{"unknown", "aim: speed\n", `"speed" is not an aim`, nil},
		{"unknown by tag", "levels:\n  - {tag: news, aim: speed}\n", `"speed" is not an aim`, nil},
		{"neither", "levels:\n  - {tag: news}\n", "has no level", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
			s, err := config.LoadText(in, tt.text)
			switch {
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("the error is %v, want %q", err, tt.err)
			case tt.err == "" && err != nil:
				t.Error(err)
			case tt.err == "" && !reflect.DeepEqual(s.Wanted(), tt.want):
				t.Errorf("%+v is wanted, want %+v", s.Wanted(), tt.want)
			}
		})
	}
}
