package browser

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// A Config says how pages are rendered, and bounds what that may take. The zero
// Config holds the defaults, which are named beside the fields; Do is needed.
type Config struct {
	// Do sends a request that a page makes. It has to refuse addresses that must
	// not be reached, and to follow no redirect.
	Do func(*http.Request) (*http.Response, error)

	// Check refuses URLs that could not be requested whatever they resolve to; nil
	// leaves it to Do. What it refuses does not count as a request.
	Check func(url string) error

	// Launch is the command that starts the browser in a network of its own: it has
	// to call [Launch]. Without one, or where the system does not allow it, the
	// browser is kept to the proxy only by its own settings.
	Launch []string

	Browser string // path of Chromium; "" means the first one in PATH
	Agent   string // is added to the User-Agent of the browser

	Browsers int           // at the same time; 1
	Total    time.Duration // for one page, from the start of the browser on; 60 s
	Memory   int64         // bytes that the processes of one browser may take together; 1 GiB
	Requests int           // that one page may make; 200
	Bytes    int64         // that the answers to them may have, as they come; 32 MiB
	DOMBytes int64         // of the page as HTML; 8 MiB
	Cache    int64         // bytes of parts to keep for the next time; 64 MiB, negative means none

	Dir string       // where profiles are made; "" means the system's temporary directory
	Log *slog.Logger // nil means silence
}

const (
	mib = 1 << 20

	// maxPicture bounds a picture, in bytes of PNG and in pixels of its sides.
	maxPicture       = 8 * mib
	maxPictureWidth  = 4_000
	maxPictureHeight = 10_000
)

func (c Config) withDefaults() Config {
	c.Browsers = cmp.Or(c.Browsers, 1)
	c.Total = cmp.Or(c.Total, time.Minute)
	c.Memory = cmp.Or(c.Memory, 1024*mib)
	c.Requests = cmp.Or(c.Requests, 200)
	c.Bytes = cmp.Or(c.Bytes, 32*mib)
	c.DOMBytes = cmp.Or(c.DOMBytes, 8*mib)
	c.Cache = cmp.Or(c.Cache, 64*mib)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
