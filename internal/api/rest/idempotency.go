package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// The header with which a client repeats a request, and the one that marks the response to a
// repeated request.
const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"
)

const (
	keepAnswers = 24 * time.Hour // how long answers are kept
	maxKey      = 255            // bytes of a key
	maxKept     = 1 << 20        // bytes of a stored response
)

// keptHeaders are the header fields of a response that are stored.
var keptHeaders = []string{"Content-Type", "ETag", "Location"}

// writes reports whether a method changes something.
func writes(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// once performs a request with a key at most once and answers repeats with the first response. The
// draft of the header is draft-ietf-httpapi-idempotency-key-header.
//
// The key is committed in the transaction that performs the request. After a crash the key is
// stored, and the request is answered without being performed again, or the request had no effect.
func (s *Server) once(pattern string, next http.Handler) http.Handler {
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
		r = r.WithContext(r.Context()) // a copy: the server needs the original body
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		asked := auth.KeptAnswer{
			Key: freshet.HashOf([]byte(auth.Of(r.Context()).User + "\x00" + key)),
			// The key salts the hash: a body may hold a password, which could be guessed from it.
			Request: freshet.HashOf([]byte(key + "\x00" + r.Method + " " + r.URL.RequestURI() + "\x00" + r.Header.Get("If-Match") + "\x00" + string(body))),
			At:      s.Now(),
		}
		s.doOnce(w, r, pattern, asked, next)
	})
}

// doOnce performs a request if its key is new.
func (s *Server) doOnce(w http.ResponseWriter, r *http.Request, pattern string, asked auth.KeptAnswer, next http.Handler) {
	if _, running := s.underWay.LoadOrStore(asked.Key, true); running {
		p := NewProblem(http.StatusConflict, "a request with this "+keyHeader+" is running")
		p.Hint = "wait a moment and repeat the request to get the response to the first"
		w.Header().Set("Retry-After", "1")
		p.Write(w)
		return
	}
	defer s.underWay.Delete(asked.Key)
	oldest := asked.At.Add(-keepAnswers)
	kept, err := s.Gate.Store.Answer(r.Context(), asked.Key, oldest)
	switch {
	case errors.Is(err, freshet.ErrNotFound): // the key is new
		s.doNew(w, r, s.Rule(pattern), asked, oldest, next)
	case err != nil:
		s.problemOf(err).Write(w)
	case kept.Request != asked.Request:
		p := NewProblem(http.StatusUnprocessableEntity, "this "+keyHeader+" was used with another request")
		p.Errors = []*client.ErrorDetail{{Location: "header." + keyHeader, Message: "was used with another request in the last 24 hours"}}
		p.Hint = "use a new key for each request, and the same key only to repeat it"
		p.Write(w)
	case kept.Status == auth.Performed:
		s.answerRecovered(w, r, pattern, kept, oldest)
	default:
		replay(w, kept)
	}
}

// doNew performs a request whose key is new.
func (s *Server) doNew(w http.ResponseWriter, r *http.Request, rule Rule, asked auth.KeptAnswer, oldest time.Time, next http.Handler) {
	response, performed := &recorder{ResponseWriter: w}, func() bool { return false }
	if !rule.Repeatable {
		known := &pendingAnswer{}
		ctx, write := auth.WithAnswer(context.WithValue(r.Context(), pendingAnswerKey{}, known), func(result any) auth.KeptAnswer { return known.answer(asked, result) })
		r, performed = r.WithContext(ctx), write.End
	}
	defer func() { // also if the client disconnected: the request was performed
		done := performed()
		a := asked
		if a.Status, a.Body, a.Header = response.kept(); a.Status == 0 {
			return // not performed; or performed and recorded, so that a repeat gets a new response
		}
		if len(a.Body) > maxKept { // too long to be stored
			if !done {
				a.Status, a.Body = auth.Performed, nil
			} else {
				return
			}
		}
		if err := s.Gate.Store.KeepAnswer(context.WithoutCancel(r.Context()), a, oldest); err != nil {
			s.Log.Error("storing the response for repeats of a request failed", "err", err, "hint", freshet.HintOf(err))
		}
	}()
	next.ServeHTTP(response, r)
}

