package client

import (
	"context"
	"fmt"
	"net/url"
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
	Quiet     freshet.Quiet    `json:"quiet,omitempty" enum:"suspect,noise" doc:"Why no change was reported for it, if none was"`
}

// A VersionPage is part of a source's history, the newest first.
type VersionPage struct {
	Items []Version `json:"items" nullable:"false"`
	Next  *int      `json:"next" doc:"Pass this as before to get older versions; null if there are none"`
}

// Versions returns the newest versions of a source, the newest first. A limit of
// zero means all.
func (c *Client) Versions(ctx context.Context, id freshet.SourceID, limit int) ([]Version, error) {
	return c.VersionsIn(ctx, id, freshet.Between{}, limit)
}

// VersionAt returns the version that a source had at a time, as far as polls had seen it
// by then.
func (c *Client) VersionAt(ctx context.Context, id freshet.SourceID, at time.Time) (v Version, err error) {
	var got VersionPage
	if err := c.get(ctx, sourcePath(id, "versions"), url.Values{"at": {at.UTC().Format(time.RFC3339Nano)}}, &got); err != nil {
		return v, err
	}
	if len(got.Items) != 1 {
		return v, fmt.Errorf("the version of source %s at a time: got %d of them from the daemon, want one", id, len(got.Items))
	}
	return got.Items[0], nil
}

// VersionsIn is Versions, of those that were first seen in a span of time.
func (c *Client) VersionsIn(ctx context.Context, id freshet.SourceID, in freshet.Between, limit int) ([]Version, error) {
	found, asked := []Version{}, query{}
	asked.between(in)
	for {
		page := 1000
		if limit > 0 {
			page = min(page, limit-len(found))
		}
		asked["limit"] = []string{strconv.Itoa(page)}
		var got VersionPage
		if err := c.get(ctx, sourcePath(id, "versions"), url.Values(asked), &got); err != nil {
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
func (c *Client) Version(ctx context.Context, id freshet.SourceID, number int) (v Version, err error) {
	err = c.get(ctx, versionPath(id, number), nil, &v)
	return v, err
}

// Text returns the text of a version, as it was extracted and compared.
func (c *Client) Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return c.bytes(ctx, versionPath(id, number, "text"), nil)
}

// Raw returns the response body that a version was extracted from.
func (c *Client) Raw(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return c.bytes(ctx, versionPath(id, number, "raw"), nil)
}

// Screenshot returns the picture that was taken of a version, in PNG.
func (c *Client) Screenshot(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	return c.bytes(ctx, versionPath(id, number, "screenshot"), nil)
}

func versionPath(id freshet.SourceID, number int, below ...string) string {
	name := "latest"
	if number != 0 {
		name = strconv.Itoa(number)
	}
	return sourcePath(id, append([]string{"versions", name}, below...)...)
}
