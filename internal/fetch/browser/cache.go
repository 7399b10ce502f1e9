package browser

import (
	"bytes"
	"container/list"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A cache keeps parts of pages that their servers say stay as they are, such as
// scripts and styles. So the next rendering of the page asks only for what can have
// changed. What one page has loaded is not given to another.
type cache struct {
	most int64 // bytes

	mu    sync.Mutex
	size  int64
	parts map[string]*list.Element // of kept
	order *list.List               // the last used first
}

// A kept is a part in the cache.
type kept struct {
	key    string
	until  time.Time
	status int
	header http.Header
	body   []byte
}

// maxKept is how large a part in the cache can be.
const maxKept = 4 * mib

func newCache(most int64) *cache {
	return &cache{most: most, parts: map[string]*list.Element{}, order: list.New()}
}

// A pageCache is the part of a cache that is of one page.
type pageCache struct {
	*cache
	page string
}

// of returns the part of the cache that belongs to a page.
func (c *cache) of(page string) *pageCache { return &pageCache{c, page} }

func (c *pageCache) key(url string) string { return c.page + " " + url }

// serve answers a request from the cache, if that is possible.
func (c *pageCache) serve(w http.ResponseWriter, r *http.Request, url string) bool {
	if r.Method != http.MethodGet || r.Header.Get("Range") != "" {
		return false
	}
	c.mu.Lock()
	e := c.parts[c.key(url)]
	var part kept
	if e != nil {
		part = e.Value.(kept)
		c.order.MoveToFront(e)
	}
	c.mu.Unlock()
	if e == nil || time.Now().After(part.until) {
		return false
	}
	maps.Copy(w.Header(), part.header)
	w.WriteHeader(part.status)
	w.Write(part.body)
	return true
}

// A keeper gathers the body of an answer for the cache.
type keeper struct {
	cache *pageCache
	until time.Time
	body  bytes.Buffer
	over  bool
}

// keeper returns what gathers an answer, or nil if it must not be kept. Only what is
// the same for everybody is.
func (c *pageCache) keeper(r *http.Request, a *http.Response) *keeper {
	if c.most <= 0 || r.Method != http.MethodGet || a.StatusCode != http.StatusOK || r.Header.Get("Authorization") != "" ||
		a.Header.Get("Set-Cookie") != "" || a.ContentLength > maxKept || !isFixture(a.Header.Get("Content-Type")) {
		return nil
	}
	for _, value := range a.Header.Values("Vary") {
		for name := range strings.SplitSeq(value, ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "accept-encoding", "origin", "":
			default:
				return nil
			}
		}
	}
	age := maxAge(a.Header)
	if age <= 0 {
		return nil
	}
	return &keeper{cache: c, until: time.Now().Add(age)}
}

// isFixture reports whether a media type is of what pages are made with, and not of
// what they say: data is asked for anew each time, whatever its server allows.
func isFixture(mediaType string) bool {
	mediaType = strings.ToLower(mediaType)
	for _, kind := range []string{"javascript", "ecmascript", "text/css", "font", "image/", "wasm"} {
		if strings.Contains(mediaType, kind) {
			return true
		}
	}
	return false
}

// longestKept is how long a part stays in the cache at most.
const longestKept = 24 * time.Hour

// maxAge returns for how long an answer may be used again without asking.
func maxAge(h http.Header) time.Duration {
	age := time.Duration(0)
	for _, value := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(strings.ToLower(value), ",") {
			name, arg, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch name {
			case "no-store", "no-cache", "private":
				return 0
			case "max-age":
				seconds, err := strconv.Atoi(strings.Trim(arg, `"`))
				if err != nil {
					return 0
				}
				age = min(time.Duration(min(seconds, 1<<30))*time.Second, longestKept)
			}
		}
	}
	if passed, err := strconv.Atoi(h.Get("Age")); err == nil && passed > 0 {
		age -= time.Duration(min(passed, 1<<30)) * time.Second
	}
	return age
}

// Write gathers a piece of the body.
func (k *keeper) Write(p []byte) (int, error) {
	if k.over = k.over || k.body.Len()+len(p) > maxKept; !k.over {
		k.body.Write(p)
	}
	return len(p), nil
}

// store puts the answer into the cache, which makes room by what was used longest ago.
func (k *keeper) store(url string, status int, header http.Header) {
	if k == nil || k.over {
		return
	}
	c := k.cache
	part := kept{key: c.key(url), until: k.until, status: status, header: header, body: bytes.Clone(k.body.Bytes())}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.parts[part.key]; e != nil {
		c.drop(e)
	}
	c.parts[part.key] = c.order.PushFront(part)
	c.size += part.weight()
	for c.size > c.most {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	part := e.Value.(kept)
	c.order.Remove(e)
	delete(c.parts, part.key)
	c.size -= part.weight()
}

// weight returns what a part takes, headers and all.
func (k kept) weight() int64 { return int64(len(k.body)+len(k.key)) + 2048 }
