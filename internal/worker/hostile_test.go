package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/fetch"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

const childMode = "read-for-a-test"

// TestMain lets the test binary be the child process that applies selectors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		if err := extract.Serve(os.Stdin, os.Stdout, 256<<20); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A beast is a page that does harm when it is read or compared.
type beast struct {
	media  string
	body   func() string // as it is sent; again for each look
	recipe reading.Recipe
	want   freshet.Result
	fails  failure.Class  // "" if it can be read
	again  freshet.Result // of a second look; Failed too if the first one fails
}

// constant is a body that is always the same.
func constant(body string) func() string { return func() string { return body } }

// turns are bodies that take turns.
func turns(bodies ...string) func() string {
	n := -1
	return func() string {
		n++
		return bodies[n%len(bodies)]
	}
}

// herd are the pages that are read and compared, by the id of their case. What a fetch
// alone shows is in package fetch.
func herd() map[string]beast {
	const html, feed, js = "text/html; charset=utf-8", "application/rss+xml", "application/json"
	first, changed, unchanged, failed := freshet.First, freshet.Changed, freshet.Unchanged, freshet.Failed
	wide := constant(strings.Repeat("<div><i>x</i></div>", 40_000))
	nonce := 0
	return map[string]beast{
		"parse-html_deep":        {html, constant(strings.Repeat("<div>", 200_000) + "bottom"), reading.Recipe{}, first, "", unchanged},
		"parse-html_adoption":    {html, constant(strings.Repeat("<b><p>", 20_000) + "bottom"), reading.Recipe{CSS: "p"}, first, "", unchanged},
		"parse-html_attrs":       {html, constant("<p" + strings.Repeat(" a", 1_000_000) + ">bottom"), reading.Recipe{CSS: "p"}, failed, extract.FailLimit, failed},
		"parse-html_text_50MB":   {html, turns(strings.Repeat("0123456789abcde ", 7<<16), strings.Repeat("another text... ", 7<<16)), reading.Recipe{}, first, "", changed},
		"parse-xml_deep":         {feed, constant("<rss><channel>" + strings.Repeat("<a>", 1_000_000)), reading.Recipe{}, failed, extract.FailLimit, failed},
		"parse-json_wide":        {js, constant("[" + strings.Repeat("0,", 3_000_000) + "0]"), reading.Recipe{}, failed, extract.FailLimit, failed},
		"parse-json_number":      {js, constant("[1e999999999, " + strings.Repeat("9", 1<<20) + "]"), reading.Recipe{}, first, "", unchanged},
		"parse-feed_1M_items":    {feed, constant(`<rss version="2.0"><channel>` + strings.Repeat("<item><title>i</title></item>", 250_000) + "</channel></rss>"), reading.Recipe{}, first, "", unchanged},
		"parse-feed_date_future": {feed, constant(`<rss version="2.0"><channel><item><title>a</title><pubDate>Thu, 01 Jan 2099 00:00:00 GMT</pubDate></item></channel></rss>`), reading.Recipe{}, first, "", unchanged},
		"parse-zip_bomb":         {"application/zip", constant("PK\x03\x04" + strings.Repeat("\x00", 1<<20)), reading.Recipe{}, first, "", unchanged},
		"parse-pdf_svg_image":    {"image/webp", constant("RIFF\xff\xff\xff\xffWEBPVP8L" + strings.Repeat("\xff", 1<<20)), reading.Recipe{}, first, "", unchanged},
		"expr-selector_sibling":  {html, wide, reading.Recipe{CSS: "*:not(:has(*)) ~ *"}, failed, extract.FailLimit, failed},
		"expr-selector_nth":      {html, wide, reading.Recipe{CSS: "div:nth-last-child(2n+1) ~ div:nth-child(3n)"}, failed, extract.FailLimit, failed},
		"content-nonce": {html, func() string {
			nonce++
			return fmt.Sprintf(`<form><input type=hidden name=csrf value=%d><p>same</p></form><script nonce=%d>now</script>`, nonce, nonce)
		}, reading.Recipe{}, first, "", unchanged},
		"cache-etag_random":    {html, constant("<p>same"), reading.Recipe{}, first, "", unchanged},
		"cache-etag_lie_same":  {html, turns("<p>one", "<p>two"), reading.Recipe{}, first, "", changed},
		"enc-utf8_invalid":     {html, constant("<p>a\xffb\xc3("), reading.Recipe{}, first, "", unchanged},
		"enc-charset_conflict": {"text/html; charset=latin1", constant("\xff\xfe<\x00p\x00>\x00a\x00"), reading.Recipe{}, first, "", unchanged},
		"enc-iso2022jp":        {"text/html; charset=iso-2022-jp", constant("<p>\x1b$B$\"\x1b(B</p><script>x</script>"), reading.Recipe{}, first, "", unchanged},
		"enc-nul_bytes":        {html, constant("<p>a\x00b</p><\x00p>\x00c"), reading.Recipe{}, first, "", unchanged},
		"enc-bidi":             {html, constant("<title>\u202eevil\u202c gpj.exe</title><p>\u202eb"), reading.Recipe{}, first, "", unchanged},

		// Not on the list.
		"parse-json_deep":  {js, constant(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), reading.Recipe{}, failed, extract.FailLimit, failed},
		"parse-entities":   {feed, constant(`<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><rss version="2.0"><channel><item><title>x&b;&c;y</title></item></channel></rss>`), reading.Recipe{}, first, "", unchanged},
		"expr-path_all":    {js, constant("[" + strings.Repeat("{},", 1<<20) + "0]"), reading.Recipe{JSONPath: "$..*"}, failed, extract.FailLimit, failed},
		"content-one_line": {html, turns(strings.Repeat("<p>a", 500_000), strings.Repeat("<p>b", 500_000)), reading.Recipe{}, first, "", changed},
	}
}

