package ui_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// A browser is one Chromium for all tests: each has a profile of its own in it, with its own
// cookies and storage. Starting one takes longer than most tests do.
type browser struct {
	mu   sync.Mutex
	ctx  context.Context
	stop func()
}

var shared browser

func TestMain(m *testing.M) {
	code := m.Run()
	shared.end()
	os.Exit(code)
}

// profile returns a context with a new profile and a tab in it.
func (b *browser) profile(t *testing.T) context.Context {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil || b.ctx.Err() != nil {
		b.start(t)
	}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return ctx
}

func (b *browser) start(t *testing.T) {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		cancelAlloc()
		t.Fatalf("start Chromium: %v", err)
	}
	b.ctx, b.stop = ctx, func() { cancel(); cancelAlloc() }
}

// end closes the browser, if there is one.
func (b *browser) end() {
	if b.stop != nil {
		b.stop()
	}
}
