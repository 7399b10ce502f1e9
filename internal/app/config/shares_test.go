package config_test

import (
	"reflect"
	"strings"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/sched"
)

func TestShares(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want []sched.Share
		err  string // a part of it
	}{
		"both":           {file: "shares: [{tag: news, min: 10%, max: 40%}]", want: []sched.Share{{Tag: "news", Min: 0.1, Max: 0.4}}},
		"two":            {file: "shares: [{tag: news, min: 0.6}, {tag: shop, min: 40%}]", want: []sched.Share{{Tag: "news", Min: 0.6}, {Tag: "shop", Min: 0.4}}},
		"no tag":         {file: "shares: [{min: 10%}]", err: "has no tag"},
		"neither":        {file: "shares: [{tag: news}]", err: "has neither min nor max"},
		"wrong way":      {file: "shares: [{tag: news, min: 40%, max: 10%}]", err: "has a max of 10%, below its min of 40%"},
		"too much":       {file: "shares: [{tag: news, min: 60%}, {tag: shop, min: 50%}]", err: "to 110%"},
		"twice":          {file: "shares: [{tag: news, max: 60%}, {tag: news, max: 50%}]", err: "already"},
		"no share":       {file: "shares: [{tag: news, max: much}]", err: "is not a share"},
		"an unknown key": {file: "shares: [{tag: news, most: 10%}]", err: "most"},
	} {
		t.Run(name, func(t *testing.T) {
			in := config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
			s, err := config.LoadText(in, tt.file)
			switch {
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("the file is read with the error %v, want one with %q", err, tt.err)
			case tt.err == "" && err != nil:
				t.Error(err)
			case tt.err == "" && !reflect.DeepEqual(s.Limits.Shares, tt.want):
				t.Errorf("the shares are %v, want %v", s.Limits.Shares, tt.want)
			}
		})
	}
}
