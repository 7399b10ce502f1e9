package browser

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/mask"
	"freshet/internal/units"
)

// A Page is what is to be rendered.
type Page struct {
	rendering.Settings

	// Document is the page as it was fetched, to be shown without asking again.
	Document freshet.Response

	// Source is the name under which parts that do not change are kept for the
	// next time.
	Source freshet.SourceID

	// Leave is asked before each request of the page, side by side, with Part set.
	// Nil means that all may leave.
	Leave func(context.Context, freshet.Hop) error

	// Room is asked before the page is taken over as HTML of so many bytes. Nil
	// means that there is always room.
	Room func(ctx context.Context, size int64) error
}

// A View is what became of a page.
type View struct {
	// Response is the document with the page's elements as its body. Its Requests
	// and WireBytes are those of the document and of all its parts.
	freshet.Response

	Picture []byte // PNG; nil if none is wanted

	// Away says which hosts asked to be left alone, and for how long.
	Away map[string]time.Duration

	Took   time.Duration
	Memory int64 // bytes that the browser had at the end
}

// Readable reports whether a response is a page that a browser makes something of.
// Others are best taken as they are.
func Readable(resp freshet.Response) bool {
	kind, _, _ := strings.Cut(strings.ToLower(resp.MediaType), ";")
	kind = strings.TrimSpace(kind)
	if !strings.HasPrefix(resp.URL, "http://") && !strings.HasPrefix(resp.URL, "https://") {
		return false
	}
	return kind == "" || kind == "text/html" || kind == "application/xhtml+xml"
}

// Render shows a page and returns what became of it. The error is a
// *freshet.FetchError; the View then says what the page took even so.
func (b *Browser) Render(ctx context.Context, page Page) (View, error) {
	r, began := b.renderer, time.Now()
	if page.Viewport == (rendering.Viewport{}) {
		page.Viewport = rendering.DefaultViewport
	}
	if page.Wait == 0 {
		page.Wait = rendering.DefaultWait
	}
	ctx, cancel := within(ctx, r.cfg.Total)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(context.Canceled)
	v := &visit{
		cfg: r.cfg, cache: r.cache.of(string(page.Source)), document: page.Document, pictures: page.Pictured(), leave: page.Leave,
		ctx: ctx, stop: stop, busy: began, away: map[string]time.Duration{}, statuses: map[string]answered{}, failed: map[string]error{},
	}
	view, err := b.show(ctx, page, v, stop)
	if err != nil {
		view = View{Response: page.Document}
		view.Body = nil
	}
	if along := page.Document.Along; along != nil {
		if view.Along = nil; along.Scrub != nil {
			view.Body, view.URL = along.Scrub(view.Body), string(along.Scrub([]byte(view.URL)))
		}
	}
	view.Took = time.Since(began)
	v.mu.Lock()
	defer v.mu.Unlock()
	view.Requests = page.Document.Requests + v.sent
	view.WireBytes = page.Document.WireBytes + v.bytes
	view.Away = v.away
	return view, err
}

// show starts a browser, has it show the page, and ends it.
func (b *Browser) show(ctx context.Context, page Page, v *visit, stop context.CancelCauseFunc) (View, error) {
	r := b.renderer
	p, err := r.launch(ctx, page.Viewport)
	if err != nil {
		return View{}, reasonOf(ctx, err)
	}
	defer p.kill()
	gate := newProxy(v, r.authority)
	go gate.serve(p.listener)
	defer gate.close()
	go r.guard(ctx, p, stop)
	t := newTab(p, int(8*r.cfg.DOMBytes+16*mib), stop)
	defer t.close()
	view, err := t.show(ctx, max(startPatience, r.cfg.Total/2), page, v)
	if err != nil {
		err = reasonOf(ctx, err) // before the end of the browser becomes one
	}
	stop(context.Canceled)
	view.Memory = p.memory()
	r.cfg.Log.Debug("rendered", "url", mask.URL(page.Document.URL), "made", v.summary(), "memory", units.FormatSize(view.Memory), "err", err)
	return view, err
}

// show has the tab show a page, and takes it over. patience is how long the tab may take to open.
func (t *tab) show(ctx context.Context, patience time.Duration, page Page, v *visit) (View, error) {
	view := View{Response: page.Document}
	if err := t.open(ctx, patience, page.Viewport); err != nil {
		return view, err
	}
	if err := t.visit(ctx, page, v); err != nil {
		return view, err
	}
	var err error
	if view.Body, view.URL, err = t.read(ctx, page, v.cfg.DOMBytes); err != nil {
		return view, err
	}
	if err := v.settle(&view.Response, page.Document.URL); err != nil {
		return view, err
	}
	if page.Pictured() {
		view.Picture, err = t.picture(ctx, page)
	}
	return view, err
}

// settle completes the response by what is known of the URL that the page ended at.
func (v *visit) settle(resp *freshet.Response, began string) error {
	resp.Header = resp.Header.Clone()
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.MediaType = "text/html; charset=utf-8"
	resp.Header.Set("Content-Type", resp.MediaType)
	// What the document says of itself does not hold for the data in the page.
	resp.Validators, resp.NotModified = freshet.Validators{}, false
	resp.Modified, resp.FreshFor = time.Time{}, 0
	at, _, _ := strings.Cut(resp.URL, "#")
	resp.URL = at
	if at == began {
		return nil
	}
	resp.Moved = ""
	v.mu.Lock()
	defer v.mu.Unlock()
	answer, ok := v.statuses[at]
	if err := v.failed[at]; err != nil && !ok { // what the browser shows is our own refusal
		return ledTo(at, err)
	}
	switch scheme, _, _ := strings.Cut(at, ":"); scheme {
	case "http", "https":
	case "chrome-error": // what the browser shows when there is nothing to show
		if answer, ok = v.led, true; answer.status < 400 {
			return fail(failure.Connect, "", "the page led to one that could not be loaded")
		}
	default:
		return fail(failure.BlockedScheme, "", "the page led to %.100q, which cannot be watched", at)
	}
	if ok && answer.status >= 400 {
		return fail(failure.HTTP.WithStatus(answer.status), "",
			"the page led to %s, and the server answered %d %s", mask.URL(answer.url), answer.status, http.StatusText(answer.status))
	}
	if ok {
		resp.Status = answer.status
	}
	return nil
}

// ledTo returns the failure of a page that navigated to a URL without a response.
func ledTo(url string, err error) error {
	class, hint := failure.Connect, ""
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		class, hint = e.Class, e.Hint
	}
	return fail(class, hint, "the page led to %s: %w", mask.URL(url), err)
}
