package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
	"freshet/internal/worker"
)

// A watch looks at a site again and again, and keeps what a store would.
type watch struct {
	*testing.T
	site  *site
	order worker.Task
	texts map[int][]byte // by version
	past  []freshet.Version
	told  []string // texts of the changes
	last  worker.Result
}

func newWatch(t *testing.T, body string) *watch {
	w := &watch{T: t, site: newSite(t, says(body)), texts: map[int][]byte{}}
	w.order = w.site.order(nil)
	w.order.At = noon
	w.look(0, body, freshet.First, "")
	return w
}

// look makes a look some time after the last, at a page.
func (w *watch) look(after time.Duration, body string, want freshet.Result, suspect suspect.Class) {
	w.Helper()
	w.site.answer = says(body)
	w.order.At = w.order.At.Add(after)
	f := w.site.look(w.T, w.order)
	if f.Result != want || f.Suspect != suspect {
		w.Errorf("at %s the look found %s, suspect by %q; want %s and %q (%s)", w.order.At.Format("15:04"), f.Result, f.Suspect, want, suspect, f.Err)
	}
	w.last = f
	w.keep(f)
}

// keep takes over a result as a store does.
func (w *watch) keep(f worker.Result) {
	head := &w.order.Head
	number := len(w.texts) + 1
	if f.Capture != nil {
		w.texts[number] = f.Capture.Text
		w.past = slices.Insert(w.past, 0, freshet.Version{Number: number, Hash: f.Capture.Hash, SeenAt: w.order.At, Quiet: f.Capture.Quiet})
	}
	pastOf(&w.order).versions = func(context.Context, freshet.Hash) ([]freshet.Version, error) { return w.past, nil }
	switch {
	case f.Result == freshet.Doubted && f.Capture != nil:
		head.Held = f.Held
		head.Held.Number, head.Held.Hash, head.Held.Recipe = number, f.Capture.Hash, f.Capture.Recipe
	case f.Result == freshet.Doubted:
		number, hash, recipe := head.Held.Number, head.Held.Hash, head.Held.Recipe
		head.Held = f.Held
		head.Held.Number, head.Held.Hash, head.Held.Recipe = number, hash, recipe
	case f.Capture != nil:
		if f.Result == freshet.Changed {
			w.told = append(w.told, string(f.Capture.Text))
		}
		*head = freshet.Head{Number: number, Hash: f.Capture.Hash, Recipe: f.Capture.Recipe, Sums: f.Sums, Suspect: f.Suspect, Landed: f.Landed}
	default:
		head.Held, head.Sums = freshet.Held{}, f.Sums
	}
	text := func(number int) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return w.texts[number], nil }
	}
	pastOf(&w.order).text, pastOf(&w.order).quarantined = text(head.Number), text(head.Held.Number)
}

var story = page("News", 5000)

// A wrong page that goes away again is never told, and the page that comes back is as
// before.
func TestWrongPageIsNoChange(t *testing.T) {
	for name, wrong := range map[string]string{
		"a captcha": page("Just a moment...", 100), "no text": "<title>News</title>", "shrunk": page("News", 50), "not found": page("404 Not Found", 100),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(t, story)
			w.look(time.Hour, wrong, freshet.Doubted, w.site.look(t, wrongOrder(w, wrong)).Suspect)
			if w.last.LookAgain <= 0 || w.last.Capture == nil || w.last.Capture.Quiet != freshet.QuietSuspect {
				t.Errorf("another look is wanted after %v, of what is stored as %+v", w.last.LookAgain, w.last.Capture)
			}
			w.look(time.Second, wrong, freshet.Doubted, w.last.Suspect)
			if w.last.Capture != nil {
				t.Error("it is stored twice")
			}
			w.look(time.Minute, story, freshet.Unchanged, "")
			w.look(time.Hour, page("News", 4990)+"<p>something new", freshet.Changed, "")
			if len(w.told) != 1 {
				t.Errorf("%d changes were told, want the last alone", len(w.told))
			}
		})
	}
}

// wrongOrder returns the task of the next look at a site that answers with a page.
func wrongOrder(w *watch, body string) worker.Task {
	w.site.answer = says(body)
	return w.order
}

// What is only odd comes through when a second look agrees a minute later, not sooner.
func TestSecondLookConfirms(t *testing.T) {
	w := newWatch(t, story)
	short := page("News", 50)
	w.look(time.Hour, short, freshet.Doubted, suspect.Shrunk)
	w.look(30*time.Second, short, freshet.Doubted, suspect.Shrunk)
	w.look(40*time.Second, short, freshet.Changed, "")
	if len(w.told) != 1 {
		t.Errorf("%d changes were told, want one", len(w.told))
	}
	w.look(time.Minute, short, freshet.Unchanged, "")
}

