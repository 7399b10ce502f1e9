package config_test

import (
	"strings"
	"testing"

	"freshet/internal/app/config"
)

func TestStrategies(t *testing.T) {
	for name, tt := range map[string]struct{ file, want, err string }{
		"one":          {file: "strategies:\n  - tag: news\n    strategy: hour {5, 35}\n", want: "news: hour {5, 35}\n"},
		"two":          {file: "strategies:\n  - {tag: news, strategy: 'hour {5}'}\n  - tag: shop\n    strategy: week {mon 09:00} Europe/Berlin\n", want: "news: hour {5}\nshop: week {mon 09:00} Europe/Berlin\n"},
		"no tag":       {file: "strategies:\n  - strategy: hour {5}\n", err: "has no tag"},
		"no strategy":  {file: "strategies: [{tag: news}]", err: "has no strategy"},
		"twice":        {file: "strategies: [{tag: news, strategy: 'hour {5}'}, {tag: news, strategy: 'hour {6}'}]", err: "already"},
		"past 59":      {file: "strategies:\n  - tag: news\n    strategy: hour {5, 75}\n", err: "hour {5, 75}: minute 75 is past 59"},
		"of a source":  {file: "sources:\n  - url: https://a.example/\n    strategy: hour {5, 75}\n", err: "minute 75 is past 59"},
		"with max_gap": {file: "sources:\n  - url: https://a.example/\n    max_gap: 1h\n    strategy: hour {5}\n", err: "cannot be used together with max_gap"},
	} {
		t.Run(name, func(t *testing.T) {
			in := config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
			s, err := config.LoadText(in, tt.file)
			got := ""
			for _, one := range s.Strategies {
				got += one.Tag + ": " + one.Strategy.String() + "\n"
			}
			switch {
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("the file is read with the error %v, want one with %q", err, tt.err)
			case tt.err == "" && err != nil:
				t.Error(err)
			case tt.err == "" && got != tt.want:
				t.Errorf("the strategies are\n%swant\n%s", got, tt.want)
			}
		})
	}
}
