package extract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
)

// stepOf reads a step as it stands in a file.
func stepOf(t testing.TB, text string) (s reading.Step) {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// chainOf reads a list of steps as it stands in a file.
func chainOf(t testing.TB, text string) (steps []reading.Step) {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(b, &steps)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return steps
}

// response guesses the type of a body by its look.
func response(body string) freshet.Response { return freshet.Response{Body: []byte(body)} }

// Every step does what its example says.
func TestStepExamples(t *testing.T) {
	for _, k := range extract.Steps() {
		t.Run(k.Name, func(t *testing.T) {
			s := stepOf(t, k.Example)
			if s.Name != k.Name {
				t.Errorf("the example of %s is one of %s", k.Name, s.Name)
			}
			if k.Help == "" || k.Takes == "" || k.Gives == "" {
				t.Errorf("%s lacks help", k.Name)
			}
			if k.Input == "" {
				if err := extract.Check(reading.Recipe{Read: []reading.Step{s}}); err != nil {
					t.Error(err)
				}
				return
			}
			rd, err := extract.Extract(reading.Recipe{Read: []reading.Step{s}}, response(k.Input))
			if err != nil || string(rd.Text) != k.Output {
				t.Errorf("%s makes %q (%v), want %q", k.Example, rd.Text, err, k.Output)
			}
		})
	}
}

const shop = `<html><head><title>Shop</title></head><body><nav>Home</nav>
<ul id="list"><li id="a"><a href="/a">Alpha</a><span class="price">1.234,56 €</span></li><li><a href="/b">Beta</a><span class="price">12 €</span></li></ul>
<script type="application/ld+json">{"offers":{"price":"19.99","list":["x","y"]}}</script>
<table><thead><tr><th>Name</th><th>Qty</th></tr></thead><tbody><tr><td>one</td><td>1</td></tr><tr><td>two</td><td>2</td></tr></tbody></table>
<p>Updated 2026-03-12 10:00:01 by 8f14e45fceea167a5a36dedd4bea2543</p></body></html>`

const feedXML = `<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>F</title>` +
	`<item><title>One</title><link>http://a.example/1</link><pubDate>Sun, 01 Mar 2026 00:00:00 GMT</pubDate><dc:creator>Ann</dc:creator></item>` +
	`<item><title>Two</title><link>http://a.example/2</link><guid>g2</guid></item></channel></rss>`

func TestChains(t *testing.T) {
	for _, tt := range []struct{ name, chain, body, want string }{
		{"css then css", `[{css: "#list"}, {css: a}]`, shop, "Alpha\nBeta\n"},
		{"css of an attribute", `[{css: "a@href"}]`, shop, "/a\n/b\n"},
		{"xpath of elements", `[{xpath: "//li[2]"}]`, shop, "- Beta12 €\n"},
		{"xpath of texts", `[{xpath: "//span/text()"}]`, shop, "1.234,56 €\n12 €\n"},
		{"xpath of a number", `[{xpath: "count(//li)"}]`, shop, "2\n"},
		{"xpath of a truth", `[{xpath: "count(//li) = 2"}]`, shop, "true\n"},
		{"xpath of a text", `[{xpath: "string(//title)"}]`, shop, "Shop\n"},
		{"xpath within", `[{css: "#list"}, {xpath: ".//a"}]`, shop, "Alpha\nBeta\n"},
		{"xpath on a feed", `[{xpath: "//item/title"}]`, feedXML, "One\nTwo\n"},
		{"xpath with a prefix", `[{xpath: "//dc:creator"}]`, feedXML, "Ann\n"},
		{"xpath keeps the case of XML", `[{xpath: "//pubDate"}]`, feedXML, "Sun, 01 Mar 2026 00:00:00 GMT\n"},
		{"css on a feed", `[{css: "item > pubDate"}]`, feedXML, "Sun, 01 Mar 2026 00:00:00 GMT\n"},
		{"css then xpath on a feed", `[{css: "item:first-of-type"}, {xpath: "./pubDate"}]`, feedXML, "Sun, 01 Mar 2026 00:00:00 GMT\n"},
		{"JSON in a page", `[{css: 'script[type="application/ld+json"]'}, {jq: .offers.price}]`, shop, "19.99\n"},
		{"JSON in a page by path", `[{css: script}, {jsonpath: "$.offers.list[*]"}]`, shop, "x\ny\n"},
		{"drop by css and xpath", `[{drop: [nav, script, table, //p]}, {css: body}]`, shop, "- Alpha1.234,56 €\n- Beta12 €\n"},
		{"drop with keys", `[{drop: {css: [nav, ul, script, table], xpath: //title}}, text]`, shop, "Updated 2026-03-12 10:00:01 by 8f14e45fceea167a5a36dedd4bea2543\n"},
		{"mask", `[{css: p}, {mask: [dates, hashes]}]`, shop, "Updated [date] by [hash]\n"},
		{"mask numbers", `[{css: li}, {mask: numbers}]`, shop, "- Alpha[number] €\n- Beta[number] €\n"},
		{"mask a pattern", `[{css: li}, {mask: {pattern: 'Al\w+', with: X}}]`, shop, "- X.234,56 €\n- Beta12 €\n"},
		{"regex whole", `[{regex: '[A-Z]\w+a'}]`, "Alpha Beta\n", "Alpha\nBeta\n"},
		{"regex with a chosen group", `[{regex: {pattern: '(\w)(\w+)', group: 2}}]`, "ab cd\n", "b\nd\n"},
		{"regex with several groups", `[{regex: '(\w)(\w+)'}]`, "ab cd\n", "a b\nc d\n"},
		{"regex with names", `[{regex: '(?P<name>\w+)=(?P<value>\d+)'}]`, "a=1 b=2\n", "name | value\na | 1\nb | 2\n"},
		{"replace several", `[{replace: [{pattern: a, with: b}, {pattern: 'b+', with: c}]}]`, "aab\n", "c\n"},
		{"lines between", `[{lines: {between: [begin, end]}}]`, "x\nbegin\n1\n2\nend\ny\n", "1\n2\n"},
		{"lines in words", `[{lines: [trim, unique, sort, reverse]}]`, " b\nb\n\na\n", "b\na\n"},
		{"lines head and tail", `[{lines: {head: 3, tail: 2}}]`, "1\n2\n3\n4\n", "2\n3\n"},
		{"lines drop", `[{lines: {drop: ['^#', '^$']}}]`, "# c\na\n\nb\n", "a\nb\n"},
		{"table of a page", `[table]`, shop, "Name | Qty\none | 1\ntwo | 2\n"},
		{"table then jq", `[table, {jq: '.[] | select(.Name == "two") | .Qty'}]`, shop, "2\n"},
		{"jq of CSV", `[table, {jq: '.[0].qty'}]`, "name;qty\none;1\ntwo;2\n", "1\n"},
		{"jq of a feed", `[{jq: '.[].title'}]`, feedXML, "One\nTwo\n"},
		{"table of CSV", `[table]`, "name;qty\none;1\ntwo;2\n", "name | qty\none | 1\ntwo | 2\n"},
		{"table without a header", `[{table: {header: false}}]`, "name,qty\none,1\n", "name | qty\none | 1\n"},
		{"pretty JSON", `[pretty]`, `{"b":1,"a":[1]}`, "{\n  \"a\": [\n    1\n  ],\n  \"b\": 1\n}\n"},
		{"pretty YAML", `[{pretty: yaml}]`, "b: 1\na: [x, y]\n", "a:\n  - x\n  - \"y\"\nb: 1\n"},
		{"pretty HTML", `[{css: "li:first-child"}, {pretty: html}]`, shop, "<li id=\"a\">\n  <a href=\"/a\">Alpha</a>\n  <span class=\"price\">1.234,56 €</span>\n</li>\n"},
		{"decode a token", `[{decode: jwt}, {jq: .claims.sub}]`, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "1234\n"},
		{"decode URL", `[{decode: url}]`, "a%20b+c", "a b c\n"},
		{"decode HTML", `[{decode: html}]`, "a &amp; b\n", "a & b\n"},
		{"decode base64 to a page", `[{decode: base64}, {css: b}]`, "PGI+aGk8L2I+", "hi\n"},
		{"jq of several documents", `[{jq: .a}]`, "{\"a\":1}\n{\"a\":2}\n", "1\n2\n"},
		{"jq keeps large numbers", `[{jq: .a}]`, `{"a": 12345678901234567890}`, "12345678901234567890\n"},
		{"HTML in JSON", `[{jq: .body}, {css: b}]`, `{"body": "<p><b>hi</b></p>"}`, "hi\n"},
		{"markdown of a part", `[{css: "#list"}, markdown]`, shop, "- [Alpha](/a)1.234,56 €\n- [Beta](/b)12 €\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rd, err := extract.Extract(reading.Recipe{Read: chainOf(t, tt.chain)}, response(tt.body))
			if err != nil || string(rd.Text) != tt.want {
				t.Errorf("%s makes %q (%v), want %q", tt.chain, rd.Text, err, tt.want)
			}
			checkText(t, rd.Text)
		})
	}
}

