package rest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
)

// gated calls a handler for callers that its rule permits.
func (s *Server) gated(pattern string, next http.HandlerFunc) http.HandlerFunc {
	rule := s.Rule(pattern)
	var handler http.Handler = next
	if !rule.Quiet {
		handler = s.audited(pattern, next)
	}
	if !rule.Secret {
		handler = s.once(pattern, handler)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.identify(r, rule)
		if err != nil && !(errors.Is(err, auth.ErrUnknown) && rule.open()) {
			s.refuse(w, r, err)
			return
		}
		whole := r
		r = withoutShare(r)
		if r, err = s.permit(r, rule, c); err != nil {
			s.refuse(w, r, err)
			return
		}
		ctx, done := s.Gate.Bind(r.Context(), c)
		defer done()
		r = r.WithContext(ctx)
		answer := func(w http.ResponseWriter, _ *http.Request) { next(w, r) }
		if s.Forward != nil && s.Forward(w, whole.WithContext(ctx), pattern, c, answer) {
			return
		}
		if !writes(r.Method) {
			next(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}
}

// probeTimeout limits the authentication of a probe.
const probeTimeout = 250 * time.Millisecond

// identify returns the caller of a request. If the store does not answer, a probe is treated as
// anonymous.
func (s *Server) identify(r *http.Request, rule Rule) (auth.Caller, error) {
	if !rule.Probe {
		return s.Gate.Ask(r)
	}
	type answer struct {
		auth.Caller
		error
	}
	asked := make(chan answer, 1)
	go func() {
		c, err := s.Gate.Ask(r)
		asked <- answer{c, err}
	}()
	select {
	case a := <-asked:
		if a.error == nil {
			return a.Caller, nil
		}
	case <-time.After(probeTimeout):
	}
	return auth.Caller{}, nil
}

// withoutShare returns a request without the secret of a share link in its URL.
func withoutShare(r *http.Request) *http.Request {
	if query := r.URL.Query(); query.Has(auth.ShareParam) {
		query.Del(auth.ShareParam)
		return withQuery(r, query)
	}
	return r
}

func withQuery(r *http.Request, query url.Values) *http.Request {
	to := *r.URL
	to.RawQuery = query.Encode()
	asked := *r
	asked.URL = &to
	return &asked
}

// permit returns a request limited to what its caller may see, or an error.
func (s *Server) permit(r *http.Request, rule Rule, c auth.Caller) (*http.Request, error) {
	switch {
	case rule.open():
		return r, nil
	case !c.Known:
		return r, auth.ErrUnknown
	case c.Share():
		return r, permitShare(r, rule, c.Limit)
	case rule.Self && !c.May(access.Read): // a worker's token, and a session that was opened with it
		return r, Forbidden("this token has no right to read")
	case rule.Self:
		return r, nil
	case !c.May(rule.Need):
		p := Forbidden("this requires the right to " + string(rule.Need))
		p.Hint = fmt.Sprintf("ask an admin for the role that has it, or use a token with the scope %s of a user with that role", rule.Need)
		return r, p
	case r.URL.Query().Has("reveal") && !c.May(access.Write):
		return r, Forbidden("showing secrets in a URL requires the right to write")
	case c.Limit.Tag != "":
		return s.permitTag(r, rule, c.Limit.Tag)
	}
	return r, nil
}

func permitShare(r *http.Request, rule Rule, limit auth.Limit) error {
	id := r.PathValue("id")
	switch {
	case r.URL.Query().Has("reveal"):
	case rule.Share == SourceShare && limit.Source != "" && id == string(limit.Source):
		return nil
	case rule.Share == FoundShare && limit.Source != "":
		return nil
	case rule.Share == QueryShare && limit.Query != "" && id == string(limit.Query):
		return nil
	}
	return Forbidden("this link does not grant access to that")
}

// permitTag limits a request to the sources with a tag.
func (s *Server) permitTag(r *http.Request, rule Rule, tag string) (*http.Request, error) {
	switch rule.Tag {
	case TagFound:
		return r, nil
	case TagParam:
		query := r.URL.Query()
		if said := query.Get("tag"); said != "" && said != tag {
			break
		}
		query.Set("tag", tag)
		return withQuery(r, query), nil
	case TagPath:
		w, err := s.Sources.Source(r.Context(), freshet.SourceID(r.PathValue("id")))
		if errors.Is(err, freshet.ErrNotFound) {
			w, err = s.Sources.RemovedSource(r.Context(), freshet.SourceID(r.PathValue("id")))
		}
		if err == nil && slices.Contains(w.Tags, tag) {
			return r, nil
		}
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return r, err
		}
	}
	return r, Forbidden(fmt.Sprintf("this token is limited to sources with the tag %s", tag))
}

// refuse answers a request that the gate does not let through.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problemOf(err)
	if errors.Is(err, auth.ErrUnknown) {
		p = NewProblem(http.StatusUnauthorized, auth.ErrUnknown.Error())
		p.Hint = "log in at /login, or send a token: Authorization: Bearer TOKEN (for the freshet command: FRESHET_TOKEN)"
		w.Header().Set("WWW-Authenticate", `Bearer realm="freshet"`)
	}
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.Log.Error("cannot identify the caller", "path", r.URL.Path, "err", err)
	}
	p.Write(w)
}

// securitySchemes are the ways to authenticate.
func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "A token, as created by freshet user token add"},
		"session": {Type: "apiKey", In: "cookie", Name: auth.SecureCookie, Description: "A session of a browser; over plain http the cookie is called " + auth.PlainCookie},
	}
}

// securityOf returns the security requirements of a route.
func securityOf(rule Rule) []map[string][]string {
	if rule.open() {
		return []map[string][]string{{}}
	}
	return []map[string][]string{{"token": {}}, {"session": {}}}
}
