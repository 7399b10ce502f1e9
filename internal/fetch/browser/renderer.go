package browser

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/units"
)

// A Renderer shows pages in browsers. It may be used by many goroutines at once: as
// many as there may be browsers are served, and the others wait.
type Renderer struct {
	cfg       Config
	cache     *cache
	slots     chan struct{}
	authority *authority

	mu       sync.Mutex
	path     string // of the browser, once it has been found
	version  string // of the browser; "" if it does not say
	confined bool   // browsers are started in a network of their own, as far as is known
	swept    bool   // what earlier runs left behind is gone
}

// New returns a Renderer. It starts no browser, and needs none yet.
func New(c Config) (*Renderer, error) {
	c = c.withDefaults()
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c.Dir = shortDir(c.Dir)
	return &Renderer{
		cfg: c, cache: newCache(c.Cache), slots: make(chan struct{}, c.Browsers), authority: a,
		confined: len(c.Launch) > 0,
	}, nil
}

// shortDir returns where profiles are made. The browser makes a socket in its profile,
// whose path must not be long.
func shortDir(dir string) string {
	for _, dir := range []string{dir, os.TempDir()} {
		if dir != "" && len(dir) <= 30 {
			return dir
		}
	}
	return "/tmp"
}

// Check reports whether pages can be rendered: an error says what is missing and what
// to do about it. Otherwise it returns the browser and its version.
func (r *Renderer) Check() (path, version string, err error) {
	if !supported {
		return "", "", fail(failure.RenderMissing, "", "pages can be rendered only on Linux")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		if path, err = r.cfg.find(); err != nil {
			return "", "", err // it may be installed later
		}
		r.path, r.version = path, versionOf(path)
	}
	return r.path, r.version, nil
}

// Confined reports whether browsers run in a network of their own. It is known for
// sure when the first one has been started.
func (r *Renderer) Confined() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confined
}

// slotPatience is how long a page waits for a browser.
const slotPatience = 3 * time.Minute

// Open waits until there may be one more browser. It has to be closed.
func (r *Renderer) Open(ctx context.Context) (*Browser, error) {
	if _, _, err := r.Check(); err != nil {
		return nil, err
	}
	late := time.NewTimer(slotPatience)
	defer late.Stop()
	select {
	case r.slots <- struct{}{}:
	case <-late.C:
		return nil, fail(failure.LocalBrowser, "poll rendered pages less often, or raise render.browsers",
			"no browser was free for %s", units.FormatDuration(slotPatience))
	case <-ctx.Done():
		return nil, reasonOf(ctx, nil)
	}
	r.sweep()
	return &Browser{renderer: r}, nil
}

// A Browser is leave to show one page. The process is started when there is a page.
type Browser struct {
	renderer *Renderer
	closed   bool
}

// Close gives the leave back.
func (b *Browser) Close() {
	if !b.closed {
		b.closed = true
		<-b.renderer.slots
	}
}

// profilePrefix begins the names of profiles; the process that they belong to follows.
const profilePrefix = "freshet-browser-"

// profile makes a directory for a browser.
func (r *Renderer) profile() (string, error) {
	return os.MkdirTemp(r.cfg.Dir, profilePrefix+strconv.Itoa(os.Getpid())+"-")
}

// sweep kills browsers and deletes profiles of runs that did not come to their end.
func (r *Renderer) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.swept {
		return
	}
	r.swept = true
	left, _ := filepath.Glob(filepath.Join(r.cfg.Dir, profilePrefix+"*"))
	for _, dir := range left {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), profilePrefix), "-")
		if pid, err := strconv.Atoi(owner); err == nil && !alive(pid) {
			r.cfg.Log.Info("removing what a browser of an earlier run left behind", "dir", dir)
			clearAway(dir)
		}
	}
}

// launch starts a browser with an empty profile.
func (r *Renderer) launch(ctx context.Context, size rendering.Viewport) (*process, error) {
	profile, err := r.profile()
	if err != nil {
		return nil, fail(failure.RenderStart, "", "make a profile for the browser: %w", err)
	}
	p, err := r.start(ctx, r.path, profile, size, r.Confined())
	if err != nil && r.Confined() && refusedByKernel(err) {
		r.cfg.Log.Warn("the system does not allow a browser a network of its own; it is kept to the proxy by its settings alone", "err", err)
		r.mu.Lock()
		r.confined = false
		r.mu.Unlock()
		p, err = r.start(ctx, r.path, profile, size, false)
	}
	if err != nil {
		clearAway(profile)
		return nil, fail(failure.RenderStart, "", "start the browser: %w", err)
	}
	return p, nil
}

// guard ends a rendering when its browser takes too much memory or dies.
func (r *Renderer) guard(ctx context.Context, p *process, stop context.CancelCauseFunc) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.over:
			stop(crash(p))
			return
		case <-tick.C:
		}
		if p.memory() > r.cfg.Memory {
			stop(fail(failure.RenderMemory, "raise render.memory if the page is worth it",
				"the browser took more than %s of memory", units.FormatSize(r.cfg.Memory)))
			return
		}
	}
}

func crash(p *process) error {
	if said := p.said.String(); said != "" {
		return fail(failure.RenderCrashed, "", "the browser ended unexpectedly: %s", said)
	}
	return fail(failure.RenderCrashed, "", "the browser ended unexpectedly")
}

// within returns a context that ends with a failure when the time is over.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fail(failure.RenderTimeout,
		"raise render.timeout if the page is worth it", "the page was not rendered within %s", units.FormatDuration(d)))
}
