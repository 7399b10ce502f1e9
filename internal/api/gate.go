package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/ui"
)

// A gatedMux lets nobody through to a handler who may not use it: there is no other way to
// add a route.
type gatedMux struct {
	*http.ServeMux
	a *api
}

// HandleFunc adds a route.
func (m gatedMux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.ServeMux.HandleFunc(pattern, m.a.gated(pattern, handler))
}

// ruleOf returns the rule of a route.
func ruleOf(pattern string) rule {
	if r, ok := rules[pattern]; ok {
		return r
	}
	if path, ok := strings.CutPrefix(pattern, "GET "); ok && slices.Contains(ui.Screens, path) {
		return anybody // the shell of the page has nothing in it but who asks
	}
	return admin
}

// open reports whether strangers may use a route.
func (r rule) open() bool { return r.need == "" && !r.self }

// gated calls a handler for those who may use it.
func (a *api) gated(pattern string, next http.HandlerFunc) http.HandlerFunc {
	rule := ruleOf(pattern)
	var handler http.Handler = next
	if !rule.quiet {
		handler = a.audited(pattern, next)
	}
	if !rule.secret {
		handler = a.once(handler)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := a.Gate.Ask(r)
		if err != nil && !(errors.Is(err, auth.ErrUnknown) && rule.open()) {
			a.refuse(w, r, err)
			return
		}
		whole := r
		r = withoutShare(r)
		if r, err = a.permit(r, rule, c); err != nil {
			a.refuse(w, r, err)
			return
		}
		ctx, done := a.Gate.Bind(r.Context(), c)
		defer done()
		if r = r.WithContext(ctx); a.passOn(w, whole.WithContext(ctx), pattern, c, func(w http.ResponseWriter, _ *http.Request) { next(w, r) }) {
			return
		}
		if !writes(r.Method) {
			next(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}
}

// withoutShare returns a request without the secret of a link in its address.
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

// permit returns a request as its caller may make it, or why not.
func (a *api) permit(r *http.Request, rule rule, c auth.Caller) (*http.Request, error) {
	switch {
	case rule.open():
		return r, nil
	case !c.Known:
		return r, auth.ErrUnknown
	case c.Share():
		return r, permitShare(r, rule, c.Limit)
	case rule.self && c.OnlyHand():
		return r, forbidden("this token is good for a hand, and for nothing else")
	case rule.self:
		return r, nil
	case !c.May(rule.need):
		p := forbidden("this needs the right to " + string(rule.need))
		p.Hint = fmt.Sprintf("ask an admin for the role that has it, or use a token with the scope %s of a user with that role", rule.need)
		return r, p
	case r.URL.Query().Has("reveal") && !c.May(freshet.RightWrite):
		return r, forbidden("to see secrets in a URL needs the right to write")
	case c.Limit.Tag != "":
		return a.permitTag(r, rule, c.Limit.Tag)
	}
	return r, nil
}

func permitShare(r *http.Request, rule rule, limit freshet.Limit) error {
	id := r.PathValue("id")
	switch {
	case r.URL.Query().Has("reveal"):
	case rule.share == sourceShare && limit.Source != "" && id == string(limit.Source):
		return nil
	case rule.share == queryShare && limit.Query != "" && id == string(limit.Query):
		return nil
	}
	return forbidden("this link does not show that")
}

// permitTag keeps a request to the sources with a tag.
func (a *api) permitTag(r *http.Request, rule rule, tag string) (*http.Request, error) {
	switch rule.tag {
	case tagParam:
		query := r.URL.Query()
		if said := query.Get("tag"); said != "" && said != tag {
			break
		}
		query.Set("tag", tag)
		return withQuery(r, query), nil
	case tagPath:
		w, err := a.Store.Source(r.Context(), freshet.SourceID(r.PathValue("id")))
		if errors.Is(err, freshet.ErrNotFound) {
			w, err = a.Store.RemovedSource(r.Context(), freshet.SourceID(r.PathValue("id")))
		}
		if err == nil && slices.Contains(w.Tags, tag) {
			return r, nil
		}
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return r, err
		}
	}
	return r, forbidden(fmt.Sprintf("this token is only good for sources with the tag %s", tag))
}

func forbidden(detail string) *Problem { return problem(http.StatusForbidden, detail) }

// refuse says why a request is not let through.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if errors.Is(err, auth.ErrUnknown) {
		p = problem(http.StatusUnauthorized, auth.ErrUnknown.Error())
		p.Hint = "log in at /login, or send a token: Authorization: Bearer TOKEN (for the freshet command: FRESHET_TOKEN)"
		w.Header().Set("WWW-Authenticate", `Bearer realm="freshet"`)
	}
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.Log.Error("cannot see who asks", "path", r.URL.Path, "err", err)
	}
	p.write(w)
}

// securitySchemes are the ways to say who one is.
func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "A token, such as freshet token add makes one"},
		"session": {Type: "apiKey", In: "cookie", Name: auth.SecureCookie, Description: "A session of a browser; over plain http the cookie is called " + auth.PlainCookie},
	}
}

// securityOf returns what a route asks for.
func securityOf(pattern string) []map[string][]string {
	if ruleOf(pattern).open() {
		return []map[string][]string{{}}
	}
	return []map[string][]string{{"token": {}}, {"session": {}}}
}
