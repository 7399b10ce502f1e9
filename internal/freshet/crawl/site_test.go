package crawl_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

// settings draws what can be said of a site and of its pages.
func settings() *rapid.Generator[freshet.Source] {
	return rapid.Custom(func(t *rapid.T) freshet.Source {
		return freshet.Source{
			Name:   rapid.SampledFrom([]string{"", "Docs", "Guide"}).Draw(t, "name"),
			Tags:   rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "tags"),
			Recipe: reading.Recipe{CSS: rapid.SampledFrom([]string{"", "main", "#x"}).Draw(t, "css")},
			Noise:  rapid.SampledFrom([]freshet.NoiseSetting{"", freshet.NoiseAuto, freshet.NoiseOff}).Draw(t, "noise"),
			Weight: rapid.SampledFrom([]float64{0, 2, 0.5}).Draw(t, "weight"),
			Paused: rapid.Bool().Draw(t, "paused"),
			MinGap: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "min_gap"),
			Keep:   freshet.Keep{Versions: rapid.SampledFrom([]int{0, 3}).Draw(t, "keep.versions"), Age: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "keep.age")},
		}
	})
}

// What is said of a page is kept apart from what its site says, and comes out as it
// was, also where the page has the default and the site has not.
func TestPageOverItsSite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site, page := settings().Draw(t, "site"), settings().Draw(t, "page")
		site.ID, site.URL, site.Site = "docs", "https://docs.example/", &crawl.Settings{Limit: 20}
		page.ID, page.URL, page.Of, page.Origin = "docs.1", "https://docs.example/a", "docs", freshet.FromSite
		got, err := freshet.ParseDefinitionOver(site, page.ID, page.URL, page.DefinitionOver(site))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, page) {
			t.Errorf("a page comes back as\n%+v\nwant\n%+v", got, page)
		}
	})
}

// A page of which nothing is said has what its site says, and its definition is short.
func TestPageInherits(t *testing.T) {
	site := freshet.Source{ID: "docs", URL: "https://docs.example/", Name: "Docs", Weight: 3, Site: &crawl.Settings{Match: []string{"/guide/**"}}}
	page := site.Page("docs.1", "https://docs.example/a")
	if page.Weight != 3 || page.Of != "docs" || page.Site != nil || page.Name != "" {
		t.Errorf("the page of a site is %+v", page)
	}
	if got, want := string(page.DefinitionOver(site)), `{"of":"docs"}`; got != want {
		t.Errorf("its definition is %s, want %s", got, want)
	}
}

// A site of which nothing is said is kept as one, too.
func TestDefaultSiteIsKept(t *testing.T) {
	for _, definition := range []string{
		`{"site":true,"url":"https://docs.example/"}`,
		`{"site":{"limit":20,"match":["/guide/**"],"share":"30%"},"url":"https://docs.example/"}`,
	} {
		s, err := freshet.ParseDefinition([]byte(definition))
		if err != nil {
			t.Fatal(err)
		}
		if s.Site == nil {
			t.Errorf("%s is no site", definition)
		}
		if got := string(s.Definition()); got != definition {
			t.Errorf("it is kept as %s, want %s", got, definition)
		}
	}
	for _, wrong := range []string{`{"site":{"limt":20}}`, `{"site":"yes"}`, `{"site":{"share":"130%"}}`} {
		if _, err := freshet.ParseDefinition([]byte(wrong)); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestCheckSite(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		site crawl.Settings
		want string // the field; "" means that it is fine
	}{
		"all defaults":      {"https://docs.example/", crawl.Settings{}, ""},
		"too many pages":    {"https://docs.example/", crawl.Settings{Limit: crawl.MaxPages + 1}, "site.limit"},
		"less than no page": {"https://docs.example/", crawl.Settings{Limit: -1}, "site.limit"},
		"too deep":          {"https://docs.example/", crawl.Settings{Depth: 101}, "site.depth"},
		"unknown way":       {"https://docs.example/", crawl.Settings{Find: []crawl.FoundBy{"guessing"}}, "site.find"},
		"no web":            {"dns:example.com", crawl.Settings{}, "site"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := freshet.Source{URL: tt.url, Site: &tt.site}.Check()
			invalid, _ := err.(*invalid.Error)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (invalid == nil || invalid.Field != tt.want):
				t.Errorf("the check says %v, want something about %s", err, tt.want)
			}
		})
	}
}
