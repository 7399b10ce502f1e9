package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"freshet/internal/freshet"
)

// A Version is one state of a source, as the API tells it.
type Version struct {
	Source    freshet.SourceID `json:"source"`
	Number    int              `json:"number" doc:"1 is the first"`
	Hash      string           `json:"hash" doc:"SHA-256 of the text"`
	SeenAt    time.Time        `json:"seen_at" doc:"When it was first seen"`
	TextBytes int64            `json:"text_bytes"`
	RawBytes  int64            `json:"raw_bytes"`
	Picture   int64            `json:"screenshot_bytes,omitempty" doc:"Size of the screenshot; missing if there is none"`
	MediaType string           `json:"media_type,omitempty" doc:"As the server gave it"`
	Title     string           `json:"title,omitempty"`
	URL       string           `json:"url,omitempty" doc:"Final URL, after redirects"`
	Fields    map[string]any   `json:"fields,omitempty" doc:"Named values, as the source's extract asks for them; null where there was none"`
	Suspect   *Suspect         `json:"suspect,omitempty" doc:"Why this is probably the wrong page, if it is"`
	Quiet     freshet.Quiet    `json:"quiet,omitempty" enum:"suspect,noise,imported" doc:"Why no change was reported for it, if none was"`
}

// A VersionPage is part of a source's history, the newest first.
type VersionPage struct {
	Items []Version `json:"items" nullable:"false"`
	Next  *int      `json:"next" doc:"Pass this as before to get older versions; null if there are none"`
}

// VersionAt returns the version that a source had at a time, as far as polls had seen it
// by then.
func (r Sources) VersionAt(ctx context.Context, id freshet.SourceID, at time.Time) (v Version, err error) {
	got, err := get[VersionPage](ctx, r.c, r.sourcePath(id, "versions"), query{"at": {at.UTC().Format(time.RFC3339Nano)}})
	if err != nil {
		return v, err
	}
	if len(got.Items) != 1 {
		return v, fmt.Errorf("the version of source %s at a time: got %d of them from the daemon, want one", id, len(got.Items))
	}
	return got.Items[0], nil
}

// Versions returns the newest versions of a source that were first seen in a span of time,
// the newest first. A limit of zero means all.
func (r Sources) Versions(ctx context.Context, id freshet.SourceID, in freshet.Between, limit int) ([]Version, error) {
	found, asked := []Version{}, query{}
	asked.between(in)
	for {
		page := 1000
		if limit > 0 {
			page = min(page, limit-len(found))
		}
		asked["limit"] = []string{strconv.Itoa(page)}
		got, err := get[VersionPage](ctx, r.c, r.sourcePath(id, "versions"), asked)
		if err != nil {
			return nil, err
		}
		found = append(found, got.Items...)
		if got.Next == nil || len(found) == limit {
			return found, nil
		}
		asked["before"] = []string{strconv.Itoa(*got.Next)}
	}
}

// Version returns a version by its number. Zero means the newest, here and in
// Text, Raw and Screenshot.
func (r Sources) Version(ctx context.Context, id freshet.SourceID, number int) (Version, error) {
	return get[Version](ctx, r.c, r.version(id, number), nil)
}

// Text returns the text of a version, as it was extracted and compared.
func (r Sources) Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return r.c.bytes(ctx, r.version(id, number, "text"), nil)
}

// Raw returns the response body that a version was extracted from.
func (r Sources) Raw(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return r.c.bytes(ctx, r.version(id, number, "raw"), nil)
}

// A Response is what a server answered.
type Response struct {
	Method  string // of the request; "" if the version was captured before all headers were kept
	URL     string // that answered
	Message []byte // the response as an HTTP/1.1 message, with its body decoded
}

// Response returns the response that a version was extracted from, with its header.
func (r Sources) Response(ctx context.Context, id freshet.SourceID, number int) (Response, error) {
	resp, err := r.c.send(ctx, http.MethodGet, r.version(id, number, "response"), nil, nil, nil)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	message, err := io.ReadAll(resp.Body)
	return Response{Method: resp.Header.Get("X-Original-Method"), URL: resp.Header.Get("X-Original-URL"), Message: message}, err
}

// VersionsAtOnce is how many versions VersionsAfter returns at most.
const VersionsAtOnce = 1000

// VersionsAfter returns the versions of a source with one of the VersionsAtOnce numbers after a number, the
// oldest first.
func (r Sources) VersionsAfter(ctx context.Context, id freshet.SourceID, in freshet.Between, after int) (found []Version, err error) {
	asked := query{"limit": {strconv.Itoa(VersionsAtOnce)}, "before": {strconv.Itoa(after + VersionsAtOnce + 1)}}
	asked.between(in)
	got, err := get[VersionPage](ctx, r.c, r.sourcePath(id, "versions"), asked)
	for _, v := range slices.Backward(got.Items) {
		if v.Number > after {
			found = append(found, v)
		}
	}
	return found, err
}

// Screenshot returns the picture that was taken of a version, in PNG.
func (r Sources) Screenshot(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return r.c.bytes(ctx, r.version(id, number, "screenshot"), nil)
}

// version returns the path of a version, or of a part of it.
func (r Sources) version(id freshet.SourceID, number int, below ...string) string {
	name := "latest"
	if number != 0 {
		name = strconv.Itoa(number)
	}
	return r.sourcePath(id, append([]string{"versions", name}, below...)...)
}
