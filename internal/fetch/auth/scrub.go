package auth

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// hidden stands for a secret that a server has repeated.
const hidden = "***"

// scrub takes secrets out of an answer and of what went wrong with it.
func (f *filling) scrub(resp *freshet.Response, err error) error {
	resp.Body = f.cleanBody(resp.Body)
	resp.URL, resp.Moved, resp.MediaType = f.clean(resp.URL), f.clean(resp.Moved), f.clean(resp.MediaType)
	resp.ETag = f.clean(resp.ETag)
	for _, values := range resp.Header {
		for i, v := range values {
			values[i] = f.clean(v)
		}
	}
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok || !slices.ContainsFunc(f.known, func(s string) bool { return strings.Contains(e.Error()+e.Hint, s) }) {
		return err
	}
	return &freshet.FetchError{Class: e.Class, Err: errors.New(f.clean(e.Error())), Hint: f.clean(e.Hint)}
}

func (f *filling) cleanBody(body []byte) []byte { return without(body, f.known) }

// without returns a body without secrets.
func without(body []byte, secrets []string) []byte {
	for _, s := range secrets {
		if bytes.Contains(body, []byte(s)) {
			body = bytes.ReplaceAll(body, []byte(s), []byte(hidden))
		}
	}
	return body
}

func (f *filling) clean(text string) string {
	for _, s := range f.known {
		if strings.Contains(text, s) {
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return text
}