// What is wrong with a chain is said with its place.
func TestBadChains(t *testing.T) {
	for chain, want := range map[string]string{
		`[text, {csss: p}]`:               `read[1]: unknown step "csss" (did you mean "css"?)`,
		`[{css: "p["}]`:                   `read[0].css: `,
		`[css]`:                           `read[0].css: needs something to go by`,
		`[{xpath: "//p["}]`:               `read[0].xpath: `,
		`[{xpath: "doc('/etc/passwd')"}]`: `read[0].xpath: `,
		`[{xpath: "unparsed-text('/etc/passwd')"}]`: `read[0].xpath: `,
		`[{jq: ".a["}]`:                      `read[0].jq: unexpected`,
		`[{jq: "env"}]`:                      `read[0].jq: env is not allowed`,
		`[{jq: ".a | $ENV.HOME"}]`:           `read[0].jq: $ENV is not allowed`,
		`[{jq: "[inputs]"}]`:                 `read[0].jq: inputs is not allowed`,
		`[{jq: "{a: (.b | debug)}"}]`:        `read[0].jq: debug is not allowed`,
		`[{jq: 'def f: input; f'}]`:          `read[0].jq: input is not allowed`,
		`[{jq: '"\(now)"'}]`:                 `read[0].jq: now is not allowed`,
		`[{jq: 'include "a"; .'}]`:           `read[0].jq: import and include are not allowed`,
		`[{jsonpath: "$["}]`:                 `read[0].jsonpath: `,
		`[{regex: "("}]`:                     `read[0].regex: missing closing )`,
		`[{regex: '(?=a)'}]`:                 `which RE2 does not have`,
		`[text, text, {lines: {keep: "("}}]`: `read[2].lines.keep: missing closing )`,
		`[{lines: {kep: a}}]`:                `read[0].lines: unknown key "kep" (did you mean "keep"?)`,
		`[{lines: {head: x}}]`:               `read[0].lines.head: cannot be a string`,
		`[{lines: shuffle}]`:                 `read[0].lines: "shuffle" is not one of`,
		`[{mask: colours}]`:                  `read[0].mask: "colours" is not one of`,
		`[{pretty: toml}]`:                   `read[0].pretty: "toml" is not one of`,
		`[{decode: rot13}]`:                  `read[0].decode: "rot13" is not one of`,
		`[{text: x}]`:                        `read[0].text: takes nothing`,
		`[{replace: {pattern: a, wiht: b}}]`: `read[0].replace: unknown key "wiht" (did you mean "with"?)`,
		`[{regex: {pattern: a, group: 2}}]`:  `read[0].regex.group: the pattern has no group 2`,
		`[{table: {delimiter: abc}}]`:        `read[0].table.delimiter: `,
		`[drop]`:                             `read[0].drop: needs something to go by`,
	} {
		err := extract.Check(reading.Recipe{Read: chainOf(t, chain)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "read[") {
			t.Errorf("%s: %v, want %q", chain, err, want)
		}
	}
	if err := extract.Check(reading.Recipe{CSS: "p", Read: chainOf(t, "[text]")}); err == nil || !strings.Contains(err.Error(), "use select or read, not both") {
		t.Errorf("a selector beside steps: %v", err)
	}
}

// A step that fails says which it was and what to do.
func TestFailedSteps(t *testing.T) {
	for _, tt := range []struct {
		chain, body string
		class       failure.Class
		want        string
	}{
		{`[{css: "#list"}, {css: .none}]`, shop, extract.FailSelector, `read[1].css: nothing on the page matches the selector ".none"`},
		{`[{xpath: //none}]`, shop, extract.FailSelector, `read[0].xpath: nothing on the page matches the path "//none"`},
		{`[{css: p}]`, `{"a": 1}`, extract.FailParse, `read[0].css: this step needs a page, but the response is JSON`},
		{`[{jq: .a}]`, shop, extract.FailParse, `read[0].jq: not a JSON document`},
		{`[{jq: ".a.b"}]`, `{"a": 1}`, extract.FailParse, `read[0].jq: ".a.b": expected an object`},
		{`[{jq: empty}]`, `{"a": 1}`, extract.FailSelector, `read[0].jq: the program "empty" gives nothing`},
		{`[{jsonpath: $.b}]`, `{"a": 1}`, extract.FailSelector, `read[0].jsonpath: nothing in the document matches the path "$.b"`},
		{`[{regex: zz}]`, "text\n", extract.FailSelector, `read[0].regex: nothing matches the pattern "zz"`},
		{`[table]`, "<p>no table</p>", extract.FailSelector, `read[0].table: there is no table on the page`},
		{`[{table: 3}]`, shop, extract.FailSelector, `read[0].table: there are 1 tables on the page, but table 3 is wanted`},
		{`[pdf]`, "text", extract.FailParse, `read[0].pdf: not a PDF file`},
		{`[ical]`, "text", extract.FailParse, `read[0].ical: not a calendar`},
		{`[xlsx]`, "text", extract.FailParse, `read[0].xlsx: not a workbook`},
		{`[{decode: base64}]`, "***", extract.FailParse, `read[0].decode: not base64`},
		{`[{decode: jwt}]`, "a.b", extract.FailParse, `read[0].decode: not a JSON Web Token: it has 2 parts, not 3`},
		{`[table, {css: p}]`, shop, extract.FailParse, `read[1].css: this step needs a page, but the step before gives items`},
	} {
		_, err := extract.Extract(reading.Recipe{Read: chainOf(t, tt.chain)}, response(tt.body))
		if err == nil || !strings.Contains(err.Error(), tt.want) || classOf(err) != tt.class {
			t.Errorf("%s: %v (%s), want %s of class %s", tt.chain, err, classOf(err), tt.want, tt.class)
		}
	}
}
