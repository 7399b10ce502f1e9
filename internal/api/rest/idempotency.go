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
//
// The key is committed in the transaction that does the work. After a crash it is either there, and
// the request is answered without being done again, or the request has done nothing.
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
		r = r.WithContext(r.Context()) // a copy: the server has to find the body that it made
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

// doOnce does a request if its key is new.
func (s *Server) doOnce(w http.ResponseWriter, r *http.Request, pattern string, asked auth.KeptAnswer, next http.Handler) {
	if _, running := s.underWay.LoadOrStore(asked.Key, true); running {
		p := NewProblem(http.StatusConflict, "a request with this "+keyHeader+" is running")
		p.Hint = "wait a moment and send it again: it gets the answer of the first"
		w.Header().Set("Retry-After", "1")
		p.Write(w)
		return
	}
	defer s.underWay.Delete(asked.Key)
	oldest := asked.At.Add(-keepAnswers)
	kept, err := s.Gate.Store.Answer(r.Context(), asked.Key, oldest)
	switch {
	case errors.Is(err, freshet.ErrNotFound): // it is new
		s.doFirst(w, r, s.Rule(pattern), asked, oldest, next)
	case err != nil:
		s.problemOf(err).Write(w)
	case kept.Request != asked.Request:
		p := NewProblem(http.StatusUnprocessableEntity, "this "+keyHeader+" was used with another request")
		p.Errors = []*client.ErrorDetail{{Location: "header." + keyHeader, Message: "was used with another request in the last 24 hours"}}
		p.Hint = "use a new key for each request, and the same only to send it again"
		p.Write(w)
	case kept.Status == auth.Performed:
		s.answerAgain(w, r, pattern, kept, oldest)
	default:
		replay(w, kept)
	}
}

// doFirst does a request whose key is new.
func (s *Server) doFirst(w http.ResponseWriter, r *http.Request, rule Rule, asked auth.KeptAnswer, oldest time.Time, next http.Handler) {
	told, performed := &recorder{ResponseWriter: w}, func() bool { return false }
	if !rule.Again {
		known := &early{}
		ctx, rider := auth.WithAnswer(context.WithValue(r.Context(), earlyKey{}, known), func(result any) auth.KeptAnswer { return known.answer(asked, result) })
		r, performed = r.WithContext(ctx), rider.End
	}
	defer func() { // also if the client went away in the middle of the answer: what was done is done
		done := performed()
		a := asked
		if a.Status, a.Body, a.Header = told.kept(); a.Status == 0 {
			return // not done; or done and recorded, so that a repeat gets a new answer
		}
		if len(a.Body) > maxKept { // too long to be told again
			if !done {
				a.Status, a.Body = auth.Performed, nil
			} else {
				return
			}
		}
		if err := s.Gate.Store.KeepAnswer(context.WithoutCancel(r.Context()), a, oldest); err != nil {
			s.Log.Error("the answer to a request could not be kept", "err", err, "hint", freshet.HintOf(err))
		}
	}()
	next.ServeHTTP(told, r)
}

// An early answer is what is known of one in the transaction that does the work.
type early struct {
	of func(result any) (location string, body any)
}

type earlyKey struct{}

// AnswerBy has the answer to a request made of what its work comes to, for a client that asks again
// after a crash: with where the thing is that was created, or with the whole body.
func AnswerBy[R any](ctx context.Context, of func(result R) (location string, body any)) {
	if e, ok := ctx.Value(earlyKey{}).(*early); ok {
		e.of = func(result any) (location string, body any) {
			if r, ok := result.(R); ok {
				return of(r)
			}
			return "", nil
		}
	}
}

// answer returns what is kept of the answer before it is made.
func (e *early) answer(asked auth.KeptAnswer, result any) auth.KeptAnswer {
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

// answerAgain answers a request that was done by a process which died before it had answered: with
// the thing as it is now.
func (s *Server) answerAgain(w http.ResponseWriter, r *http.Request, pattern string, kept auth.KeptAnswer, oldest time.Time) {
	kept.Status = s.success[pattern]
	if kept.Status != http.StatusNoContent {
		get := r.Clone(r.Context())
		get.Method, get.Body, get.ContentLength = http.MethodGet, http.NoBody, 0
		get.Header.Del("If-Match")
		get.URL.RawQuery = ""
		if at := kept.Header["Location"]; at != "" {
			get.URL.Path = at
		}
		now := &recorder{ResponseWriter: discarded{http.Header{}}}
		s.mux.ServeHTTP(now, get)
		switch {
		case now.status == http.StatusNotFound || now.status == http.StatusMethodNotAllowed:
			p := NewProblem(http.StatusGone, "this was done, and what it was done to is gone or cannot be shown")
			p.Write(w)
			return
		case now.status != http.StatusOK:
			maps.Copy(w.Header(), now.Header())
			w.WriteHeader(now.status)
			_, _ = w.Write(now.body.Bytes()) // the client may be gone
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

// A discarded response goes nowhere.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) WriteHeader(int)             {}

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
