package ui_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/client"
)

// The form is filled in by its address, as the bookmarklet and the extension open it.
func TestStartByAddress(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/kettle", fmt.Sprintf(kettle, 101))
	b := r.tab(1280, 900, "light")
	b.visit("/start?url="+r.web.URL+"/kettle&css=h1", "document.querySelectorAll('input[type=radio]').length > 1")
	if got := eval[string](b, "document.querySelector('#address').value"); got != r.web.URL+"/kettle" {
		t.Errorf("the address is %q", got)
	}
	b.await("[...document.querySelectorAll('[role=radiogroup] label')].some(l => l.textContent.includes('one element') && l.textContent.includes('h1') && l.querySelector('input').checked)")
	if all, err := r.api.Sources.List(t.Context(), client.SourceQuery{}); err != nil || len(all) != 0 {
		t.Errorf("an address adds %d sources, %v", len(all), err)
	}
	b.clean("a form by its address")
	b.visit("/settings/browser", "document.querySelector('.input.code')?.value.startsWith('javascript:')")
	if script := eval[string](b, "document.querySelector('.input.code').value"); !strings.Contains(script, r.url+"/start?url=") {
		t.Errorf("the bookmarklet is %s", script)
	}
	b.clean("the bookmarklet")
}

// The extension runs in Chromium: it opens the form with a page, and with a selector of what is selected.
func TestExtension(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/page", `<h1>Title</h1><div><p>First</p><p>Second <b>price</b></p></div>`)
	dir, err := filepath.Abs("../contrib/extension")
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox,
		chromedp.Flag("disable-extensions", false), chromedp.Flag("load-extension", dir), chromedp.Flag("disable-extensions-except", dir),
		chromedp.Flag("disable-features", "DisableLoadExtensionCommandLineSwitch"), chromedp.Flag("headless", "new"))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(r.web.URL+"/page")); err != nil {
		t.Fatal(err)
	}
	worker := extensionWorker(t, ctx)
	run := func(c context.Context, expression string) string {
		t.Helper()
		v, err := chromedp.Run(c, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		return v
	}
	source := run(worker, "self.selected.toString()")
	css := run(ctx, `(() => { const range = document.createRange(); range.selectNodeContents(document.querySelector('b')); getSelection().addRange(range); return (`+source+`)(); })()`)
	if css != "body > div > p:nth-of-type(2) > b" {
		t.Errorf("the selector of what is selected is %q", css)
	}
	opened := run(worker, fmt.Sprintf(`(async () => { await chrome.storage.local.set({server: %q}); return await self.watch(%q, %q); })()`, r.url, r.web.URL+"/page", css))
	if !strings.HasPrefix(opened, r.url+"/start?url=") || !strings.Contains(opened, "css=body+%3E+div") {
		t.Errorf("the extension opens %s", opened)
	}
}

// extensionWorker returns the context of the service worker of the extension.
func extensionWorker(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		targets, err := chromedp.Targets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range targets {
			if at.Type == "service_worker" && strings.HasSuffix(at.URL, "/background.js") {
				worker, cancel := chromedp.NewContext(ctx, chromedp.WithTargetID(at.TargetID))
				t.Cleanup(cancel)
				return worker
			}
		}
	}
	t.Fatal("the extension does not run")
	return nil
}
