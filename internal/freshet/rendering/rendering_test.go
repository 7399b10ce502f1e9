package rendering_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
)

func TestRenderIsReadAsItIsWritten(t *testing.T) {
	tests := []struct{ said, kept, bad string }{
		{said: `true`, kept: `true`},
		{said: `false`},
		{said: `{}`, kept: `true`},
		{said: `{"wait_for": ".price", "wait": "5s", "consent": "accept", "screenshot": true, "viewport": "1280x800"}`,
			kept: `{"consent":"accept","screenshot":true,"viewport":"1280x800","wait":"5s","wait_for":".price"}`},
		{said: `{"steps": ["click #a b", {"fill": {"#q": "a = b"}}, {"click": "#go"}, "scroll", {"wait": "2s"}, "wait .x"]}`,
			kept: `{"steps":["click #a b","fill #q = a = b","click #go","scroll","wait 2s","wait .x"]}`},
		{said: `{"compare": "picture", "region": "#map", "ignore": [".ad", "300x250+10+20"], "threshold": "1%"}`,
			kept: `{"compare":"picture","ignore":[".ad","300x250+10+20"],"region":"#map","threshold":"1%"}`},
		{said: `{"compare": "text"}`, kept: `true`},
		{said: `{"compare": "movie"}`, bad: "is not text or picture"},
		{said: `{"region": "#map"}`, bad: "need compare: picture"},
		{said: `{"compare": "picture", "ignore": ["300x250"]}`, bad: "neither a CSS selector nor a rectangle"},
		{said: `{"compare": "picture", "ignore": ["99999x250+0+0"]}`, bad: "neither a CSS selector nor a rectangle"},
		{said: `{"compare": "picture", "threshold": "100%"}`, bad: "is not a share below"},
		{said: `{"compare": "picture", "threshold": "some"}`, bad: "threshold"},
		{said: `"yes"`, bad: "is true, false or keys"},
		{said: `{"wait_fro": "x"}`, bad: `unknown key "wait_fro"`},
		{said: `{"steps": ["dance"]}`, bad: "is not a step"},
		{said: `{"steps": ["click"]}`, bad: "needs a CSS selector"},
		{said: `{"steps": ["fill #q"]}`, bad: "nothing to fill in"},
		{said: `{"viewport": "9x9"}`, bad: "is not a size"},
		{said: `{"wait": "2h"}`, bad: "too long"},
		{said: `{"consent": "maybe"}`, bad: "is not accept or reject"},
	}
	for _, tt := range tests {
		s, err := freshet.ParseDefinition([]byte(`{"url": "https://a.example/", "render": ` + tt.said + `}`))
		if err == nil {
			_, err = s.Check()
		}
		if tt.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%s: the error is %v, want %q", tt.said, err, tt.bad)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.said, err)
			continue
		}
		var kept struct{ Render json.RawMessage }
		if err := json.Unmarshal(s.Definition(), &kept); err != nil || string(kept.Render) != tt.kept {
			t.Errorf("%s is kept as %s, want %s: %v", tt.said, kept.Render, tt.kept, err)
		}
		again, err := freshet.ParseDefinition(s.Definition())
		if err != nil || again.Recipe.Key() != s.Recipe.Key() || !slices.Equal(again.Recipe.Render.Steps, s.Recipe.Render.Steps) {
			t.Errorf("%s becomes %+v when it is read again: %v", tt.said, again.Recipe.Render, err)
		}
	}
}

// TestRenderIsAnotherReading wants a page that is rendered not to be compared with what
// was fetched without, and a picture to make no difference.
func TestRenderIsAnotherReading(t *testing.T) {
	plain, shown := reading.Recipe{}, reading.Recipe{Render: rendering.Settings{On: true}}
	waits, pictured := shown, shown
	waits.Render.Wait, pictured.Render.Screenshot = time.Second, true
	compared, tolerant, region := shown, shown, shown
	compared.Render.Compare, tolerant.Render.Compare, region.Render.Compare = "picture", "picture", "picture"
	tolerant.Render.Threshold, region.Render.Region = 0.5, "#map"
	if compared.Key() == shown.Key() || compared.Key() != tolerant.Key() || compared.Key() == region.Key() {
		t.Errorf("the keys of pictures are %s, %s, %s", compared.Key(), tolerant.Key(), region.Key())
	}
	if plain.Key() == shown.Key() || shown.Key() == waits.Key() || shown.Key() != pictured.Key() {
		t.Errorf("the keys are %s, %s, %s, %s", plain.Key(), shown.Key(), waits.Key(), pictured.Key())
	}
}

func TestPriceOfARenderedPage(t *testing.T) {
	plain, shown := freshet.Source{}, freshet.Source{Recipe: reading.Recipe{Render: rendering.Settings{On: true}}}
	said := shown
	said.Cost = 3
	for _, tt := range []struct {
		source freshet.Source
		want   float64
	}{{plain, 1}, {shown, 40}, {said, 3}} {
		if got := tt.source.PriceAt(40); got != tt.want {
			t.Errorf("a poll of 40 requests costs %v, want %v", got, tt.want)
		}
	}
}
