package client

import "context"

// A DocumentToFetch names a document to fetch: a list to import, or a version in an archive.
type DocumentToFetch struct {
	URL string `json:"url" minLength:"1" maxLength:"8192"`
}

// A Document is what a URL has.
type Document struct {
	URL       string `json:"url" doc:"Where redirects led"`
	MediaType string `json:"media_type,omitempty"`
	Body      []byte `json:"body" doc:"In Base64"`
}

// FetchDocument has the daemon fetch a document, within its budget and by its rules for polls. Nothing is stored.
func (c *Client) FetchDocument(ctx context.Context, url string) (Document, error) {
	return post[Document](ctx, c, "/import/document", nil, DocumentToFetch{URL: url})
}