// A page that is odd in another way at every look comes through all the same.
func TestRestlessPageComesThrough(t *testing.T) {
	w := newWatch(t, story)
	for i := range 3 {
		w.look(5*time.Minute, fmt.Sprintf("<title>News</title><p>%s", []string{"alpha beta gamma", "delta epsilon zeta", "eta theta iota"}[i]), freshet.Doubted, suspect.Shrunk)
	}
	w.look(5*time.Minute, "<title>News</title><p>kappa lambda my", freshet.Changed, "")
}

// What stands in the way is never told, however long; with another number in it, it is
// still the same.
func TestObstacleIsNeverTold(t *testing.T) {
	w := newWatch(t, story)
	stored := 0
	for day := range 14 {
		w.look(24*time.Hour, fmt.Sprintf("<title>Just a moment...</title><p>Verify you are human by completing the action below. Ray ID %d", day), freshet.Doubted, suspect.Blocked)
		if w.last.Capture != nil {
			stored++
		}
	}
	if w.order.Head.Held.Looks != 14 || w.order.Head.Held.Agreed != 14 || stored != 1 || w.last.LookAgain != 0 {
		t.Errorf("after 14 days %d are stored, held is %+v, and another look is wanted after %v", stored, w.order.Head.Held, w.last.LookAgain)
	}
	w.look(24*time.Hour, story, freshet.Unchanged, "")
}

// A page that says for a day that it is not there is told to be gone.
func TestMissingPageIsToldAfterADay(t *testing.T) {
	w := newWatch(t, story)
	missing := page("404 Not Found", 100)
	for range 4 {
		w.look(6*time.Hour, missing, freshet.Doubted, suspect.ErrorPage)
	}
	w.look(7*time.Hour, missing, freshet.Changed, "")
}

// A first look at a captcha is no page: when the page comes, it is first seen.
func TestCaptchaFirst(t *testing.T) {
	w := newWatch(t, story)
	w.order, w.texts = w.site.order(nil), map[int][]byte{}
	w.look(0, page("Just a moment...", 100), freshet.First, suspect.Blocked)
	w.look(time.Hour, page("Just a moment...", 105), freshet.Doubted, suspect.Blocked)
	if w.last.Capture == nil || w.order.Head.Held.Number == 0 {
		t.Error("another text of the block page is not stored, or cannot be confirmed")
	}
	w.look(time.Hour, story, freshet.First, "")
	w.order, w.texts = w.site.order(nil), map[int][]byte{}
	w.look(0, page("Log in", 100)+form, freshet.First, suspect.Login)
	w.look(time.Hour, page("Log in", 105)+form, freshet.Changed, suspect.Login)
	w.look(time.Hour, story, freshet.First, "")
	w.order, w.texts = w.site.order(nil), map[int][]byte{}
	w.look(0, page("Site maintenance", 100), freshet.First, suspect.Maintenance)
	w.look(time.Hour, story, freshet.Changed, "")
}

// A short article about captchas is suspect at first. Every text of it is stored, and once
// somebody has confirmed the first its changes are reported.
func TestArticleAboutCaptchas(t *testing.T) {
	article := func(words string) string {
		return page("Verify you are human", 100) + "<p>The captcha says: verify you are human. " + words
	}
	w := newWatch(t, story)
	w.order, w.texts = w.site.order(nil), map[int][]byte{}
	w.look(0, article("First edition."), freshet.First, suspect.Blocked)
	w.look(time.Hour, article("Second edition."), freshet.Doubted, suspect.Blocked)
	if w.last.Capture == nil {
		t.Error("the second edition is not stored")
	}
	w.order.Head.Suspect, w.order.Head.Held = "", freshet.Held{} // as Confirm leaves it
	w.look(time.Hour, article("Third edition."), freshet.Changed, "")
}

// Prices that come and go are what is watched, and do not make a page restless.
func TestPricesDoNotFlap(t *testing.T) {
	w := newWatch(t, story)
	w.order = w.site.order(nil)
	w.order.Source.Recipe.Extract = reading.Extracts{"price": {CSS: "b", As: reading.AsNumber}}
	w.order.At, w.texts, w.past = noon, map[int][]byte{}, nil
	price := func(n int) string { return page("Kettle", 500) + fmt.Sprintf("<b>%d EUR</b>", n) }
	w.look(0, price(10), freshet.First, "")
	for i := range 20 {
		values := w.last.Capture.Fields
		pastOf(&w.order).fields = func(context.Context) (freshet.Fields, error) { return values, nil }
		w.look(10*time.Minute, price(10+(i+1)%2), freshet.Changed, "")
	}
}