// A pendingAnswer derives the response from the result of the transaction that performs the
// request.
type pendingAnswer struct {
	of func(result any) (location string, body any)
}

type pendingAnswerKey struct{}

// RecordAnswer stores a response for repeats after a crash. Of derives the URL path of a created
// resource, or the whole body, from the result of the transaction.
func RecordAnswer[R any](ctx context.Context, of func(result R) (location string, body any)) {
	if e, ok := ctx.Value(pendingAnswerKey{}).(*pendingAnswer); ok {
		e.of = func(result any) (location string, body any) {
			if r, ok := result.(R); ok {
				return of(r)
			}
			return "", nil
		}
	}
}

// answer returns the response to store before the real one is known.
func (e *pendingAnswer) answer(asked auth.KeptAnswer, result any) auth.KeptAnswer {
	asked.Status, asked.Header = auth.Performed, map[string]string{}
	if e.of == nil {
		return asked
	}
	location, body := e.of(result)
	if location != "" {
		asked.Header["Location"] = location
	}
	var text bytes.Buffer
	if body != nil && encodeJSON(&text, body) == nil {
		asked.Status, asked.Body, asked.Header["Content-Type"] = http.StatusOK, text.Bytes(), "application/json"
	}
	return asked
}

// answerRecovered answers a repeat of a request whose process died after it had performed the
// request. It returns the current state of the resource.
func (s *Server) answerRecovered(w http.ResponseWriter, r *http.Request, pattern string, kept auth.KeptAnswer, oldest time.Time) {
	kept.Status = s.success[pattern]
	if kept.Status != http.StatusNoContent {
		get := r.Clone(r.Context())
		get.Method, get.Body, get.ContentLength = http.MethodGet, http.NoBody, 0
		get.Header.Del("If-Match")
		get.URL.RawQuery = ""
		if at := kept.Header["Location"]; at != "" {
			get.URL.Path = at
		}
		now := &recorder{ResponseWriter: discardResponse{http.Header{}}}
		s.mux.ServeHTTP(now, get)
		switch {
		case now.status == http.StatusNotFound || now.status == http.StatusMethodNotAllowed:
			p := NewProblem(http.StatusGone, "the request was performed; its resource is gone or cannot be shown")
			p.Write(w)
			return
		case now.status != http.StatusOK:
			maps.Copy(w.Header(), now.Header())
			w.WriteHeader(now.status)
			_, _ = w.Write(now.body.Bytes()) // the client may have disconnected
			return
		}
		location := kept.Header["Location"]
		_, kept.Body, kept.Header = now.kept()
		if location != "" {
			kept.Header["Location"] = location
		}
	}
	if err := s.Gate.Store.KeepAnswer(context.WithoutCancel(r.Context()), kept, oldest); err != nil {
		s.problemOf(err).Write(w)
		return
	}
	replay(w, kept)
}

// A discardResponse discards what is written to it.
type discardResponse struct{ header http.Header }

func (d discardResponse) Header() http.Header         { return d.header }
func (d discardResponse) Write(b []byte) (int, error) { return len(b), nil }
func (d discardResponse) WriteHeader(int)             {}

// replay writes a stored response.
func replay(w http.ResponseWriter, kept auth.KeptAnswer) {
	for name, value := range kept.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set(replayHeader, "true")
	w.WriteHeader(kept.Status)
	_, _ = w.Write(kept.Body) // the client may have disconnected
}

// A recorder keeps a copy of a response.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer // little more than maxKept
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

// kept returns the response to store. It returns none for failures that a repeat can overcome: that
// repeat performs the request. It returns none for invalid requests either, because the response repeats
// what the client sent, which may be a password.
func (r *recorder) kept() (status int, body []byte, header map[string]string) {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusBadRequest, http.StatusUnprocessableEntity:
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