// unstaged says which cases of the zoo are not here, by the beginnings of their ids,
// and why.
var unstaged = map[string]string{
	"slow-": "package fetch", "size-": "package fetch", "header-": "package fetch", "frame-": "package fetch",
	"h2-": "package fetch", "tls-": "package fetch", "redir-": "package fetch", "polite-": "package fetch", "cache-": "package fetch",
	"cross-":  "package bench",
	"robots-": "TestRobots here, and package content",

	"content-flap_ab": "TestFlapping", "content-soft_404": "TestZooSuspects", "content-shrink_99": "TestZooSuspects",
	"content-type_flip": "TestTypeFlip",

	"expr-regex_": "not staged here: the steps of a recipe have tests of their own", "expr-jq_": "not staged here: the steps of a recipe have tests of their own",
	"expr-cel_cube": "there is no such language", "expr-xpath_file": "there are no functions that fetch", "expr-template_ssti": "there are no templates",
	"parse-sitemap_": "TestSitemapDates in package content; a sitemap in a gzip file is kept as bytes",
}

// TestZoo looks twice at each page that is hostile to whoever reads it, over a real
// connection: a look ends soon, and as it should, and the one after it as well.
func TestZoo(t *testing.T) {
	pen := herd()
	for _, id := range zooIDs(t) {
		staged := pen[id].body != nil
		for begins := range unstaged {
			staged = staged || strings.HasPrefix(id, begins)
		}
		if !staged {
			t.Errorf("%s is staged nowhere", id)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	handWith := func(timeout time.Duration) *worker.Worker {
		reader := extract.NewReader(extract.ReaderConfig{Command: []string{self, childMode}, Workers: 1, Timeout: timeout})
		t.Cleanup(func() { reader.Close() })
		return worker.New(fetch.New(kit.Loopback()), reader.Read)
	}
	patient, hurried := handWith(time.Hour), handWith(time.Second) // what can be read is read, however slow the machine is
	for id, b := range pen {
		t.Run(id, func(t *testing.T) {
			h := patient
			if b.fails != "" {
				h = hurried
			}
			etags := 0
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				etags++
				w.Header().Set("Content-Type", b.media)
				w.Header().Set("Etag", fmt.Sprintf(`"%d"`, etags))
				io.WriteString(w, b.body())
			})
			o := s.order(nil)
			o.Source.Recipe = b.recipe
			f := h.Look(t.Context(), o)
			if f.Result != b.want || !f.Failure.Is(b.fails) || (f.Capture != nil) != f.Result.Captured() {
				t.Fatalf("the first look found %s %s %q, want %s %s", f.Result, f.Failure, f.Err, b.want, b.fails)
			}
			if f.Capture != nil {
				o = s.order(&f)
				o.Source.Recipe = b.recipe
			}
			if f = h.Look(t.Context(), o); f.Result != b.again {
				t.Errorf("the second look found %s %s %q, want %s", f.Result, f.Failure, f.Err, b.again)
			}
			if len(f.Err) > 1000 {
				t.Errorf("the message is not fit to be shown: %.1000q", f.Err)
			}
		})
	}
}

