package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"freshet/client"
)

// In a page from which somebody chooses, one script of ours runs, which the policy knows by
// its hash. Its elements have the numbers of the outline, and nothing captured has one.
func TestPick(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/html", `<body><script>evil()</script><p id=a data-freshet="3" data-freshet-lit onclick="evil()">One</p><div class=b><a href="javascript:evil()">Two</a> and three</div><svg onload=evil()></svg></body>`)
	r.add("page", "/page")
	r.poll("page")
	got := r.do("GET", "/api/v1/sources/page/versions/latest/rendered?pick=true", nil).is(200)
	page := string(got.Body)
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 1 || strings.Contains(page, "evil") {
		t.Fatalf("the page has %d scripts:\n%s", len(scripts), page)
	}
	sum := sha256.Sum256([]byte(scripts[0][1]))
	policy := got.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';", "frame-ancestors 'self'", "sandbox allow-scripts"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %s", policy, want)
		}
	}
	if strings.Contains(policy, "allow-same-origin") || strings.Contains(strings.Split(policy, "style-src")[0], "unsafe") {
		t.Errorf("the policy %q lets more run", policy)
	}
	var outline client.Outline
	r.do("GET", "/api/v1/sources/page/versions/latest/outline", nil).is(200).into(&outline)
	numbered := regexp.MustCompile(`<(\w+)[^>]* data-freshet="(\d+)"`).FindAllStringSubmatch(page, -1)
	if len(numbered) != len(outline.Items) || len(numbered) < 3 || strings.Contains(page, "data-freshet-lit=") {
		t.Fatalf("%d elements are numbered, and %d listed:\n%s", len(numbered), len(outline.Items), page)
	}
	if plain := r.do("GET", "/api/v1/sources/page/versions/latest/rendered", nil).is(200); strings.Contains(string(plain.Body), "<script") || strings.Contains(plain.Header.Get("Content-Security-Policy"), "allow-scripts") {
		t.Error("a page from which nobody chooses has a script")
	}
}
