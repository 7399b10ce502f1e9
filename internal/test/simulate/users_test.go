package simulate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// acks are what the daemon has said that it has.
type acks struct {
	*simulation
	mu       sync.Mutex
	versions map[string]map[int]string // hash, by source and number; "" if it was not said
	purged   map[string]bool           // sources that somebody wanted to be forgotten
	gone     map[string]int            // by source, the last version that was said to be there before a purge
	told     map[string]string         // what was told of a change, by its id
}

func newAcks(s *simulation) *acks {
	return &acks{simulation: s, versions: map[string]map[int]string{}, purged: map[string]bool{}, gone: map[string]int{}, told: map[string]string{}}
}

// captured notes that a version is said to be there.
func (a *acks) captured(source string, number int) { a.version(source, number, "") }

// version notes that a version is said to be there, with a hash.
func (a *acks) version(source string, number int, hash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.versions[source] == nil {
		a.versions[source] = map[int]string{}
	}
	if number <= a.gone[source] {
		return // it was read before the purge
	}
	before := a.versions[source][number]
	if before != "" && hash != "" && before != hash && !a.purged[source] {
		a.broken("version %d of %s was %.8s and is now %.8s", number, source, before, hash)
	}
	if hash != "" || before == "" {
		a.versions[source][number] = hash
	}
}

// forget drops what was said of a source, which somebody wants to be purged.
func (a *acks) forget(source string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for number := range a.versions[source] {
		a.gone[source] = max(a.gone[source], number)
	}
	delete(a.versions, source)
	a.purged[source] = true
}

// change notes what was told of a change. Under one id it must stay the same.
func (a *acks) change(where, id string, c change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := fmt.Sprintf("%s %d: %d from %.8s to %.8s at %v", c.Source, c.Seq, c.Number, c.From, c.To, c.Cursor)
	if before, ok := a.told[id]; ok && before != said && switches.ids {
		a.broken("%s tells of %s as %q, which was %q", where, id, said, before)
	}
	a.told[id] = said
}

// errDown means that the daemon did not answer.
var errDown = errors.New("the daemon does not answer")

// request sends a request to the API and returns the answer.
func (s *simulation) request(ctx context.Context, method, path string, body any, header http.Header) (int, []byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			panic(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:8080"+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for key := range header {
		req.Header.Set(key, header.Get(key))
	}
	resp, err := s.living().api.Do(req)
	if err != nil {
		return 0, nil, errDown
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, errDown
	}
	return resp.StatusCode, answer, nil
}

// get asks the API for something and decodes it.
func (s *simulation) get(ctx context.Context, path string, into any) error {
	status, answer, err := s.request(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: %d: %s", path, status, answer)
	}
	return json.Unmarshal(answer, into)
}

// A listReader reads the list of changes and of versions now and then.
type listReader struct {
	*simulation
	place string
	seen  []change
}

// run reads until ctx is done.
func (l *listReader) run(ctx context.Context) {
	rng := l.chance("list")
	l.place = "0"
	for sleep(ctx, pause(rng, 2*time.Second, 12*time.Second)) {
		l.changes(ctx)
		l.versions(ctx, rng)
	}
}

// changes reads on in the list of changes.
func (l *listReader) changes(ctx context.Context) {
	var page struct {
		Items []change `json:"items"`
		Next  any      `json:"next"`
	}
	status, answer, err := l.request(ctx, http.MethodGet, "/api/v1/changes?after="+l.place, nil, nil)
	if err != nil || status != http.StatusOK {
		l.say("the list of changes: %d", status)
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(&page); err != nil {
		l.broken("the list of changes: %v", err)
		return
	}
	for _, c := range page.Items {
		l.say("listed %s.%d at %v", c.Source, c.Seq, c.Cursor)
		l.seen = append(l.seen, c)
	}
	l.place = fmt.Sprint(page.Next)
}

// versions reads the newest versions of a source.
func (l *listReader) versions(ctx context.Context, rng *rand.Rand) {
	id := l.plan.pages[rng.IntN(len(l.plan.pages))].id
	var page struct {
		Items []struct {
			Number int    `json:"number"`
			Hash   string `json:"hash"`
			Quiet  string `json:"quiet"`
		} `json:"items"`
	}
	if err := l.get(ctx, "/api/v1/sources/"+id+"/versions?limit=3", &page); err != nil {
		return
	}
	for _, v := range page.Items {
		if v.Quiet == "" { // what is held may be dropped again
			l.acks.version(id, v.Number, v.Hash)
		}
	}
}

// A streamReader follows the stream of changes, and goes on where it was when
// the line breaks.
type streamReader struct {
	*simulation
	place string
	ids   []string // of events, in order
	seen  []change
}

// run follows until ctx is done.
func (r *streamReader) run(ctx context.Context) {
	rng := r.chance("stream")
	for sleep(ctx, pause(rng, 200*time.Millisecond, 3*time.Second)) {
		follow, cancel := context.WithCancel(ctx)
		if oneIn(rng, 3) { // a line that breaks by itself
			time.AfterFunc(pause(rng, time.Second, 40*time.Second), cancel)
		}
		r.follow(follow)
		cancel()
	}
}

// follow reads one stream to its end.
func (r *streamReader) follow(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/api/v1/changes/stream?after=0", nil)
	if err != nil {
		panic(err)
	}
	if r.place != "" {
		req.Header.Set("Last-Event-ID", r.place)
	}
	resp, err := r.living().api.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.say("the stream: %d", resp.StatusCode)
		return
	}
	var id, data string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && data != "":
			r.event(id, data)
			id, data = "", ""
		}
	}
}

// event takes an event of the stream.
func (r *streamReader) event(id, data string) {
	var event struct {
		ID   string `json:"id"`
		Data change `json:"data"`
	}
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&event); err != nil {
		r.broken("the stream sent what is not JSON: %v", err)
		return
	}
	sum := sha256.Sum256([]byte(data))
	r.say("streamed %s at %s, %x", event.ID, id, sum[:4])
	r.place = id
	r.ids = append(r.ids, event.ID)
	r.seen = append(r.seen, event.Data)
	r.acks.change("the stream", event.ID, event.Data)
}