// zooIDs returns the cases of the list that package fetch has, too.
func zooIDs(t *testing.T) (ids []string) {
	t.Helper()
	text, err := os.ReadFile("../fetch/testdata/hostile_zoo.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Cases []struct{ ID string } }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Cases {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestTypeFlip has a page turn into an image and back: each is a version, and none is
// taken for what it does not say it is.
func TestTypeFlip(t *testing.T) {
	s := newSite(t, says("<p>one"))
	f := s.look(t, s.order(nil))
	for i, answer := range []http.HandlerFunc{
		says("\x89PNG\r\n\x1a\n<p>one", "Content-Type", "image/png"),
		says("<p>one"),
	} {
		s.answer = answer
		if f = s.look(t, s.order(&f)); f.Result != freshet.Changed {
			t.Fatalf("flip %d found %s %q, want a change", i, f.Result, f.Err)
		}
		if i == 0 && !strings.HasPrefix(string(f.Capture.Text), "image/png, ") {
			t.Errorf("flip %d reads an image as %q", i, f.Capture.Text)
		}
	}
}

// TestRobots reads hostile robots.txt files over a real connection.
func TestRobots(t *testing.T) {
	loop := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }
	five := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "xxxxx") {
			says("User-agent: *\nCrawl-delay: 6\nDisallow: /")(w, r)
			return
		}
		loop(w, r)
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "User-agent: *\n")
	}
	for name, tt := range map[string]struct {
		answer  http.HandlerFunc
		delay   time.Duration
		allowed bool
		down    bool
	}{
		"robots-404":        {refuses(404), 0, true, false},
		"robots-401":        {refuses(401), 0, true, false},
		"robots-410":        {refuses(410), 0, true, false},
		"robots-204":        {refuses(204), 0, true, false},
		"robots-429":        {refuses(429), 0, false, true},
		"robots-500":        {refuses(500), 0, false, true},
		"robots-503":        {refuses(503), 0, false, true},
		"robots-cut":        {cut, 0, false, true},
		"robots-no_gzip":    {says("User-agent: *", "Content-Encoding", "gzip"), 0, false, true},
		"robots-redirect_5": {five, 6 * time.Second, false, false},
		"robots-redirect_6": {loop, 0, true, false},
		"robots-cache_days": {says("User-agent: *\nCrawl-delay: 2", "Cache-Control", "max-age=31536000"), 2 * time.Second, true, false},
		"robots-html":       {says("<html><title>Not found</title>User-agent: nobody</html>"), 0, true, false},
		"robots-utf16_bom":  {says("\ufeffUser-agent: *\x00\nUser-agent: *\nCrawl-delay: 3\n\xff\xfe"), 3 * time.Second, true, false},
		"robots-wildcards":  {says("User-agent: *\nDisallow: /" + strings.Repeat("*", 5000) + "\nCrawl-delay: 4"), 4 * time.Second, false, false},
		"robots-100k_rules": {says("User-agent: *\nCrawl-delay: 5\n" + strings.Repeat("Disallow: /x\n", 100_000)), 5 * time.Second, true, false},
		"robots-endless":    {says("User-agent: *\nDisallow: /\n" + strings.Repeat("User-agent: x\n", 16<<20/14)), 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tt.answer)
			h := worker.New(fetch.New(kit.Loopback()), nil)
			m, err := h.Robots(t.Context(), s.order(nil), s.URL)
			if err != nil {
				t.Fatal(err)
			}
			heard := robots.Standing{}.Hear(time.Now(), "freshet", m.Answer)
			if d, _ := heard.Rules.CrawlDelay(); d != tt.delay {
				t.Errorf("a delay of %v, want %v", d, tt.delay)
			}
			if v := heard.Verdict(time.Now(), "/page"); v.Allowed != tt.allowed || v.Unreachable != tt.down {
				t.Errorf("the page is allowed: %v, and the file unreachable: %v", v.Allowed, v.Unreachable)
			}
			if m.Requests > 6 || m.Bytes > 4<<20 || !slices.ContainsFunc(s.requests, func(r *http.Request) bool { return r.URL.Path == "/robots.txt" }) {
				t.Errorf("it took %d requests and %d bytes", m.Requests, m.Bytes)
			}
		})
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		config fetch.Config
	}{
		"robots-timeout": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fetch.Config{HeaderTimeout: 200 * time.Millisecond}},
		"robots-drip": {func(w http.ResponseWriter, r *http.Request) {
			drops := time.NewTicker(5 * time.Millisecond)
			defer drops.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-drops.C:
					io.WriteString(w, "#")
					w.(http.Flusher).Flush()
				}
			}
		}, fetch.Config{Total: 300 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tt.answer)
			tt.config.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			m, err := worker.New(fetch.New(tt.config), nil).Robots(t.Context(), s.order(nil), s.URL)
			if v := (robots.Standing{}).Hear(time.Now(), "freshet", m.Answer).Verdict(time.Now(), "/page"); err != nil || !v.Unreachable {
				t.Errorf("it ends with %v and %+v, want a file that cannot be reached", err, v)
			}
		})
	}
	t.Run("robots-guarded", func(t *testing.T) {
		s := newSite(t, says(""))
		if _, err := worker.New(fetch.New(fetch.Config{}), nil).Robots(t.Context(), s.order(nil), s.URL); !failureOf(err).Is(failure.BlockedEgress) {
			t.Errorf("it ends with %v, want that the guard does not let it out", err)
		}
	})
}

func failureOf(err error) failure.Class {
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok {
		return ""
	}
	return e.Class
}
