package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/units"
)

// A tab is the one page of a browser. What it asks of the page runs in a world of its
// own beside the page's scripts, which therefore cannot change how it works.
type tab struct {
	pipe    *pipe
	id      string // of the target, and so of its main frame
	session string

	mu     sync.Mutex
	loaded bool
	stop   context.CancelCauseFunc
}

func newTab(p *process, most int, stop context.CancelCauseFunc) *tab {
	t := &tab{stop: stop}
	t.pipe = newPipe(p.commands, p.answers, most, t.hear)
	go func() {
		<-t.pipe.ended
		stop(fail(failure.RenderCrashed, "", "the browser: %w", t.pipe.broken))
	}()
	return t
}

func (t *tab) close() { t.pipe.close() }

// hear takes in what the browser tells.
func (t *tab) hear(e event) {
	switch e.Method {
	case "Page.loadEventFired":
		t.mu.Lock()
		t.loaded = true
		t.mu.Unlock()
	case "Page.javascriptDialogOpening": // nobody is there to answer
		go t.pipe.call(context.Background(), t.session, "Page.handleJavaScriptDialog", map[string]any{"accept": false}, nil)
	case "Inspector.targetCrashed":
		t.stop(fail(failure.RenderCrashed, "", "the page crashed the browser"))
	}
}

func (t *tab) call(ctx context.Context, method string, params, result any) error {
	return t.pipe.call(ctx, t.session, method, params, result)
}

// open makes the one tab of the browser ready.
func (t *tab) open(ctx context.Context, patience time.Duration, size rendering.Viewport) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fail(failure.RenderStart, "", "the browser did not start within %s", units.FormatDuration(patience)))
	defer cancel()
	id, err := t.first(ctx)
	if err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := t.call(ctx, "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}, &attached); err != nil {
		return err
	}
	if err := t.call(ctx, "Browser.setDownloadBehavior", map[string]any{"behavior": "deny"}, nil); err != nil {
		return err
	}
	t.id, t.session = id, attached.SessionID
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Page.enable", nil},
		{"Inspector.enable", nil},
		{"Network.setBypassServiceWorker", map[string]any{"bypass": true}},
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": size.Width, "height": size.Height, "deviceScaleFactor": 1, "mobile": false}},
	} {
		params := c.params
		if params == nil {
			params = map[string]any{}
		}
		if err := t.call(ctx, c.method, params, nil); err != nil {
			return err
		}
	}
	return nil
}

// first returns the tab that the browser opens by itself. It may open no other: that is
// how pages are kept from opening windows.
func (t *tab) first(ctx context.Context) (id string, err error) {
	err = t.poll(ctx, func() (bool, error) {
		var list struct {
			TargetInfos []struct{ TargetID, Type string }
		}
		if err := t.call(ctx, "Target.getTargets", map[string]any{}, &list); err != nil {
			return false, err
		}
		for _, target := range list.TargetInfos {
			if target.Type == "page" {
				id = target.TargetID
				return true, nil
			}
		}
		return false, nil
	})
	return id, err
}

// visit goes to the page and does all that is to be done there.
func (t *tab) visit(ctx context.Context, page Page, v *visit) error {
	var gone struct{ ErrorText string }
	if err := t.call(ctx, "Page.navigate", map[string]any{"url": page.Document.URL}, &gone); err != nil {
		return err
	}
	if gone.ErrorText != "" {
		return fail(failure.RenderCrashed, "", "the browser could not show the page: %s", gone.ErrorText)
	}
	if page.WaitFor == "" || page.Consent != "" || len(page.Steps) > 0 {
		if err := t.quiet(ctx, v, page.Wait); err != nil {
			return err
		}
	}
	if page.Consent != rendering.ConsentNone {
		if err := t.consent(ctx, page, v); err != nil {
			return err
		}
	}
	for i, s := range page.Steps {
		if err := t.step(ctx, s, page.Wait, v); err != nil {
			return stepFailure(i, s, err)
		}
	}
	for _, css := range []string{page.WaitFor, page.Region} {
		if css == "" {
			continue
		}
		if err := t.await(ctx, css, page.Wait); err != nil {
			return err
		}
	}
	return nil
}

