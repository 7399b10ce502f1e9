package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

func TestStates(t *testing.T) {
	r := newRig(t)
	r.past(map[freshet.SourceID][]string{"a": {"The pump\nprice 10", "The pump\nprice 11", "sold out"}}, "shop")
	r.past(map[freshet.SourceID][]string{"b": {"a pump as well"}}, "news")
	ask := func(query, more string) (table client.StateTable) {
		t.Helper()
		r.do("GET", "/api/v1/states?query="+url.QueryEscape(query)+more, nil).is(200).into(&table)
		return table
	}
	now := ask("text sort text", "")
	if len(now.Items) != 2 || now.Total != 2 || now.Next != nil || now.Sources != 2 || now.Columns[0] != "text" || now.Items[1].Values[0] != "sold out" {
		t.Errorf("now there is %+v", now)
	}
	if row := now.Items[1]; row.Source != "a" || row.Version != 3 || row.SeenAt.Hour() != 14 {
		t.Errorf("the row of a is %+v", row)
	}
	if then := ask("text from a", "&as_of=2026-03-01T13:30:00Z"); len(then.Items) != 1 || then.Items[0].Version != 2 || then.AsOf.Hour() != 13 {
		t.Errorf("at half past one there is %+v", then)
	}
	if before := ask("text", "&as_of=2026-03-01T11:00:00Z"); len(before.Items) != 0 || before.Without != 2 {
		t.Errorf("before the first version there is %+v", before)
	}
	if page := ask("text", "&limit=1"); len(page.Items) != 1 || page.Next == nil || *page.Next != 1 {
		t.Errorf("the first page is %+v", page)
	}
	if of := ask("count()", "&tag=shop"); of.Items[0].Values[0] != 1.0 || of.Items[0].Source != "" {
		t.Errorf("with a tag there is %+v", of)
	}
	if byClient, err := client.New(r.API.URL, http.DefaultClient.Do).States(t.Context(), client.StateQuery{Query: "text from a", AsOf: now.Items[1].SeenAt, Tag: "shop", Limit: 5}); err != nil || byClient.Items[0].Version != 3 {
		t.Errorf("the client has %+v, %v", byClient, err)
	}
	for query, want := range map[string]string{
		"query=" + url.QueryEscape("txt"):                        `"line":1`,
		"query=" + url.QueryEscape("text\n where size(txt) > 3"): `line 2, column 13`,
		"query=" + url.QueryEscape("text join a") + "&tag=news":  `no source has the id or name`,
		"query=text&as_of=then":                                  "query.as_of",
		"query=+":                                                "is empty",
		"":                                                       "required",
		"query=" + strings.Repeat("x", 5000):                     "query",
	} {
		if a := r.do("GET", "/api/v1/states?"+query, nil).is(422); !strings.Contains(string(a.Body), want) {
			t.Errorf("%.50s is refused with %s", query, a.Body)
		}
	}
}