// Who does not want captures to be held has them marked, or not looked at.
func TestSuspicionSettings(t *testing.T) {
	for setting, want := range map[suspect.Handling]suspect.Class{suspect.Mark: suspect.Blocked, suspect.Ignore: ""} {
		w := newWatch(t, story)
		w.order.Source.Suspect = setting
		w.look(time.Hour, page("Just a moment...", 100), freshet.Changed, want)
		w.look(time.Hour, story, freshet.Changed, "")
	}
}

// A URL that has always led to another page tells of its changes.
func TestRedirectedFromTheBeginning(t *testing.T) {
	look := redirected(t)
	look(story, freshet.First, suspect.Redirected)
	look(page("News", 4900), freshet.Changed, suspect.Redirected)
	look(page("News", 50), freshet.Doubted, suspect.Shrunk)
}

// A wall is known as one also where redirects lead to it, and the page behind it is
// then first seen.
func TestRedirectedToAWall(t *testing.T) {
	look := redirected(t)
	look(page("Just a moment...", 100), freshet.First, suspect.Blocked)
	look(page("Just a moment...", 101), freshet.Unchanged, suspect.Blocked)
	look(story, freshet.First, suspect.Redirected)
	look(page("Just a moment...", 102), freshet.Doubted, suspect.Blocked)
	look(page("News", 4900), freshet.Changed, suspect.Redirected)
}

// redirected returns a function that looks at a URL which leads to another page.
func redirected(t *testing.T) func(text string, want freshet.Result, suspect suspect.Class) {
	w := newWatch(t, story)
	w.order, w.texts = w.site.order(nil), map[int][]byte{}
	w.order.Source.URL = w.site.URL + "/item/3"
	return func(text string, want freshet.Result, suspect suspect.Class) {
		t.Helper()
		w.site.answer = func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/item/3" {
				http.Redirect(rw, r, "/category/9", http.StatusFound)
				return
			}
			says(text)(rw, r)
		}
		f := w.site.look(t, w.order)
		if f.Result != want || f.Suspect != suspect {
			t.Errorf("the look found %s, suspect by %q; want %s and %q", f.Result, f.Suspect, want, suspect)
		}
		w.keep(f)
	}
}

// A page that flaps between two texts is told of a few times a day, and when it stays.
func TestFlapping(t *testing.T) {
	one, two := page("News", 5000), page("News", 4000)
	w := newWatch(t, one)
	for range 20 {
		w.site.answer = says(two)
		one, two = two, one
		w.order.At = w.order.At.Add(10 * time.Minute)
		f := w.site.look(t, w.order)
		if f.Result == freshet.Doubted && f.Suspect != suspect.Flapping {
			t.Errorf("it is held as %q", f.Suspect)
		}
		w.keep(f)
	}
	if len(w.told) != 5 {
		t.Errorf("%d changes were told, want five: to the other text, and four times back", len(w.told))
	}
	if w.order.Head.Held.Number == 0 { // the last look saw the head
		w.look(10*time.Minute, two, freshet.Doubted, suspect.Flapping)
		one = two
	}
	w.look(3*time.Minute, one, freshet.Changed, "")
}

// The cases of the zoo whose pages are suspect: the version is stored, and no change is
// told before a second look agrees.
func TestZooSuspects(t *testing.T) {
	login := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/login" {
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		says("<p>who are you?")(w, r)
	}
	for id, tt := range map[string]struct {
		answer http.HandlerFunc
		want   suspect.Class
		second freshet.Result // after a minute and more
	}{
		"redir-login":       {login, suspect.Login, freshet.Doubted},
		"content-soft_404":  {says("<title>Oops</title><p>page not found"), suspect.ErrorPage, freshet.Doubted},
		"content-shrink_99": {says(page("News", 50)), suspect.Shrunk, freshet.Changed},
	} {
		t.Run(id, func(t *testing.T) {
			w := newWatch(t, story)
			w.order.Source.URL = w.site.URL + "/news"
			again := func(after time.Duration, want freshet.Result) worker.Result {
				t.Helper()
				w.site.answer = tt.answer
				w.order.At = w.order.At.Add(after)
				f := w.site.look(t, w.order)
				if f.Result != want {
					t.Errorf("the look found %s, suspect by %q; want %s", f.Result, f.Suspect, want)
				}
				w.keep(f)
				return f
			}
			f := again(time.Hour, freshet.Doubted)
			if f.Suspect != tt.want || f.Capture == nil || f.Capture.Quiet != freshet.QuietSuspect || f.LookAgain < time.Minute {
				t.Errorf("it is suspect by %q, stored as %+v, and looked at again in %v", f.Suspect, f.Capture, f.LookAgain)
			}
			again(30*time.Second, freshet.Doubted)
			again(time.Minute, tt.second)
		})
	}
}