const (
	// calm is how long nothing must be under way for a page to count as quiet.
	calm = 500 * time.Millisecond

	// glance is how often a page is looked at while it is waited for.
	glance = 50 * time.Millisecond
)

// quiet waits until the page has loaded and asks for nothing any more, or for as long
// as the user wants to wait: some pages are never quiet.
func (t *tab) quiet(ctx context.Context, v *visit, most time.Duration) error {
	begun := time.Now()
	return t.poll(ctx, func() (bool, error) {
		t.mu.Lock()
		loaded := t.loaded
		t.mu.Unlock()
		if time.Since(begun) >= most {
			return true, nil
		}
		if !loaded || v.quietFor() < calm || time.Since(begun) < calm/5 {
			return false, nil
		}
		return true, t.idle(ctx)
	})
}

// idle waits until the page's scripts have had a turn.
func (t *tab) idle(ctx context.Context) error {
	return t.eval(ctx, `new Promise(done => setTimeout(done, 0))`, nil)
}

// await waits until a selector matches something.
func (t *tab) await(ctx context.Context, css string, most time.Duration) error {
	begun := time.Now()
	return t.poll(ctx, func() (found bool, err error) {
		if err := t.eval(ctx, fmt.Sprintf(`!!freshet.find(%s)`, quoted(css)), &found); err != nil || found {
			return found, err
		}
		if time.Since(begun) >= most {
			return false, fail(failure.RenderStep, "check the selector in a browser, or wait longer with render.wait",
				"nothing on the page matches %q after %s", css, units.FormatDuration(most))
		}
		return false, nil
	})
}

// poll looks again and again until there is what is waited for.
func (t *tab) poll(ctx context.Context, look func() (bool, error)) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// eval evaluates an expression beside the page's scripts. If the page is just going
// elsewhere it tries again there.
func (t *tab) eval(ctx context.Context, expression string, result any) error {
	for try := 0; ; try++ {
		err := t.evalOnce(ctx, expression, result)
		if err == nil || ctx.Err() != nil || try == 20 || !isLeaving(err) {
			return err
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isLeaving reports whether an error means that the page was about to be another.
func isLeaving(err error) bool {
	text := err.Error()
	for _, sign := range []string{"context was destroyed", "Cannot find context", "No frame for given id", "Inspected target navigated", "uniqueContextId not found"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func (t *tab) evalOnce(ctx context.Context, expression string, result any) error {
	var world struct{ ExecutionContextID int64 }
	if err := t.call(ctx, "Page.createIsolatedWorld", map[string]any{"frameId": t.id, "worldName": "freshet"}, &world); err != nil {
		return err
	}
	var answer struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := t.call(ctx, "Runtime.evaluate", map[string]any{
		"expression": script + "\n" + expression, "contextId": world.ExecutionContextID,
		"returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &answer)
	if err != nil {
		return err
	}
	if x := answer.ExceptionDetails; x != nil {
		line, _, _ := strings.Cut(x.Exception.Description, "\n")
		return fail(failure.RenderStep, "", "%.300s", line)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// quoted returns text as a literal of a script.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}

// read returns the page's elements as HTML, and its URL.
func (t *tab) read(ctx context.Context, page Page, most int64) ([]byte, string, error) {
	var taken struct {
		Size int64
		URL  string
	}
	if err := t.eval(ctx, `freshet.take()`, &taken); err != nil {
		return nil, "", err
	}
	if taken.Size > most {
		return nil, "", fail(failure.LargeDecoded, "", "the page has become larger than %s", units.FormatSize(most))
	}
	if page.Room != nil {
		if err := page.Room(ctx, 2*taken.Size); err != nil {
			return nil, "", err
		}
	}
	var html string
	if err := t.eval(ctx, `freshet.taken()`, &html); err != nil {
		return nil, "", err
	}
	return []byte(html), taken.URL, nil
}
