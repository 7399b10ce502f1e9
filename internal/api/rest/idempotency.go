package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// The header that lets a client send a request again, and the one that says that an answer
// is that of an earlier request.
const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"
)

const (
	keepAnswers = 24 * time.Hour // how long answers are kept
	maxKey      = 255            // bytes of a key
	maxKept     = 1 << 20        // bytes of an answer that is kept
)

// keptHeaders are what is kept of the header of an answer.
var keptHeaders = []string{"Content-Type", "ETag", "Location"}

// writes reports whether a method changes something.
func writes(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// once answers a request that has a key as it was answered the first time, and does it
// once. The draft of the header is draft-ietf-httpapi-idempotency-key-header.
func (s *Server) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if key == "" || !writes(r.Method) || !strings.HasPrefix(r.URL.Path, "/api/v1/") {
			next.ServeHTTP(w, r)
			return
		}
		if key = strings.Trim(key, `"`); key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			Invalid("header."+keyHeader, "is not 1 to 255 printable ASCII characters, such as a UUID", key).Write(w)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			NewProblem(http.StatusBadRequest, "the body could not be read: "+err.Error()).Write(w)
			return
		}
		r = r.WithContext(r.Context()) // a copy: the server has to find the body that it made
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		asked := auth.KeptAnswer{
			Key: freshet.HashOf([]byte(auth.Of(r.Context()).User + "\x00" + key)),
			// The key salts the hash: a body may hold a password, which could be guessed from it.
			Request: freshet.HashOf([]byte(key + "\x00" + r.Method + " " + r.URL.RequestURI() + "\x00" + r.Header.Get("If-Match") + "\x00" + string(body))),
			At:      s.Now(),
		}
		s.doOnce(w, r, asked, next)
	})
}

// doOnce does a request if its key is new.
func (s *Server) doOnce(w http.ResponseWriter, r *http.Request, asked auth.KeptAnswer, next http.Handler) {
	kept, err := s.Gate.Store.ClaimAnswer(r.Context(), asked, asked.At.Add(-keepAnswers))
	switch {
	case errors.Is(err, freshet.ErrNotFound): // it is new
	case err != nil:
		s.problemOf(err).Write(w)
		return
	case kept.Request != asked.Request:
		p := NewProblem(http.StatusUnprocessableEntity, "this "+keyHeader+" was used with another request")
		p.Errors = []*client.ErrorDetail{{Location: "header." + keyHeader, Message: "was used with another request in the last 24 hours"}}
		p.Hint = "use a new key for each request, and the same only to send it again"
		p.Write(w)
		return
	case kept.Status == 0:
		p := NewProblem(http.StatusConflict, "a request with this "+keyHeader+" is running, or the daemon stopped before it finished")
		p.Hint = "wait a moment and send it again; if that does not help, check the result of the first request and use a new key"
		p.Write(w)
		return
	default:
		replay(w, kept)
		return
	}
	told := &recorder{ResponseWriter: w}
	defer func() { // also if the client went away in the middle of the answer: what was done is done
		if told.status == 0 || told.body.Len() > maxKept {
			return // it is not known what became of it, or too long to be told again: it is not done again
		}
		asked.Status, asked.Body, asked.Header = told.kept()
		if err := s.Gate.Store.KeepAnswer(context.WithoutCancel(r.Context()), asked); err != nil {
			s.Log.Error("the answer to a request could not be kept", "err", err, "hint", freshet.HintOf(err))
		}
	}()
	next.ServeHTTP(told, r)
}

// replay answers as before.
func replay(w http.ResponseWriter, kept auth.KeptAnswer) {
	for name, value := range kept.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set(replayHeader, "true")
	w.WriteHeader(kept.Status)
	_, _ = w.Write(kept.Body) // the client may be gone
}

// A recorder keeps what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer // a little more than what is kept at most
}

// Unwrap lets a [http.ResponseController] find what is below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.body.Len() <= maxKept {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// kept returns what is kept of the answer. A request that failed for now, or was not let
// in, may be sent again with the same key and is done then.
func (r *recorder) kept() (status int, body []byte, header map[string]string) {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden:
		return 0, nil, nil
	}
	if r.status >= http.StatusInternalServerError {
		return 0, nil, nil
	}
	header = map[string]string{}
	for _, name := range keptHeaders {
		if value := r.Header().Get(name); value != "" {
			header[name] = value
		}
	}
	return r.status, r.body.Bytes(), header
}
